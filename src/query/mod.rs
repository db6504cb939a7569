//! All reading from SQLite: the catalog of canned queries, their parameters, and how a statement
//! is run without being able to change anything.

pub mod catalog;
pub mod caveats;
pub mod params;
pub mod run;
