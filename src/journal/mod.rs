//! What a journal is, and the way from its bytes to typed rows.
//!
//! A journal is JSON Lines, appended by one or more router processes. A line is one row of three
//! kinds: a build row (`{"meta": ...}`, written when a process opens the file; it names no run), a
//! terminal row (one per client request, written when the request ends) and an event row.
//! Processes restart, take over from one another and are killed in the middle of a line, so rows
//! of several runs interleave and a torn line may have a whole row glued to it.
//!
//! Nothing here knows where rows go: SQLite is the business of [`crate::store`].

pub mod build;
pub mod compression;
#[cfg(test)]
mod contract;
mod decimal;
pub mod declare;
mod define;
pub mod event;
pub mod fault;
pub mod files;
mod gzip;
pub mod inputs;
pub mod json;
pub mod lines;
pub mod names;
mod number;
pub mod object;
mod quoted;
pub mod row;
mod scan;
pub mod segments;
pub mod terminal;
pub mod text;
pub mod traces;
mod values;
pub mod write;
mod zstd;

/// The `schema` of every row of the contract.
pub const SCHEMA: &str = "narwhal.journal";

/// The `schema_version` this release reads.
pub const SCHEMA_VERSION: i64 = 1;
