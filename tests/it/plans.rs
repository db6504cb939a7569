//! How SQLite goes about each canned query, kept as text, so that a lost index is seen.
//!
//! `NARWHAL_JQ_RENEW_PLANS=1 cargo test plans` writes the files anew; read the difference before it is
//! committed. A plan is that of the bundled SQLite, and does not depend on what is bound: one file
//! has what runs with parameters and without.

use std::collections::HashMap;
use std::fs;

use narwhal_jq::query::catalog;

use crate::harness::{Lab, fixture, project};

#[test]
fn queries_go_about_it_as_they_did() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("j.jsonl");
    let database = lab.database();
    let folder = project().join("tests/cases/plans");
    let renew = std::env::var_os("NARWHAL_JQ_RENEW_PLANS").is_some();
    for query in catalog::shipped().unwrap() {
        let mut explain = database.prepare(&format!("explain query plan {}", query.sql)).unwrap();
        let mut steps = explain.raw_query();
        let mut depths = HashMap::from([(0, 0)]);
        let mut plan = String::new();
        while let Some(step) = steps.next().unwrap() {
            let (id, parent): (i64, i64) = (step.get(0).unwrap(), step.get(1).unwrap());
            let depth = depths[&parent];
            depths.insert(id, depth + 1);
            plan.push_str(&"    ".repeat(depth));
            plan.push_str(&step.get::<_, String>(3).unwrap());
            plan.push('\n');
        }
        let file = folder.join(&query.name).with_extension("txt");
        if renew {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &plan).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(plan == kept, "{}: the plan is now\n{plan}and was\n{kept}", query.name);
    }
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, catalog::shipped().unwrap().len(), "a plan for each query, and no other");
}
