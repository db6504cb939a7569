//! What the program does, seen from outside: one module per area.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod harness;

mod builds;
mod damage;
mod docs;
mod ingest;
mod own_queries;
mod sql;
