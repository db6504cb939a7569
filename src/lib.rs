//! Loads Narwhal request journals into SQLite and answers questions about them.
//!
//! A reader follows the data; each step knows only those before it. `tests/it/layers.rs` holds it to that.
//!
//! | step | where | what it must not know |
//! |---|---|---|
//! | which files | [`journal::inputs`], [`journal::files`] | what is in them |
//! | bytes to whole lines | [`journal::lines`] | JSON |
//! | a line to rows and damaged parts | [`journal::segments`], [`journal::json`] | SQLite |
//! | typed rows, and what each field of them is | [`journal::row`]: [`journal::build`], [`journal::terminal`], [`journal::event`]; [`journal::declare`] | SQLite |
//! | rows to tables and back | [`store::rows`], [`store::events`], `store::builds` | files |
//! | duplicates, conflicts | [`store::terminals`] | how lines are read |
//! | spans and clocks of runs, and their builds | `store::runs`, `store::clocks`, `store::inference` | how lines are read |
//! | runs that were forgotten | [`store::forgotten`] | how lines are read |
//! | when events happened, and the wall clock of each run | `store::places`, `store::wall` | how lines are read |
//! | counts kept for the common questions | `store::rollups` | how lines are read |
//! | which file is which: goes on, renamed, rewritten, an archive, seen before | [`sources`] | what is in a row |
//! | how far each was read | [`store::sources`], [`store::archives`] | what is in a line |
//! | the loop over all of that, in transactions | [`mod@ingest`] | how its account is shown |
//! | what a question is asked of: flags to rows of `selection` | [`selection`] | what is asked |
//! | canned questions and their parameters | [`query::catalog`], [`query::header`], [`query::params`], [`query::caveats`] | how tables are filled |
//! | one statement that only reads; faster ones, our functions, scopes on several connections, the statement written out | [`query::run`], [`query::faster`], [`query::functions`], [`query::parts`], [`query::written`] | how tables are filled |
//! | several questions, or scopes that lie in each other, from one reading of the requests | [`query::together`], [`query::nested`] | how tables are filled |
//! | tables and columns with what they mean | [`query::schema`] | how tables are filled |
//! | requests one by one in the order that intervals need, and their figures | [`query::ordered`], [`query::legs`], [`query::scoring`], [`query::figures`] | how tables are filled |
//! | one request and what went on around it, two selections, limits, intervals of answers | [`query::diagnosis`], [`query::around`], [`query::compare`], [`query::check`], [`query::intervals`] | how tables are filled |
//! | tables and answers as files | [`mod@export`] | how a file is written |
//! | a journal that can be published | [`mod@redact`] | SQLite |
//! | answers and tables that can be published | [`query::redacting`] | how tables are filled |
//! | what misses go with, and which targets could be promised | [`query::explain`], [`query::solve`] | how tables are filled |
//! | how sure a number is: intervals, differences, where extra misses come from | [`statistics`] | SQL, files, all the rest |
//! | a lake: Parquet that engines of many machines read | [`lake`], [`store::lake`] | SQL, answers |
//! | the same question for another engine, over the tables and views of a lake | [`query::engine`], [`lake::views`] | files |
//! | the report: figures, the drawing, the page | [`mod@report`] | how tables are filled |
//! | standard input, output and error, in whatever mode they are | [`stdio`] | what goes through them |
//! | names for a shell that completes a word | `store::known` | who asks |
//! | temporary files; failures that somebody acts on; what the program ends with because of one | [`temporary`], [`failure`], [`exit`] | who has them |
//! | answers as text | [`output`], [`text`] | where they come from |
//! | what holds where no flag says otherwise | [`settings`] | what it is for |
//! | settings -> library call -> report, a file a subcommand | [`commands`], [`cli`] | |
//!
//! The tables are in `migrations/`, the questions in `queries/`: plain SQL, both.

pub mod cli;
pub mod commands;
pub mod exit;
pub mod export;
pub mod failure;
pub mod ingest;
pub mod journal;
pub mod lake;
pub mod output;
pub mod query;
pub mod redact;
pub mod report;
pub mod selection;
pub mod settings;
pub mod sources;
mod spool;
pub mod statistics;
pub mod stdio;
pub mod store;
pub mod temporary;
pub mod text;
