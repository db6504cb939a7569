//! All reading from SQLite: the catalog of canned queries, their parameters, how a statement is run
//! without being able to change anything; and what is built on them.

pub mod answer;
pub mod around;
pub mod buckets;
pub mod catalog;
pub mod caveats;
pub mod check;
pub mod compare;
pub mod datasette;
pub mod diagnosis;
pub mod engine;
pub mod explain;
pub mod faster;
pub mod figures;
mod frontier;
pub mod functions;
pub mod header;
mod hours;
pub mod intervals;
mod keyed;
pub mod kind;
pub mod legs;
pub mod nested;
pub mod ordered;
pub mod params;
pub mod parts;
pub mod redacting;
pub mod run;
pub mod schema;
pub mod scoring;
pub mod slices;
pub mod solve;
pub mod together;
pub mod weight;
pub mod whole;
pub mod written;
