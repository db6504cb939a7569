//! A redacted journal gives no name away, and answers as the original does.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::types::Value as Cell;
use serde_json::Value;

use crate::answer::ask;
use crate::harness::{self, Lab, build, fixture, real_journals, terminal};
use crate::plain;

const RUN: &str = "1795977936-56e568d1";

/// A terminal row with more members.
fn row(rid: &str, more: &str) -> String {
    terminal(RUN, rid, 5.25).replace("\"terminal\"", &format!("{more}, \"terminal\""))
}

/// A row with an error text.
fn error(text: &str) -> String {
    row("r", &format!("\"error\": {}", Value::from(text)))
}

/// Redacts lines and gives the lines that came of them.
#[track_caller]
fn redacted(lines: &[String]) -> Vec<Value> {
    let lab = Lab::new();
    lab.write("j.jsonl", lines.join("\n") + "\n");
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl"]).exits(0);
    assert_clean(&lab, "out.jsonl");
    rows_of(&lab.path("out.jsonl"))
}

/// Redacts a text in the company of other rows.
#[track_caller]
fn redacted_error(text: &str, others: &[String]) -> String {
    let lines: Vec<String> = others.iter().cloned().chain([error(text)]).collect();
    redacted(&lines).last().unwrap()["error"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_clean(lab: &Lab, file: &str) {
    let run = lab.run(&["redact", "--check", file]).exits(0).says("nothing found");
    assert_eq!(run.stdout, "");
}

fn rows_of(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// ---------------------------------------------------------------- whole journals

#[test]
fn nothing_of_the_real_journals_stands_in_their_redactions_and_the_answers_are_equal() {
    let test = "nothing_of_the_real_journals_stands_in_their_redactions_and_the_answers_are_equal";
    let Some(shared) = real_journals(test) else { return };
    for journal in plain::real_journals(&shared) {
        if journal.parent().unwrap().file_name().unwrap().to_str().unwrap().starts_with("0.1.") {
            assert_foreign_is_refused(&journal);
        } else {
            compare(&journal);
        }
    }
}

#[test]
fn nothing_of_the_shipped_journals_stands_in_their_redactions_and_the_answers_are_equal() {
    for journal in plain::shipped_journals() {
        compare(&journal);
    }
    assert_foreign_is_refused(&harness::project().join("tests/fixtures/0.1.2-mixed-head.jsonl"));
}

#[test]
fn nothing_of_a_generated_journal_stands_in_its_redaction_and_the_answers_are_equal() {
    let test = "nothing_of_a_generated_journal_stands_in_its_redaction_and_the_answers_are_equal";
    let Some(shared) = real_journals(test) else { return };
    if !harness::has_program(test, "python3") {
        return;
    }
    let lab = Lab::new();
    let journal = lab.path("generated.jsonl");
    let made = Command::new("python3")
        .arg(shared.join("tools/journalgen.py"))
        .args("--rows 5000 --runs 3 --release mixed --interleave --seed 11 --out".split(' '))
        .arg(&journal)
        .status()
        .unwrap();
    assert!(made.success(), "journalgen.py: {made}");
    compare(&journal);
}

fn assert_foreign_is_refused(journal: &Path) {
    let lab = Lab::new();
    lab.run(&["redact", journal.to_str().unwrap(), "-o", "out.jsonl"])
        .exits(1)
        .says("not one line is a journal row")
        .says("no schema");
    assert!(!lab.path("out.jsonl").exists());
}

/// Redacts a journal, looks for its names in the bytes, and asks both the same questions.
fn compare(journal: &Path) {
    let (original, lab) = (Lab::new(), Lab::new());
    let path = journal.to_str().unwrap();
    lab.run(&["redact", path, "-o", "out.jsonl"]).exits(0);
    let (records, _) = plain::records(journal);
    let out = lab.path("out.jsonl");
    assert_gone(&Secrets::of(&records), &out, path);
    assert_clean(&lab, "out.jsonl");
    original.run(&["ingest", path, "--final"]).exits(0);
    lab.run(&["ingest", "out.jsonl"]).exits(0);
    assert_same_answers(&original, &lab, &engine_map(&records, &rows_of(&out)), path);
}

/// What may not stand in a redacted journal.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeSet<String>);

impl Secrets {
    pub(super) fn of(records: &[Value]) -> Self {
        let mut secrets = Self::default();
        records.iter().for_each(|record| secrets.collect(record, ""));
        secrets.0.remove("");
        secrets
    }

    fn collect(&mut self, value: &Value, key: &str) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    if key == "cached_tokens" {
                        self.0.insert(name.clone());
                    }
                    self.collect(value, name);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, key)),
            Value::String(text) => {
                let names =
                    ["client_rid", "engines", "ejected", "quarantined", "producer", "recorded_producer"];
                if key.ends_with("iid") || names.contains(&key) {
                    self.0.insert(text.clone());
                } else {
                    self.collect_places(text);
                }
            }
            _ => {}
        }
    }

    /// URLs, their hosts with and without a port, and addresses of a text.
    fn collect_places(&mut self, text: &str) {
        for (at, _) in text.match_indices("://") {
            let scheme =
                text[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |before| before + 1);
            let rest = &text[at + 3..];
            let url = &rest[..rest.find([' ', '"', '\'']).unwrap_or(rest.len())];
            let authority = url.split('/').next().unwrap();
            self.0.insert(text[scheme..at + 3 + url.len()].to_owned());
            self.0.insert(authority.to_owned());
            self.0.insert(authority.split(':').next().unwrap().to_owned());
        }
        for token in text.split(|c: char| !c.is_ascii_digit() && c != '.') {
            if token.trim_matches('.').split('.').count() == 4 {
                self.0.insert(token.trim_matches('.').to_owned());
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Whether a text holds another as a whole token.
fn holds(text: &str, token: &str) -> bool {
    text.match_indices(token)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + token.len()..].starts_with(is_word))
}

fn each_string(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, take)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            take(key);
            each_string(value, take);
        }),
        _ => {}
    }
}

