//! Each faster statement gives the rows of its definition, whatever the rows are and whatever is chosen of them.

use std::fmt::Write as _;

use narwhal_jq::query::faster::{Answers, FASTER};
use narwhal_jq::query::functions;
use narwhal_jq::query::header::Query;
use narwhal_jq::query::run::collect;
use narwhal_jq::query::slices::{Span, can_be_read_in_slices, collect_telling};
use narwhal_jq::selection::{self, OPEN_FROM, OPEN_TO, Row};
use proptest::prelude::*;
use proptest::sample::select;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::{Differences, catalog};
use crate::harness::{Lab, build};
use crate::properties::{cases, ingest_here};

/// So many runs, each of 100 s.
const RUNS: usize = 3;

/// A value as a journal could have it: often null, often equal to another, sometimes absurd.
fn value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        3 => Just(None),
        6 => (1..6_u8).prop_map(|tenths| Some(f64::from(tenths) / 10.0)),
        4 => (0.01..0.02).prop_map(Some),
        1 => select(vec![0.0, -0.0, -1.5, 5e-324, 1e300]).prop_map(Some),
    ]
}

fn engine() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some("e1"), Some("e2"), Some("e3"), Some("")])
}

/// An entry of `attempt_failures`.
fn failure() -> impl Strategy<Value = Value> {
    let flag = || select(vec![None, Some(false), Some(true)]);
    let phase = select(vec![None, Some("prefill"), Some("queue"), Some("decode"), Some("admission")]);
    let reason = select(vec![None, Some("allowed"), Some("not_dispatched")]);
    (0..4_i64, phase, engine(), engine(), flag(), flag(), reason).prop_map(
        |(attempt, phase, prefill, decode, scheduled, started, reason)| {
            json!({
                "attempt": attempt, "phase": phase, "prefill_iid": prefill, "decode_iid": decode,
                "retry_scheduled": scheduled, "output_started": started, "retry_reason": reason, "backoff_s": 0.25,
            })
        },
    )
}

/// A request without its identity.
fn request() -> impl Strategy<Value = Value> {
    let terminal = prop_oneof![
        6 => Just("completed"),
        4 => select(vec!["failed", "refused", "rejected", "expired", "invalid", "cancelled", "moonlit"]),
    ];
    let engines = (engine(), engine(), select(vec![None, Some(true), Some(false)]));
    let attempts = (0..3_i64, 0..3_i64, prop::collection::vec(failure(), 0..3));
    let values = prop::collection::vec(value(), 10);
    let counts = (
        select(vec![None, Some(0), Some(1), Some(7), Some(8), Some(4096)]),
        select(vec![None, Some(0), Some(5)]),
    );
    (0..RUNS, 0..100_u32, terminal, engines, attempts, values, counts).prop_map(
        |(run, arrived, terminal, (prefill, decode, crossed), (attempts, decode_attempts, failures), v, (input, output))| {
            json!({
                "schema": "narwhal.journal", "schema_version": 1, "run": format!("{}-a", 1_700_000_000 + 200 * run),
                "arrived": f64::from(arrived), "terminal": terminal, "prefill_iid": prefill, "decode_iid": decode,
                "crossed": crossed, "attempts": attempts, "decode_attempts": decode_attempts,
                "attempt_failures": failures, "ttft_s": v[0], "tpot_s": v[1], "first_byte_s": v[2], "decode_tpot_s": v[3],
                "queue_wait_s": v[4], "duration_s": v[5].map(f64::abs).filter(|duration_s| *duration_s < 1e6),
                "queue_waits": {"admission": v[6], "prefill": v[7], "decode": v[8]},
                "admission_price": {"price_s": v[9]}, "input_len": input, "output_len": output,
                "refused_cause": if terminal == "refused" { Some("queue") } else { None },
            })
        },
    )
}

/// What is chosen of a run: windows that do not overlap, each for one of three scopes or for none; some empty, and
/// some beyond its end.
fn windows() -> impl Strategy<Value = Vec<(Option<&'static str>, f64, f64)>> {
    let scope = || select(vec![None, Some("a"), Some("b"), Some("c")]);
    let whole = scope().prop_map(|scope| vec![(scope, OPEN_FROM, OPEN_TO)]);
    let cut = prop::collection::vec((scope(), 0..40_u32), 1..6).prop_map(|parts| {
        let mut from_s = 100.0;
        let mut windows = Vec::new();
        for (scope, length) in parts {
            let to_s = from_s + f64::from(length);
            windows.push((scope, from_s, to_s));
            from_s = to_s;
        }
        windows
    });
    prop_oneof![1 => whole, 3 => cut]
}

/// What the parameters of a query are.
fn bound(query: &Query, given: &[(&str, Sql)]) -> Vec<(String, Sql)> {
    let value_of =
        |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let parameters = query.parameters.iter().map(|parameter| &parameter.name);
    parameters.map(|name| (format!(":{name}"), value_of(name).unwrap_or(Sql::Null))).collect()
}

fn ask(connection: &mut Connection, query: &Query, sql: &str, given: &[(&str, Sql)]) -> Vec<Vec<Sql>> {
    let answer = collect(connection, sql, &bound(query, given));
    answer.unwrap_or_else(|error| panic!("{}: {error:#}", query.name)).1
}

