//! `report`: one page to read and to pass on. What it shows is gathered by [`figures`](self), drawn by `plot`, and put
//! together by `page` from its `sections`; it needs no script, no request, and no style sheet to be read.

pub mod comparison;
mod figures;
mod lean;
mod markdown;
mod page;
mod parts;
mod plot;
mod sections;
mod words;

use anyhow::Result;
use rusqlite::Connection;

use self::figures::Figures;
pub use self::figures::ReportOptions;
use self::figures::answers::Reader;
use crate::redact::Redactor;

/// A report, ready to be written.
pub struct Report {
    figures: Figures,
}

/// Asks the database for everything that a report says.
///
/// # Errors
/// When the selection cannot be resolved, in words; when the database cannot be read.
pub fn report(
    connection: &mut Connection,
    asked: ReportOptions,
    redactor: Option<&Redactor>,
) -> Result<Report> {
    let mut reader = Reader { connection, redactor };
    Ok(Report { figures: figures::gather(&mut reader, asked)? })
}

impl Report {
    /// The page, as HTML.
    pub fn html(&self) -> String {
        page::page(&self.figures)
    }

    /// Verdict, findings and the main tables as text of less than 60 lines.
    pub fn markdown(&self) -> String {
        markdown::markdown(&self.figures)
    }

    /// Why nothing was taken in, if nothing was.
    pub fn emptied_by(&self) -> Option<&str> {
        let selection = &self.figures.by_run;
        selection.rows.is_empty().then(|| selection.emptied_by.as_deref().unwrap_or("there is no run"))
    }

    /// How many requests it is about.
    pub fn requests(&self) -> i64 {
        self.figures.offered()
    }

    /// What changes the meaning of its numbers, in words.
    pub fn caveats(&self) -> &[String] {
        &self.figures.caveats
    }
}

impl std::fmt::Debug for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Report").field("requests", &self.requests()).finish_non_exhaustive()
    }
}