/// Asserts that no secret is in the file: not in its bytes as they stand, nor in any text they say.
pub(super) fn assert_gone(secrets: &Secrets, file: &Path, what: &str) {
    let bytes = fs::read_to_string(file).unwrap();
    let mut texts = BTreeSet::new();
    for record in rows_of(file) {
        each_string(&record, &mut |text| {
            texts.insert(text.to_owned());
        });
    }
    let words = |text: &str| text.split(|c| !is_word(c)).map(str::to_owned).collect::<Vec<_>>();
    let said: HashSet<String> = texts.iter().flat_map(|text| words(text)).collect();
    let stands: HashSet<String> = words(&bytes).into_iter().collect();
    for secret in &secrets.0 {
        let is_one_word = secret.chars().all(is_word);
        let is_said =
            if is_one_word { said.contains(secret) } else { texts.iter().any(|text| holds(text, secret)) };
        assert!(!is_said, "{what}: {secret:?} is said in {}", file.display());
        // Digits alone stand in numbers, too, and a caller did name its request `null`.
        if secret.contains(|c: char| c.is_ascii_alphabetic()) && secret != "null" {
            let is_there = if is_one_word { stands.contains(secret) } else { holds(&bytes, secret) };
            assert!(!is_there, "{what}: {secret:?} stands in {}", file.display());
        }
    }
}

/// Each engine and its pseudonym, from rows of the same place in both journals.
fn engine_map(records: &[Value], redacted: &[Value]) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    let is_kept = |record: &&Value| record.get("schema").is_some() || record["meta"].get("schema").is_some();
    let kept: Vec<&Value> = records.iter().filter(is_kept).collect();
    assert_eq!(kept.len(), redacted.len(), "rows");
    for (one, other) in kept.into_iter().zip(redacted) {
        pair(one, other, "", &mut map);
    }
    let distinct: HashSet<&String> = map.values().collect();
    assert_eq!(distinct.len(), map.len(), "two engines have one pseudonym: {map:?}");
    map
}

fn pair(one: &Value, other: &Value, key: &str, map: &mut BTreeMap<String, String>) {
    match (one, other) {
        (Value::String(id), Value::String(pseudonym)) if key.ends_with("iid") => {
            let before = map.insert(id.clone(), pseudonym.clone());
            assert!(before.is_none_or(|before| before == *pseudonym), "{id} has two pseudonyms");
        }
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one.iter().filter(|(_, value)| !value.is_null()) {
                if key != "cached_tokens" {
                    pair(value, &other[key], key, map);
                }
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len());
            one.iter().zip(other).for_each(|(one, other)| pair(one, other, "", map));
        }
        _ => {}
    }
}

fn assert_same_answers(original: &Lab, redacted: &Lab, engines: &BTreeMap<String, String>, what: &str) {
    for query in [
        "attainment",
        "outcomes",
        "refusals",
        "cancellations",
        "retries",
        "latency",
        "handoff",
        "queue-waits",
        "admission-price",
        "throughput",
        "wasted-work",
        "cache",
        "monitoring",
        "runs",
    ] {
        let slo: &[&str] = if query == "attainment" { &["--ttft", "0.8", "--tpot", "0.03"] } else { &[] };
        let question: Vec<&str> = [query].iter().chain(slo).copied().collect();
        let (mut got, mut expected) = (ask(redacted, &question), ask(original, &question));
        if query == "runs" {
            // The two stand in different files.
            for answer in [&mut got, &mut expected] {
                let at = answer.columns.iter().position(|name| name == "path").unwrap();
                answer.rows.iter_mut().for_each(|row| row[at] = Value::Null);
            }
        }
        got.equals(&expected, &format!("{what}: {query}"));
    }
    let mut failures = ask(original, &["engine-failures"]);
    let at = failures.columns.iter().position(|name| name == "engine");
    for row in &mut failures.rows {
        let cell = &mut row[at.unwrap()];
        if let Some(id) = cell.as_str() {
            *cell = engines[id].clone().into();
        }
    }
    // Engines stand within a decision's reason, too.
    let mut decisions = ask(original, &["controller"]);
    for cell in decisions.rows.iter_mut().flatten() {
        if let Some(text) = cell.as_str() {
            let words = text.split(' ').map(|word| engines.get(word).map_or(word, String::as_str));
            *cell = words.collect::<Vec<_>>().join(" ").into();
        }
    }
    let mut shown = ask(redacted, &["controller"]);
    for answer in [&mut decisions, &mut shown] {
        answer.rows.sort_by_cached_key(|row| format!("{row:?}"));
    }
    shown.equals(&decisions, &format!("{what}: controller"));
    let mut renamed = ask(redacted, &["engine-failures"]);
    for answer in [&mut failures, &mut renamed] {
        answer.rows.sort_by_cached_key(|row| format!("{:?}", &row[..3]));
    }
    renamed.equals(&failures, &format!("{what}: engine-failures"));
    for sql in [
        "select run, rid, rel_s, arrived, handoff_s, terminal, refused_cause, cancelled_phase, reason,
            error_type, error_code, status, input_len, wanted_len, output_len, ttft_s, tpot_s,
            first_byte_s, decode_tpot_s, queue_wait_s, duration_s, attempts, decode_attempts,
            attempt_failures, crossed, token_accounting, length(client_rid) > 0
         from requests order by run, rid, arrived",
        "select run, rid, attempt, failed, phase, retry_scheduled, output_started from attempts
         order by run, rid, terminal_id, attempt, failed, phase",
        "select event, clock, at, count(*) from events group by event, clock, at order by 1, 2, 3",
        "select count(*), count(client_rid), count(distinct client_rid), count(distinct prefill_iid),
            count(distinct decode_iid) from terminals",
        "select run, event, count(distinct iid) from events join runs using (run_id) group by 1, 2 order by 1, 2",
        "select package, version, git, source, token_accounting from builds order by byte_offset",
    ] {
        let (got, expected) = (redacted.rows(sql), original.rows(sql));
        assert!(got.len() == expected.len(), "{what}: {sql}");
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got, expected, "{what}: {sql}");
        }
    }
}

