//! What the program does, seen from outside: one module per area.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod harness;

mod builds;
mod damage;
mod ingest;
