//! Which file is which: what it goes on from, whether it was renamed or rewritten since, whether it is an archive,
//! whether it was read before. All who ask do it here: an ingest, `--follow`, `status`, `verify`, `forget`.
//!
//! What a file was read as, and how far, is kept by [`crate::store::sources`] and [`crate::store::archives`].
//!
//! | what | where |
//! |---|---|
//! | the source that content goes on from | [`recognition`] |
//! | a file, opened where its reading stopped | [`mod@file`] |
//! | how a source stands beside its file now | [`state`] |
//! | the bytes of a source, read once more | [`original`] |

pub mod file;
pub mod original;
pub mod recognition;
pub mod state;