// ---------------------------------------------------------------- engines

#[test]
fn one_engine_has_one_pseudonym_in_all_files_of_a_call() {
    let lab = Lab::new();
    fs::create_dir(lab.path("journals")).unwrap();
    lab.write("journals/a.jsonl", row("a", "\"prefill_iid\": \"p0\", \"decode_iid\": \"d0\"") + "\n");
    lab.write("journals/b.jsonl", row("b", "\"prefill_iid\": \"d0\", \"decode_iid\": \"d1\"") + "\n");
    lab.run(&["redact", "journals", "-o", "out.jsonl"]).exits(0).says("2 rows").says("3 engines");
    let rows = rows_of(&lab.path("out.jsonl"));
    assert_eq!((&rows[0]["prefill_iid"], &rows[0]["decode_iid"]), (&"engine-1".into(), &"engine-2".into()));
    assert_eq!((&rows[1]["prefill_iid"], &rows[1]["decode_iid"]), (&"engine-2".into(), &"engine-3".into()));
}

#[test]
fn tokens_only_a_longer_word_that_contains_an_engine_id_stays() {
    let text = "d0, xd0 d00 d0_a a-d0 éd0 (d0) d0";
    let becomes = "engine-1, xd0 d00 d0_a a-d0 éd0 (engine-1) engine-1";
    assert_eq!(redacted_error(text, &[row("a", "\"decode_iid\": \"d0\"")]), becomes);
}

#[test]
fn an_id_that_stands_in_text_before_any_field_names_it_goes() {
    let rows = redacted(&[error("d7 is slow"), row("b", "\"decode_iid\": \"d7\"")]);
    assert_eq!(rows[0]["error"], "engine-1 is slow");
}

#[test]
fn an_id_that_only_a_damaged_line_names_goes() {
    let lab = Lab::new();
    let torn = row("a", "\"decode_iid\": \"d7\", \"error\": \"http://gpu7.internal/\", \"x\": \"y");
    let torn = &torn[..torn.find("\"y").unwrap() + 2];
    lab.write("j.jsonl", format!("{torn}{}\n", error("d7 and gpu7.internal are slow")));
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl"]).exits(0).says("1 part left out");
    assert_eq!(rows_of(&lab.path("out.jsonl"))[0]["error"], "engine-1 and <host> are slow");
}

#[test]
fn an_input_that_already_has_an_engine_1_gets_other_pseudonyms() {
    let others = [row("a", "\"prefill_iid\": \"d0\", \"decode_iid\": \"engine-1\"")];
    let text = "d0, engine-1 and engine-3, engine-2x";
    assert_eq!(redacted_error(text, &others), "engine-2, engine-4 and engine-3, engine-2x");
}

#[test]
fn every_place_that_names_an_engine_is_redacted_and_numbers_stay() {
    let rows = redacted(&[
        row(
            "a",
            "\"attempt_failures\": [{\"attempt\": 1, \"prefill_iid\": \"e1\", \"decode_iid\": \"e2\", \
             \"error_message\": \"e3 and e7\", \"new\": {\"e4\": \"e5\", \"n\": 5}}], \
             \"prefill_iid\": \"e1\", \"cached_tokens\": {\"e3\": 512, \"e2\": 7}, \
             \"cache_placement\": {\"placed_iid\": \"e4\", \"cold_choice_iid\": \"e5\"}, \
             \"continuation\": {\"from_engine\": \"e6\", \"note\": \"e6\"}, \"unknown\": [\"at e1\"]",
        ),
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"brand_new\", \
             \"at\": 5.5, \"iid\": \"e1\", \"engines\": [\"e7\", \"e1\"], \"ejected\": [\"e8\"], \
             \"quarantined\": [\"e9\"], \"producer\": \"e10\", \"recorded_producer\": \"e11\", \
             \"tail\": {{\"e8\": 1, \"deep\": [\"see e9\", {{\"iid\": \"e12\"}}]}}}}"
        ),
    ]);
    let said = format!("{rows:?}");
    for id in 1..=12 {
        assert!(!holds(&said, &format!("e{id}")), "e{id} in {said}");
        assert!(holds(&said, &format!("engine-{id}")), "engine-{id} in {said}");
    }
    assert_eq!(
        rows[0]["cached_tokens"].as_object().unwrap().values().filter_map(Value::as_i64).sum::<i64>(),
        519
    );
    assert_eq!(rows[0]["attempt_failures"][0]["new"]["n"], 5);
    assert_eq!(rows[1]["engines"].as_array().unwrap().len(), 2);
}

