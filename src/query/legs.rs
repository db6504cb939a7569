//! The legs of a request, as the view `legs` has them, found while requests are read.

use anyhow::Result;
use rusqlite::{CachedStatement, Connection, Row, named_params};

/// What an attempt asked of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegKind {
    /// To read the prompt.
    Prefill,
    /// To write the output.
    Decode,
}

impl LegKind {
    /// Both, in the order in which a request needs them.
    pub const ALL: [Self; 2] = [Self::Prefill, Self::Decode];

    /// The word for it in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// A leg of a request, as the view `legs` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg<'r> {
    /// What was asked.
    pub kind: LegKind,
    /// Of which engine.
    pub engine: &'r str,
    /// Whether it failed there.
    pub failed: bool,
}

/// Finds the legs of requests.
pub struct Legs<'c> {
    failed_attempts: CachedStatement<'c>,
}

impl<'c> Legs<'c> {
    /// So many columns are read of a request, in this order: `terminal_id`, `attempt_failures`, `attempts`,
    /// `last_recorded`, `prefill_iid`, and `decode_iid` if the last attempt had a decode leg
    /// (`case when decode_attempts > recorded_decode_legs then decode_iid end`).
    pub const COLUMNS: usize = 6;

    /// Of the connection's requests.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn new(connection: &'c Connection) -> Result<Self> {
        let sql = include_str!("../../queries/ordered/failed-attempts.sql");
        Ok(Self { failed_attempts: connection.prepare_cached(sql)? })
    }

    /// Gives the legs of a request to `take`, by attempt, prefill before decode. Its [`Legs::COLUMNS`] stand in the
    /// row from the column `first` on.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn each(&mut self, request: &Row<'_>, first: usize, mut take: impl FnMut(Leg<'_>)) -> Result<()> {
        if request.get::<_, Option<i64>>(first + 1)?.is_some_and(|entries| entries > 0) {
            let mut rows = self
                .failed_attempts
                .query(named_params! { ":terminal_id": request.get::<_, i64>(first)? })?;
            while let Some(row) = rows.next()? {
                let phase = row.get_ref(0)?.as_str_or_null()?;
                if let Some(engine) = row.get_ref(1)?.as_str_or_null()? {
                    take(Leg { kind: LegKind::Prefill, engine, failed: phase == Some("prefill") });
                }
                if let Some(engine) = row.get_ref(2)?.as_str_or_null()?.filter(|_| phase == Some("decode")) {
                    take(Leg { kind: LegKind::Decode, engine, failed: true });
                }
            }
        }
        let has_attempts = request.get::<_, Option<i64>>(first + 2)?.is_some_and(|attempts| attempts >= 1);
        if !has_attempts || request.get::<_, Option<i64>>(first + 3)? != Some(0) {
            return Ok(());
        }
        for (column, kind) in [(first + 4, LegKind::Prefill), (first + 5, LegKind::Decode)] {
            if let Some(engine) = request.get_ref(column)?.as_str_or_null()? {
                take(Leg { kind, engine, failed: false });
            }
        }
        Ok(())
    }
}
