//! What the program does, seen from outside: one module per area.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod answer;
#[path = "../checks/mod.rs"]
mod checks;
mod harness;
mod journals;
mod plain;
mod reckoning;

mod answers;
mod archives;
mod builds;
mod chaos;
mod checking;
mod comparing;
mod completing;
mod counters;
mod damage;
mod diagnosis;
mod docs;
mod explaining;
mod exports;
mod faults;
mod following;
mod forget;
mod fuzz_corpus;
mod hostile;
mod ingest;
mod intervals;
mod kept;
mod kills;
mod lake;
mod manual;
mod older_schemas;
mod outputs;
mod own_queries;
mod places;
mod properties;
mod redact;
mod regressions;
mod reporting;
mod retry;
mod rotation;
mod solving;
mod sql;
mod statistics;
mod together;
mod wall_clock;