#[test]
fn the_words_of_the_router_survive_engines_that_are_called_so() {
    let decision = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \
         \"event\": \"controller_decision\", \"at\": 5.5, \"prefill\": 2, \"decode\": 3, \
         \"reason\": \"decode is busy\", \"result\": \"held\", \"ejected\": [\"held\"]}}"
    );
    let rows = redacted(&[
        row(
            "a",
            "\"prefill_iid\": \"decode\", \"decode_iid\": \"completed\", \"reason\": \"prompt\", \
             \"error\": \"decode leg failed\", \"attempt_failures\": [{\"phase\": \"decode\", \
             \"reason\": \"no_engine\", \"decode_iid\": \"no_engine\"}], \"cached_tokens\": {\"decode\": 5}",
        ),
        decision,
    ]);
    assert_eq!(rows[0]["terminal"], "completed");
    assert_eq!(rows[0]["attempt_failures"][0]["phase"], "decode");
    assert_eq!(rows[0]["attempt_failures"][0]["reason"], "no_engine");
    assert_eq!(
        (&rows[0]["prefill_iid"], &rows[0]["cached_tokens"]["engine-1"]),
        (&"engine-1".into(), &5.into())
    );
    assert_eq!(rows[0]["error"], "engine-1 leg failed");
    assert_eq!((&rows[1]["decode"], &rows[1]["prefill"]), (&3.into(), &2.into()));
    assert_eq!((&rows[1]["event"], &rows[1]["result"]), (&"controller_decision".into(), &"held".into()));
    assert_eq!(rows[1]["reason"], "engine-1 is busy");
}

// ---------------------------------------------------------------- places

#[test]
fn a_url_cut_off_at_240_characters_goes() {
    let url = "http://gpu7.rack-3.internal:8000/v1";
    for kept in 8..url.len() {
        let message = format!("{:x<width$} {}", "", &url[..kept], width = 239 - kept);
        assert_eq!(message.len(), 240);
        let failure = format!("\"attempt_failures\": [{{\"error_message\": \"{message}\"}}]");
        let rows = redacted(&[row("a", &failure)]);
        let becomes =
            rows[0]["attempt_failures"][0]["error_message"].as_str().unwrap().trim_start_matches('x');
        assert_eq!(becomes.trim_end_matches(['.', ':']), " <url>", "{message}");
    }
}

#[test]
fn a_known_name_cut_off_at_240_characters_goes() {
    let others = [row("a", "\"decode_iid\": \"decode-engine-77\", \"error\": \"http://gpu7.internal\"")];
    for cut in ["decode-engine-7", "gpu7.int"] {
        let message = format!("{:x<width$} {cut}", "", width = 239 - cut.len());
        assert_eq!(redacted_error(&message, &others).trim_start_matches('x'), " <cut>");
    }
}

#[test]
fn ipv6_and_ipv4_addresses_go() {
    let text =
        "to [2001:db8::7]:8000, fe80::1%eth0, ::ffff:10.0.0.7 and ('10.0.0.7', 8000) not 1.2.3 12:30:01";
    let becomes = "to <address>, <address>, <address> and ('<address>', 8000) not 1.2.3 12:30:01";
    assert_eq!(redacted_error(text, &[]), becomes);
}

#[test]
fn a_bare_host_and_port_goes() {
    assert_eq!(
        redacted_error("connect to gpu7:8000 failed: [Errno 111]", &[]),
        "connect to <host> failed: [Errno 111]"
    );
}

#[test]
fn a_host_seen_in_a_url_elsewhere_goes() {
    let others = [error("for url 'http://user:pw@GPU7.internal:8000/v1'")];
    let text = "gpu7.internal is down, gpu7.internals is not";
    assert_eq!(redacted_error(text, &others), "<host> is down, <host> is not");
}

// ---------------------------------------------------------------- clients and keys

#[test]
fn equal_client_ids_stay_equal_and_go_from_their_own_texts() {
    let rows = redacted(&[
        row("a", "\"client_rid\": \"job-7\", \"error\": \"job-7 failed\""),
        row("b", "\"client_rid\": \"job-7\""),
        row("c", "\"client_rid\": \"job-8 \\u00e9\", \"error\": \"no job-8 é, no job-8 éa\""),
        row("d", "\"client_rid\": null"),
    ]);
    let client = |at: usize| rows[at]["client_rid"].as_str().unwrap();
    assert!(client(0).starts_with("client-") && client(0).len() == 23, "{}", client(0));
    assert_eq!(client(0), client(1));
    assert_ne!(client(0), client(2));
    assert_eq!(rows[0]["error"], format!("{} failed", client(0)));
    assert_eq!(rows[2]["error"], format!("no {}, no job-8 éa", client(2)));
    assert!(rows[3].get("client_rid").is_none());
}

#[test]
fn a_key_keeps_pseudonyms_stable_over_time_and_without_one_none_can_be_linked() {
    let lab = Lab::new();
    lab.write("key", "0123456789abcdef");
    lab.write("other", "0123456789abcdeg");
    lab.write(
        "a.jsonl",
        row("a", "\"client_rid\": \"c\", \"prefill_iid\": \"p0\", \"decode_iid\": \"d0\"") + "\n",
    );
    lab.write(
        "b.jsonl",
        row("b", "\"client_rid\": \"c\", \"prefill_iid\": \"d0\", \"decode_iid\": \"d1\"") + "\n",
    );
    let names = |journal: &str, key: &[&str]| {
        let arguments: Vec<&str> =
            ["redact", journal, "-o", "out.jsonl"].iter().chain(key).copied().collect();
        lab.run(&arguments).exits(0);
        assert_clean(&lab, "out.jsonl");
        let row = rows_of(&lab.path("out.jsonl")).remove(0);
        ["client_rid", "prefill_iid", "decode_iid"].map(|field| row[field].as_str().unwrap().to_owned())
    };
    let a = names("a.jsonl", &["--key", "key"]);
    let b = names("b.jsonl", &["--key", "key"]);
    assert_eq!((&a[0], &a[2]), (&b[0], &b[1]));
    assert!(a[1] != a[2] && a[1].len() == "engine-".len() + 8, "{a:?}");
    let other = names("a.jsonl", &["--key", "other"]);
    assert!(other[0] != a[0] && other[1] != a[1]);
    assert_ne!(names("a.jsonl", &[])[0], names("a.jsonl", &[])[0]);
}

