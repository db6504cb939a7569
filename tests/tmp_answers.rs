#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, dead_code)]
#[path = "it/harness.rs"] mod harness;
#[path = "it/answer.rs"] mod answer;
#[path = "it/plain.rs"] mod plain;
#[path = "it/journals.rs"] mod journals;
#[path = "it/properties.rs"] mod properties;
#[path = "it/answers/mod.rs"] mod answers;
