//! Everything that is asked of the database, redacted where that is wanted: canned queries by name, the report's own
//! statements by file.

use std::collections::HashMap;

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::query::answer::{Answer, Row, ask_into};
use crate::query::redacting::Redacting;
use crate::query::run::{self, Sink};
use crate::query::together::{self, Ready};
use crate::redact::Redactor;
use crate::selection::Selection;

/// The way to the database.
pub(in crate::report) struct Reader<'c> {
    pub(in crate::report) connection: &'c mut Connection,
    pub(in crate::report) redactor: Option<&'c Redactor>,
}

impl Reader<'_> {
    /// A canned query of a selection; parameters as on the command line.
    pub(in crate::report) fn ask(
        &mut self,
        name: &str,
        selection: &Selection,
        given: &[(&str, String)],
    ) -> Result<Answer> {
        let given =
            |wanted: &str| given.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone());
        let mut answer = Answer::default();
        let caveats = match self.redactor {
            None => ask_into(self.connection, name, selection, given, &mut answer)?,
            Some(redactor) => {
                let mut sink = Redacting::new(&mut answer, redactor);
                ask_into(self.connection, name, selection, given, &mut sink)?
            }
        };
        answer.caveats = caveats;
        Ok(answer)
    }

    /// Canned queries of a selection that can be answered from one reading of its requests, in their order.
    pub(in crate::report) fn ask_together(
        &mut self,
        names: &[&'static str],
        selection: &Selection,
        given: &[(&str, String)],
    ) -> Result<Vec<Answer>> {
        let given =
            |wanted: &str| given.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone());
        let ready = together::read(self.connection, names, selection, given)?;
        let mut answers = Vec::with_capacity(ready.len());
        for Ready { sql, bound } in ready {
            let mut answer = Answer::default();
            match self.redactor {
                None => run::run(self.connection, &sql, &bound, &mut answer)?,
                Some(redactor) => {
                    run::run(self.connection, &sql, &bound, &mut Redacting::new(&mut answer, redactor))?
                }
            };
            answers.push(answer);
        }
        Ok(answers)
    }

    /// A statement of the report's own about the connection's selection.
    pub(in crate::report) fn own(&mut self, sql: &str, selection: &Selection) -> Result<Answer> {
        let mut answer = Answer::default();
        self.stream(sql, selection, &mut answer)?;
        Ok(answer)
    }

    /// The same, with each row given on as it comes.
    pub(in crate::report) fn each(
        &mut self,
        sql: &str,
        selection: &Selection,
        take: impl FnMut(&[ValueRef<'_>]),
    ) -> Result<()> {
        self.stream(sql, selection, &mut Each(take))
    }

    fn stream(&mut self, sql: &str, selection: &Selection, sink: &mut dyn Sink) -> Result<()> {
        selection.install(self.connection)?;
        match self.redactor {
            None => run::run(self.connection, sql, &[], sink)?,
            Some(redactor) => run::run(self.connection, sql, &[], &mut Redacting::new(sink, redactor))?,
        };
        Ok(())
    }

    /// How an engine is called on the page.
    pub(in crate::report) fn engine(&self, id: &str) -> String {
        self.redactor.map_or_else(|| id.to_owned(), |redactor| redactor.engine(id).to_owned())
    }
}

struct Each<F>(F);

impl<F: FnMut(&[ValueRef<'_>])> Sink for Each<F> {
    fn columns(&mut self, _: &[String]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        (self.0)(cells);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Answers by the name of their query.
#[derive(Debug, Default)]
pub(in crate::report) struct Answers(HashMap<&'static str, Answer>);

impl Answers {
    pub(in crate::report) fn keep(&mut self, name: &'static str, answer: Answer) {
        self.0.insert(name, answer);
    }

    /// The rows of a query that was asked; none of one that was not, as where there are no targets.
    pub(in crate::report) fn rows(&self, name: &str) -> impl Iterator<Item = Row<'_>> {
        self.0.get(name).into_iter().flat_map(Answer::rows)
    }

    /// The first row.
    pub(in crate::report) fn row(&self, name: &str) -> Option<Row<'_>> {
        self.rows(name).next()
    }

    /// What changes the meaning of an answer.
    pub(in crate::report) fn caveats(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], |answer| &answer.caveats)
    }

    /// The row whose column has this text.
    pub(in crate::report) fn find(&self, name: &str, column: &str, text: &str) -> Option<Row<'_>> {
        self.rows(name).find(|row| row.known_text(column).as_deref() == Some(text))
    }
}