#[test]
fn a_key_that_can_be_guessed_is_refused() {
    let lab = Lab::new();
    lab.write("j.jsonl", row("a", "\"x\": 1") + "\n");
    lab.write("key", "0123456789abcde");
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl", "--key", "key"]).exits(1).says(
        "error: the key key has 15 bytes, which can be guessed: it needs at least 16; make one with \
         `head -c 32 /dev/urandom > FILE`",
    );
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl", "--key", "/dev/zero"])
        .exits(1)
        .says("is it another file?");
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl", "--key", "gone"])
        .exits(1)
        .says("cannot read the key gone");
    assert!(!lab.path("out.jsonl").exists());
}

// ---------------------------------------------------------------- inputs and output

#[test]
fn what_cannot_be_parsed_is_left_out_and_counted() {
    let lab = Lab::new();
    let lines = [
        build("0.7.0"),
        "Traceback: secret-host:80".to_owned(),
        row("a", "\"tpot_s\": NaN, \"decode_iid\": \"d0\""),
        format!("{}{}", &row("b", "\"error\": \"secret\"")[..120], build("0.7.1")),
        "{\"run\": \"1-0\", \"attempts\": [\"secret\"]}".to_owned(),
        String::new(),
    ];
    lab.write("j.jsonl", lines.join("\n") + &row("c", "\"error\": \"secret")[..150]);
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl"])
        .exits(0)
        .says("warning: left out, because it is no row: j.jsonl:2:")
        .says("(and 3 more of this file)")
        .says("note: out.jsonl: 3 rows, 2 repaired, 4 parts left out");
    let text = fs::read_to_string(lab.path("out.jsonl")).unwrap();
    assert!(!text.contains("secret") && !text.contains("NaN"), "{text}");
    assert_eq!(rows_of(&lab.path("out.jsonl")).len(), 3);
    lab.run(&["ingest", "out.jsonl", "--strict"]).exits(0);
}