/// As [`ask`], the runs cut into slices.
fn ask_in_slices(
    connection: &mut Connection,
    query: &Query,
    sql: &str,
    given: &[(&str, Sql)],
    rows: &[Row],
) -> Vec<Vec<Sql>> {
    let spans = vec![Span { first_s: 100.0, last_s: 199.0, requests: 80 }; rows.len()];
    let answer = collect_telling(connection, (sql, &bound(query, given)), (rows, &spans), &|_| ());
    answer.unwrap_or_else(|error| panic!("{} in slices: {error:#}", query.name)).1
}

/// What a query is asked with.
fn parameters(query: &Query) -> Vec<Vec<(&'static str, Sql)>> {
    let takes = |name: &str| query.parameters.iter().any(|parameter| parameter.name == name);
    let text = |text: &str| Sql::Text(text.to_owned());
    let targets = vec![("ttft", Sql::Real(0.3)), ("tpot", Sql::Real(0.3)), ("bucket", Sql::Real(7.0))];
    let mut asked = vec![targets.clone()];
    if takes("policy") {
        let policies = ["offers", "router"];
        asked.extend(policies.map(|policy| [&targets[..], &[("policy", text(policy))]].concat()));
    }
    if takes("of") {
        asked.extend(["offers", "completed"].map(|of| vec![("of", text(of))]));
    }
    if !query.parameters.is_empty() {
        asked.push(Vec::new());
    }
    asked
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn faster_statements_give_the_rows_of_the_definitions(
        requests in prop_oneof![
            1 => prop::collection::vec(request(), 0..3),
            3 => prop::collection::vec(request(), 0..80),
        ],
        chosen in prop::collection::vec(prop::collection::vec(windows(), RUNS), 3),
    ) {
        let lab = Lab::new();
        let mut journal = format!("{}\n", build("0.7.0"));
        for (at, request) in requests.iter().enumerate() {
            let mut request = request.clone();
            request["rid"] = format!("r{at}").into();
            // From 100 s on, as the windows are.
            request["arrived"] = (100.0 + request["arrived"].as_f64().unwrap()).into();
            writeln!(journal, "{request}").unwrap();
        }
        lab.write("a.jsonl", journal);
        ingest_here(&lab, "a.jsonl");
        let mut connection = Connection::open(lab.path("narwhal.db")).unwrap();
        functions::add(&connection).unwrap();
        let run_ids: Vec<i64> = lab.rows("select run_id from runs").iter().filter_map(|row| match row[0] {
            Sql::Integer(run_id) => Some(run_id),
            _ => None,
        }).collect();
        // Every run whole, by itself and as one, and what was drawn.
        let whole = |scope: fn(i64) -> String| run_ids.iter().map(|run_id| selection::of_run(&scope(*run_id), *run_id)).collect();
        let mut selections: Vec<Vec<Row>> = vec![whole(|run_id| run_id.to_string()), whole(|_| "all".to_owned())];
        selections.extend(chosen.iter().map(|windows| {
            let rows = run_ids.iter().zip(windows).flat_map(|(run_id, windows)| {
                windows.iter().filter_map(|(scope, from_s, to_s)| {
                    Some(Row { scope: (*scope)?.to_owned(), run_id: *run_id, from_s: *from_s, to_s: *to_s })
                })
            });
            // Two empty windows at one moment would be one row of the table.
            let mut rows: Vec<Row> = rows.collect();
            rows.sort_by(|one, other| (&one.scope, one.run_id).cmp(&(&other.scope, other.run_id)).then(one.from_s.total_cmp(&other.from_s)).then(other.to_s.total_cmp(&one.to_s)));
            rows.dedup_by(|one, other| (&one.scope, one.run_id, one.from_s) == (&other.scope, other.run_id, other.from_s));
            rows
        }));
        let catalog = catalog();
        let mut differences = Differences::default();
        // What is told of how far a single scope is needs its runs in slices: the answer is the same.
        let whole = &selections[1];
        for query in &catalog {
            let faster = FASTER.iter().find(|faster| faster.name == query.name && faster.answers == Answers::Any);
            for sql in [Some(query.sql.as_str()), faster.map(|faster| faster.sql)].into_iter().flatten() {
                for given in parameters(query).iter().filter(|_| can_be_read_in_slices(sql)) {
                    selection::install(&mut connection, whole).unwrap();
                    let expected = ask(&mut connection, query, sql, given);
                    let found = ask_in_slices(&mut connection, query, sql, given, whole);
                    let what = format!("{} {given:?} in slices", query.name);
                    differences.compare_statements(query, &expected, &found, &what);
                }
            }
        }
        for rows in selections {
            selection::install(&mut connection, &rows).unwrap();
            let is_whole = rows.iter().all(|row| row.from_s == OPEN_FROM && row.to_s == OPEN_TO);
            for faster in FASTER.iter().filter(|faster| is_whole || faster.answers == Answers::Any) {
                let query = catalog.iter().find(|query| query.name == faster.name).unwrap();
                for given in parameters(query) {
                    let definition = ask(&mut connection, query, &query.sql, &given);
                    let found = ask(&mut connection, query, faster.sql, &given);
                    let what = format!("{} {given:?} of {rows:?}", query.name);
                    differences.compare_statements(query, &definition, &found, &what);
                }
            }
        }
        prop_assert!(differences.0.is_empty(), "{}", differences.0.join("\n"));
    }
}
