//! Terminals are stored many by one statement. What becomes of each is what would become of it alone:
//! here told by a model that keeps a map, beside the rows themselves.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use narwhal_jq::store::terminals::TOGETHER;
use proptest::prelude::*;
use rusqlite::types::Value;

use crate::harness::{Lab, assert_same_contents};
use crate::journals::{arrived, event, rid, run_name};
use crate::properties::{cases, ingest_here};

/// A line: an event, or a terminal with an identity and, by its variant, cells of every kind that are
/// null in one row and not in the next, short and long texts, and attempt failures.
#[derive(Debug, Clone, Copy)]
enum Written {
    Event { number: u64 },
    Terminal { run: u64, number: u64, variant: u8 },
}

impl Written {
    fn line(self) -> String {
        let Self::Terminal { run, number, variant } = self else {
            let Self::Event { number } = self else { unreachable!() };
            return event(&run_name(0), number);
        };
        let (run, rid, arrived) = (run_name(run), rid(number), arrived(number));
        let start = format!(
            r#"{{"schema": "narwhal.journal", "schema_version": 1, "run": "{run}", "rid": "{rid}", "arrived": {arrived}"#
        );
        let failure = |at: &str| {
            format!(r#"{{"at": {at}, "attempt": 1, "phase": "prefill", "prefill_iid": "p{number}"}}"#)
        };
        let fields = match variant {
            0 => {
                r#""output_len": 7, "ttft_s": 0.25, "prefill_iid": "p0", "terminal": "completed""#.to_owned()
            }
            1 => r#""output_len": 8, "ttft_s": 0.5, "prefill_iid": "p0", "terminal": "completed""#.to_owned(),
            2 => format!(
                r#""client_rid": "{}", "attempts": 1, "attempt_failures": [{}], "terminal": "failed""#,
                "long ".repeat(number as usize % 9),
                failure("2443.5")
            ),
            // As the one above, but for an entry.
            3 => format!(
                r#""client_rid": "{}", "attempts": 1, "attempt_failures": [{}], "terminal": "failed""#,
                "long ".repeat(number as usize % 9),
                failure("2443.75")
            ),
            _ => r#""crossed": false, "cached_tokens": {"p0": 5}, "terminal": "cancelled""#.to_owned(),
        };
        format!("{start}, {fields}}}")
    }
}

/// Mostly new terminals, as journals hold them, and some that were met before.
fn written() -> impl Strategy<Value = Vec<Written>> {
    let number = prop_oneof![6 => 0..100_000_u64, 1 => 0..12_u64];
    let line = prop_oneof![
        40 => (0..2_u64, number, 0..5_u8)
            .prop_map(|(run, number, variant)| Written::Terminal { run, number, variant }),
        1 => (0..1000_u64).prop_map(|number| Written::Event { number }),
    ];
    prop::collection::vec(line, 1..6 * TOGETHER)
}

/// What the model says: how many are new, duplicates, conflicts; and the stored lines by identity.
type Told = ([u64; 3], BTreeMap<(u64, u64), String>);

fn told(written: &[Written]) -> Told {
    let mut counts = [0; 3];
    let mut stored = BTreeMap::new();
    for line in written {
        let Written::Terminal { run, number, .. } = line else { continue };
        match stored.entry((*run, *number)) {
            Entry::Vacant(place) => {
                place.insert(line.line());
                counts[0] += 1;
            }
            Entry::Occupied(place) if *place.get() == line.line() => counts[1] += 1,
            Entry::Occupied(_) => counts[2] += 1,
        }
    }
    (counts, stored)
}

fn text_of(written: &[Written]) -> String {
    let mut text = String::new();
    for line in written {
        writeln!(text, "{}", line.line()).expect("memory can be written");
    }
    text
}

/// Events that stand twice are duplicates, too; the model counts terminals.
fn duplicate_events(written: &[Written]) -> u64 {
    let mut met = std::collections::BTreeSet::new();
    let numbers = written.iter().filter_map(|line| match line {
        Written::Event { number } => Some(*number),
        Written::Terminal { .. } => None,
    });
    numbers.filter(|number| !met.insert(*number)).count() as u64
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn what_becomes_of_each_of_many_terminals_is_what_a_map_says(written in written(), second in written()) {
        let lab = Lab::new();
        lab.write("a.jsonl", text_of(&written));
        let summary = ingest_here(&lab, "a.jsonl");
        let (counts, _) = told(&written);
        prop_assert_eq!(
            [summary.total.terminals, summary.total.duplicates, summary.total.rejected],
            [counts[0], counts[1] + duplicate_events(&written), counts[2]]
        );

        // Another file, when many of them are stored already.
        lab.write("b.jsonl", text_of(&second));
        ingest_here(&lab, "b.jsonl");
        let (_, stored) = told(&[written.clone(), second.clone()].concat());
        prop_assert_eq!(lab.number("select count(*) from terminals"), stored.len() as i64);
        let mut cells = lab.rows(
            "select run, rid, arrived, output_len, ttft_s, prefill_iid, client_rid, crossed, cached_tokens, terminal
             from terminals join runs using (run_id) order by run_id, rid",
        );
        for ((run, number), line) in &stored {
            let at = cells
                .iter()
                .position(|cells| cells[0] == Value::Text(run_name(*run)) && cells[1] == Value::Text(rid(*number)));
            let cells = cells.swap_remove(at.expect("it is stored"));
            let line: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
            for (cell, field) in cells[2..].iter().zip([
                "arrived", "output_len", "ttft_s", "prefill_iid", "client_rid", "crossed", "cached_tokens", "terminal",
            ]) {
                let expected = match &line[field] {
                    serde_json::Value::Null => Value::Null,
                    serde_json::Value::Bool(flag) => Value::Integer(i64::from(*flag)),
                    serde_json::Value::Number(number) => {
                        number.as_i64().map_or_else(|| Value::Real(number.as_f64().unwrap()), Value::Integer)
                    }
                    serde_json::Value::String(text) => Value::Text(text.clone()),
                    object => Value::Text(object.to_string()),
                };
                prop_assert_eq!(cell, &expected, "{}", field);
            }
            // The entries of the row that stayed, under its number.
            let expected = line["attempt_failures"].as_array().map_or(Value::Null, |entries| entries[0]["at"].as_f64().map_or(Value::Null, Value::Real));
            let found = lab.rows(&format!(
                "select max(f.at) from terminals as t join attempt_failures as f on f.terminal_id = t.terminal_id
                 where t.rid = '{}' and t.run_id = (select run_id from runs where run = '{}')",
                rid(*number), run_name(*run)
            ));
            prop_assert_eq!(&found[0][0], &expected);
        }
        lab.run(&["verify"]).exits(0);
    }

    #[test]
    fn many_terminals_at_once_are_stored_as_one_by_one(written in written(), again in 0..3_usize) {
        let at_once = Lab::new();
        let one_by_one = Lab::new();
        let text = text_of(&written);
        let mut read = String::new();
        for line in text.split_inclusive('\n') {
            read += line;
            one_by_one.write("a.jsonl", &read);
            ingest_here(&one_by_one, "a.jsonl");
        }
        at_once.write("a.jsonl", &text);
        ingest_here(&at_once, "a.jsonl");
        // A copy without its first lines is another source; all that it holds is stored already.
        let copy: String = text.split_inclusive('\n').skip(again).collect();
        for lab in [&at_once, &one_by_one] {
            lab.write("b.jsonl", &copy);
            ingest_here(lab, "b.jsonl");
        }
        assert_same_contents(&at_once, &one_by_one, "one by one");
    }
}

#[test]
fn a_row_that_stands_at_the_same_byte_of_another_file_is_a_duplicate() {
    let lab = Lab::new();
    let terminal = |number| Written::Terminal { run: 0, number, variant: 0 }.line();
    let lines = |first: u64| {
        let mut lines: Vec<String> = (100..100 + TOGETHER as u64).map(terminal).collect();
        lines[0] = terminal(first);
        lines.join("\n") + "\n"
    };
    lab.write("a.jsonl", lines(200));
    lab.write("b.jsonl", lines(201));
    assert_eq!(lines(200).len(), lines(201).len());
    ingest_here(&lab, "a.jsonl");
    let total = ingest_here(&lab, "b.jsonl").total;
    assert_eq!((total.terminals, total.duplicates, total.rejected), (1, TOGETHER as u64 - 1, 0));
}

#[test]
fn a_conflict_among_rows_of_a_forgotten_run_is_told_at_its_own_line() {
    let lab = Lab::new();
    let terminal = |run, number, variant| Written::Terminal { run, number, variant }.line() + "\n";
    lab.write("a.jsonl", terminal(0, 1, 0) + &terminal(1, 7, 0));
    ingest_here(&lab, "a.jsonl");
    lab.run(&["forget", "--run", &run_name(0)]).exits(0);
    // Every other row is of the forgotten run; of the others one is known with another content.
    let row = |at: u64| match at {
        7 => terminal(1, 7, 1),
        _ => terminal(at % 2, 100 + at, 0),
    };
    let rows = 2 * TOGETHER as u64;
    lab.write("b.jsonl", (0..rows).map(row).collect::<String>());
    let total = ingest_here(&lab, "b.jsonl").total;
    assert_eq!((total.forgotten, total.terminals, total.rejected), (rows / 2, rows / 2 - 1, 1));
    let told = lab.rows("select line_no, cast(raw as text) from rejects");
    assert_eq!(told, [[Value::Integer(8), Value::Text(row(7).trim_end().to_owned())]]);
}