#[test]
fn redact_j_to_j_is_refused_under_any_name() {
    let lab = Lab::new();
    let bytes = row("a", "\"x\": 1") + "\n";
    lab.write("j.jsonl", &bytes);
    fs::hard_link(lab.path("j.jsonl"), lab.path("hard")).unwrap();
    std::os::unix::fs::symlink("j.jsonl", lab.path("soft")).unwrap();
    for output in ["j.jsonl", "./j.jsonl", "hard", "soft"] {
        lab.run(&["redact", "j.jsonl", "-o", output]).exits(2).says("is the input j.jsonl, too");
    }
    lab.run(&["redact", ".", "-o", "j.jsonl"]).exits(2).says("give another file to -o");
    let mut from_stdin = lab.command(&["redact", "-", "-o", "j.jsonl"]);
    let output = from_stdin.stdin(fs::File::open(lab.path("j.jsonl")).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    lab.write("key", "0123456789abcdef");
    lab.run(&["redact", "j.jsonl", "--key", "key", "-o", "key"]).exits(2).says("is the key, too");
    lab.run(&["redact", "j.jsonl", "-o", "/dev/null"]).exits(0);
    lab.run(&["redact", "j.jsonl"]).exits(2).says("--output");
    assert_eq!(fs::read_to_string(lab.path("j.jsonl")).unwrap(), bytes);
}

#[test]
fn a_failed_redaction_leaves_nothing_behind() {
    let lab = Lab::new();
    lab.write("j.jsonl", row("a", "\"x\": 1") + "\n");
    lab.write("out.jsonl", "before");
    lab.run(&["redact", "j.jsonl", "gone.jsonl", "-o", "out.jsonl"]).exits(1).says("cannot read gone.jsonl");
    lab.run(&["redact", "j.jsonl", "-o", "gone/out.jsonl"]).exits(1).says("cannot write gone/out.jsonl");
    assert_eq!(fs::read_to_string(lab.path("out.jsonl")).unwrap(), "before");
    let names: Vec<PathBuf> =
        fs::read_dir(lab.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn one_foreign_file_among_journals_is_an_error_and_the_rest_is_written() {
    let lab = Lab::new();
    lab.write("j.jsonl", row("a", "\"x\": 1") + "\n");
    lab.write("notes.txt", "no journal\n");
    lab.write("empty.jsonl", "");
    lab.run(&["redact", "j.jsonl", "notes.txt", "empty.jsonl", "-o", "out.jsonl"])
        .exits(1)
        .says("error: notes.txt: not one line is a journal row")
        .says("note: empty.jsonl: empty")
        .says("1 row");
    assert_eq!(rows_of(&lab.path("out.jsonl")).len(), 1);
}

#[test]
fn standard_input_and_pipes_give_the_same_as_the_file() {
    let journal = fixture("0.7.0-killed.jsonl");
    let lab = Lab::new();
    lab.write("j.jsonl", &journal);
    lab.write("key", "0123456789abcdef");
    lab.run(&["redact", "j.jsonl", "-o", "file.jsonl", "--key", "key"]).exits(0);
    lab.run_with_stdin(&["redact", "-", "-o", "stdin.jsonl", "--key", "key"], &journal).exits(0);
    let stdin_as_file = ["redact", "/dev/stdin", "-o", "pipe.jsonl", "--key", "key"];
    lab.run_with_stdin(&stdin_as_file, &journal).exits(0);
    let read = |name: &str| fs::read(lab.path(name)).unwrap();
    assert!(read("file.jsonl") == read("stdin.jsonl") && read("file.jsonl") == read("pipe.jsonl"));
    assert!(!read("file.jsonl").is_empty());
}

#[test]
fn rows_keep_the_form_of_the_writer_and_redacting_twice_changes_only_names() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.6.0-takeover.jsonl"));
    lab.run(&["redact", "j.jsonl", "-o", "one.jsonl"]).exits(0);
    lab.run(&["redact", "one.jsonl", "-o", "two.jsonl"]).exits(0);
    let (one, two) = (rows_of(&lab.path("one.jsonl")), rows_of(&lab.path("two.jsonl")));
    engine_map(&one, &two);
    for line in fs::read_to_string(lab.path("one.jsonl")).unwrap().lines() {
        assert!(line.starts_with("{\"schema\": ") || line.starts_with("{\"meta\": "), "{line}");
    }
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let lab = Lab::new();
    let long = "x".repeat(100_000);
    let rows: Vec<String> = (0..20)
        .map(|at| {
            row(&format!("r{at}"), &format!("\"client_rid\": \"c{at}-{long}\", \"decode_iid\": \"d0\""))
        })
        .collect();
    let part = rows.join("\n") + "\n";
    let file = fs::File::create(lab.path("j.jsonl")).unwrap();
    let mut out = std::io::BufWriter::new(file);
    for _ in 0..80 {
        std::io::Write::write_all(&mut out, part.as_bytes()).unwrap();
    }
    drop(out);
    assert!(lab.path("j.jsonl").metadata().unwrap().len() > 150_000_000);
    let program = env!("CARGO_BIN_EXE_narwhal-jq");
    let script = format!("ulimit -v 120000 && exec {program} redact j.jsonl -o out.jsonl");
    let output = Command::new("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(lab.path("out.jsonl")).unwrap().lines().count(), 1600);
}

// ---------------------------------------------------------------- --check

#[test]
fn check_tells_what_a_file_gives_away_with_its_place() {
    let lab = Lab::new();
    let first =
        row("a", "\"client_rid\": \"c\", \"decode_iid\": \"d0\", \"error\": \"see http://h/, h:80 or ::1\"");
    let second =
        row("b", "\"decode_iid\": \"engine-1\", \"error\": \"fine\", \"cached_tokens\": {\"d1\": 5}");
    let third = "torn {\"prefill_iid\": \"d2\", \"error\": \"10.0.0.7";
    let text = format!("{first}\n{second}\n{third}\n");
    lab.write("j.jsonl", &text);
    let run =
        lab.run(&["redact", "--check", "j.jsonl"]).exits(1).says("warning: j.jsonl: 8 found in 3 lines");
    let place = |line: usize, what: &str, found: &str| {
        format!("j.jsonl:{line}:{}: {what}: \"{found}\"\n", text.rfind(found).unwrap())
    };
    let client = text.find("\"c\"").unwrap() + 1;
    let expected = [
        format!("j.jsonl:1:{client}: a client id: \"c\"\n"),
        place(1, "an engine id", "d0"),
        place(1, "a URL", "http://h/"),
        place(1, "a host with a port", "h:80"),
        place(1, "an address", "::1"),
        place(2, "an engine id", "d1"),
        place(3, "an engine id", "d2"),
        place(3, "an address", "10.0.0.7"),
    ];
    assert_eq!(run.stdout.matches('\n').count(), expected.len(), "{}", run.stdout);
    for line in expected {
        assert!(run.stdout.contains(&line), "{line}{}", run.stdout);
    }
}

#[test]
fn check_finds_something_in_every_real_journal_and_nothing_in_an_empty_file() {
    let lab = Lab::new();
    lab.write("empty", "");
    assert_clean(&lab, "empty");
    for journal in plain::shipped_journals() {
        let run = lab.run(&["redact", "--check", journal.to_str().unwrap()]).exits(1);
        assert!(run.stdout.contains("an engine id"), "{}", run.stdout);
    }
    lab.run(&["redact", "--check", "gone"]).exits(1).says("cannot read gone");
    lab.run(&["redact", "--check", "empty", "-o", "x"]).exits(2);
}

#[test]
fn hostile_text_is_escaped_where_it_is_shown() {
    let lab = Lab::new();
    lab.write("j.jsonl", row("a", "\"client_rid\": \"c\\u001b[31m\\u202e\"") + "\n");
    let run = lab.run(&["redact", "--check", "j.jsonl"]).exits(1);
    assert!(
        run.stdout.contains("\"c\\u001b[31m\\u202e\"") && !run.stdout.contains('\u{1b}'),
        "{}",
        run.stdout
    );
}

#[test]
fn rows_of_unknown_shape_are_scanned_too() {
    let cells = |lab: &Lab| -> Vec<Vec<Cell>> { lab.rows("select extra from terminals") };
    let lab = Lab::new();
    let line = row(
        "a",
        "\"decode_iid\": \"d0\", \"later\": {\"url\": \"http://h/\", \"10.0.0.7\": 1, \"10.0.0.8\": 2}",
    );
    lab.write("j.jsonl", line + "\n");
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl"]).exits(0);
    lab.run(&["ingest", "out.jsonl"]).exits(0);
    let Cell::Text(extra) = &cells(&lab)[0][0] else { panic!("extra is text") };
    let extra: Value = serde_json::from_str(extra).unwrap();
    let expected = serde_json::json!({"later": {"<address>": 1, "<address> (2)": 2, "url": "<url>"}});
    assert_eq!(extra, expected);
}

// ---------------------------------------------------------------- hosts and users without a URL

/// The lines of a case file, without comments.
fn cases(name: &str) -> Vec<String> {
    let text = fs::read_to_string(harness::project().join("tests/cases/redact").join(name)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Letters that differ for each number.
fn letters(number: usize) -> String {
    [number / 26, number % 26].iter().map(|at| char::from(b'a' + *at as u8)).collect()
}

#[test]
fn issue_13_5_the_given_bare_hosts_go_and_check_names_them() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("given/redact-bare-hosts.jsonl"));
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl"]).exits(0);
    let rows = rows_of(&lab.path("out.jsonl"));
    let errors: Vec<&str> = rows.iter().filter_map(|row| row["error"].as_str()).collect();
    let expected = [
        "HTTPConnectionPool(host='<host>', port=8000): Max retries exceeded with url: /v1/completions",
        "connect to <host> port 8000 failed: Connection refused",
        "Name or service not known: <host>",
    ];
    assert_eq!(errors, expected);
    assert_clean(&lab, "out.jsonl");
    let run = lab.run(&["redact", "--check", "j.jsonl"]).exits(1);
    let text = fs::read_to_string(lab.path("j.jsonl")).unwrap();
    for (line, host) in [(2, "gpu-node-12"), (3, "gpu-node-13"), (4, "gpu-node-14.corp.example")] {
        let place = format!("j.jsonl:{line}:{}: a host: \"{host}\"\n", text.find(host).unwrap());
        assert!(run.stdout.contains(&place), "{place}{}", run.stdout);
    }
}

#[test]
fn issue_13_5_hosts_and_users_go_from_the_wordings_of_the_usual_clients_and_check_names_them() {
    let hosts = ["mars%", "gpu-node-1#", "gpu#.corp.example", "n#-a.rack-3.prod", "MARS%"];
    assert_all_go(&cases("wordings.txt"), &hosts);
    assert_all_go(&cases("wordings.txt"), &ONE_WORD_MACHINES);
}

#[test]
fn issue_13_5_words_that_no_text_knows_go_where_machines_stand_and_check_names_them() {
    assert_all_go(&cases("likely.txt"), &["mars%", "gpu-node-1#", "gpu#.corp.example", "zeus-#"]);
    assert_all_go(&cases("likely.txt"), &ONE_WORD_MACHINES);
}

#[test]
fn issue_13_5_machines_of_one_word_with_a_number_go_where_other_words_stand_too_and_check_names_them() {
    assert_all_go(&cases("machines.txt"), &ONE_WORD_MACHINES);
    assert_all_go(&cases("machines.txt"), &["gpu-node-1#", "worker-#"]);
}

const ONE_WORD_MACHINES: [&str; 4] = ["gpunode#", "prefill#", "n#", "rack1node#"];

/// Redacts the texts with hosts of these forms and users in them, and looks for what is left.
#[track_caller]
fn assert_all_go(wordings: &[String], hosts: &[&str]) {
    // No two lines share a name: what one tells must not help another.
    for host in hosts {
        let name = |at: usize| host.replace('%', &letters(at)).replace('#', &(100 + at).to_string());
        let user = |at: usize| format!("alice{}", letters(at));
        let texts: Vec<String> = wordings
            .iter()
            .enumerate()
            .map(|(at, text)| text.replace("NAME", &name(at)).replace("USER", &user(at)))
            .collect();
        let rows: Vec<String> = texts.iter().map(|text| error(text)).collect();
        for (at, row) in redacted(&rows).iter().enumerate() {
            let text = row["error"].as_str().unwrap();
            let is_left = text.contains(&name(at)) || text.contains(&user(at));
            assert!(!is_left, "{} becomes {text}", texts[at]);
        }
        let lab = Lab::new();
        lab.write("j.jsonl", rows.join("\n") + "\n");
        let found = lab.run(&["redact", "--check", "j.jsonl"]).exits(1).stdout;
        for (at, text) in texts.iter().enumerate() {
            assert!(found.contains(&format!("j.jsonl:{}:", at + 1)), "not found: {text}");
        }
    }
}

#[test]
fn issue_13_5_what_names_nobody_stays_byte_by_byte() {
    let texts = cases("stays.txt");
    let rows: Vec<String> = texts.iter().map(|text| error(text)).collect();
    let becomes: Vec<String> =
        redacted(&rows).iter().map(|row| row["error"].as_str().unwrap().to_owned()).collect();
    assert_eq!(becomes, texts);
}

#[test]
fn issue_13_5_what_was_told_as_a_host_or_a_user_once_goes_wherever_it_stands() {
    let rows = redacted(&[
        error("mars, Mars and venus.corp.example are slow, venus too, neptune-1 also, marsh is not"),
        error("alice started pluto; jupiter is one of bob's"),
        error("connect to mars port 8000 failed"),
        error("Cannot connect to host venus.corp.example:80 ssl:default"),
        error("neptune-1.lan:8000 and alice@pluto.lan; pluto:2379"),
        error("http://bob:pw@x.y/ [Errno -2] Name or service not known: 'jupiter'"),
    ]);
    assert_eq!(rows[0]["error"], "<host>, <host> and <host> are slow, venus too, <host> also, marsh is not");
    assert_eq!(rows[1]["error"], "<user> started <host>; <host> is one of <user>'s");
}

#[test]
fn issue_13_5_fields_that_hold_hosts_and_users_are_known_by_their_names() {
    let event = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \
         \"event\": \"engine_lifecycle\", \"at\": 5.5, \"action\": \"started\", \"host\": \"mars\", \
         \"node_name\": \"venus\", \"hosts\": [\"pluto\"], \"user\": \"alice\", \"node\": 3, \"rank\": \"7\"}}"
    );
    let rows = redacted(&[event.clone(), error("mars was named by alice")]);
    for (field, becomes) in [("host", "<host>"), ("node_name", "<host>"), ("user", "<user>")] {
        assert_eq!(rows[0][field], becomes, "{field}");
    }
    assert_eq!(
        (&rows[0]["hosts"][0], &rows[0]["node"], &rows[0]["rank"]),
        (&"<host>".into(), &3.into(), &"7".into())
    );
    assert_eq!(rows[1]["error"], "<host> was named by <user>");
    let lab = Lab::new();
    lab.write("j.jsonl", event + "\n");
    let found = lab.run(&["redact", "--check", "j.jsonl"]).exits(1).stdout;
    for what in ["a host: \"mars\"", "a host: \"venus\"", "a host: \"pluto\"", "a user: \"alice\""] {
        assert!(found.contains(what), "{what}: {found}");
    }
}

#[test]
fn issue_13_5_classes_in_label_fields_stay_and_so_do_the_answers() {
    let rows = redacted(&[row(
        "a",
        "\"error_type\": \"aiohttp.client_exceptions.ClientConnectorError\", \"error_code\": \"rate.limit\", \
         \"error\": \"x\", \"reason\": \"mars.example\"",
    )]);
    assert_eq!(rows[0]["error_type"], "aiohttp.client_exceptions.ClientConnectorError");
    assert_eq!(rows[0]["error_code"], "rate.limit");
    assert_eq!(rows[0]["reason"], "<host>");
}

#[test]
fn issue_13_21_redacted_answers_stand_in_the_order_of_what_is_shown() {
    let lab = Lab::new();
    // First seen last in the order of their names.
    let rows: Vec<String> = ["zeta", "mu", "beta", "alpha"]
        .iter()
        .enumerate()
        .map(|(at, engine)| {
            row(
                &format!("r{at}"),
                &format!("\"attempts\": 1, \"decode_attempts\": 1, \"prefill_iid\": \"{engine}\", \"decode_iid\": \"{engine}\""),
            )
        })
        .collect();
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let shown = |lab: &Lab, redact: &[&str]| -> Vec<Value> {
        let question = ["query", "engine-failures", "--format", "json"];
        let json = lab.run(&[&question[..], redact].concat()).exits(0).json();
        json.as_array().unwrap().clone()
    };
    let engines: Vec<Value> = shown(&lab, &["--redact"]).iter().map(|row| row["engine"].clone()).collect();
    let expected =
        ["engine-1", "engine-1", "engine-2", "engine-2", "engine-3", "engine-3", "engine-4", "engine-4"];
    assert_eq!(engines, expected.map(Value::from));
    // As SQLite sorts the journal that was redacted before it was read.
    for journal in ["samples/journal.jsonl", "tests/fixtures/0.7.0-killed.jsonl"] {
        let (original, other) = (Lab::new(), Lab::new());
        original.run(&["ingest", harness::project().join(journal).to_str().unwrap()]).exits(0);
        original.run(&["export", "journal", "--dir", "."]).exits(0);
        original.write("key", "0123456789abcdef");
        for key in [&[][..], &["--key", "key"]] {
            let redact = ["redact", "journal.jsonl", "-o", "redacted.jsonl"];
            original.run(&[&redact[..], key].concat()).exits(0);
            let path = original.path("redacted.jsonl");
            other.run(&["ingest", path.to_str().unwrap()]).exits(0);
            let redacted = shown(&original, &[&["--redact"], key].concat());
            assert!(redacted.len() > 5);
            assert_eq!(redacted, shown(&other, &[]), "{journal}");
            fs::remove_file(other.path("narwhal.db")).unwrap();
        }
    }
    // A ranking by a number stays one.
    let slowest = |redact: &[&str]| -> Vec<Value> {
        let json = lab
            .run(&[&["query", "requests", "--order", "ttft_s", "--format", "json"], redact].concat())
            .exits(0)
            .json();
        json.as_array().unwrap().iter().map(|row| row["rid"].clone()).collect()
    };
    assert_eq!(slowest(&["--redact"]), slowest(&[]));
}

/// What the router writes of its own decisions is in answers (`controller`, `events`), and names nobody.
#[test]
fn words_of_the_router_stay() {
    let told = [
        "waiting for sustained demand",
        "waiting for steady load",
        "insufficient demand history",
        "projected improvement is below the movement margin",
        "decode cooldown has not elapsed",
        "post-move objective improved",
        "waiting for graceful shutdown",
        "reprofile before admission",
    ];
    let lines = told.map(|reason| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \
             \"controller_decision\", \"at\": 5.0, \"result\": \"held\", \"reason\": \"{reason}\"}}"
        )
    });
    let reasons: Vec<String> =
        redacted(&lines).iter().map(|row| row["reason"].as_str().unwrap().to_owned()).collect();
    assert_eq!(reasons, told);
}
