#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, dead_code)]
#[path = "it/harness.rs"] mod harness;
#[path = "it/answer.rs"] mod answer;
#[path = "it/plain.rs"] mod plain;
#[path = "it/answers/mod.rs"] mod answers;
