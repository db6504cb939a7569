//! A lake: the stored rows as Parquet files, which engines for many machines read.
//!
//! A run is taken in whole, and a day is replaced in whole. What a lake holds of runs that the database has forgotten
//! stays. The layout, and how to read it, is in `docs/beyond-one-machine.md`.
//!
//! | what | where |
//! |---|---|
//! | rows of a run, their keys and wall times | [`crate::store::lake`] |
//! | rows in memory, as files, and back | `batch`, `file`, `reader` |
//! | what the lake holds | [`manifest`] |
//! | who may write, replacing in whole, going on after a kill | `folder` |
//! | which days are written, and of what | [`mod@export`] |
//! | whether it is what the manifest says, and what the database has | [`mod@check`] |
//! | runs that move out of the database | [`moving`] |
//! | tables and views for engines | [`views`] |

mod batch;
pub mod check;
pub mod export;
mod file;
mod folder;
pub mod manifest;
pub mod moving;
mod reader;
pub mod views;

pub use self::folder::VIEWS;
pub use crate::store::lake::run_key;
