//! What was kept though this release does not know it: named once in the summary.

use std::collections::BTreeMap;

use crate::journal::declare::Declared;
use crate::journal::event::Clock;
use crate::journal::object::Object;
use crate::journal::row::Row;
use crate::journal::terminal::{TERMINALS, Terminal};
use crate::store::events::misfitting_event_fields;

/// Something unknown that was kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A field without a column, by its path in the row.
    Field(String),
    /// An event kind.
    Event(String),
    /// A terminal value.
    Terminal(String),
    /// A documented field of a known event that holds another type than documented.
    EventField(String),
}

impl Note {
    /// The note in words, with how many rows it was met in.
    pub fn in_words(&self, count: u64) -> String {
        let rows = if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        match self {
            Self::Field(name) => format!("unknown field {name:?} in {rows}, kept in `extra`"),
            Self::Event(name) => format!("unknown event {name:?} in {rows}, kept"),
            Self::Terminal(name) => format!("unknown terminal {name:?} in {rows}, kept"),
            Self::EventField(name) => {
                format!("{name:?} holds another type than documented in {rows}, kept in `detail`")
            }
        }
    }
}

/// At most so many different notes are kept: an input of random keys must not fill the memory.
const MAX_NOTES: usize = 1000;

/// Notes what is unknown in a row.
pub(super) fn note(row: &Row<'_>, notes: &mut BTreeMap<Note, u64>) {
    let mut add = |note: Note| {
        if notes.len() < MAX_NOTES || notes.contains_key(&note) {
            *notes.entry(note).or_default() += 1;
        }
    };
    match row {
        Row::Build(row) => {
            for (key, value) in &row.extra {
                match value.as_object().filter(|_| key == "meta") {
                    Some(meta) => each_field("meta.", meta, &mut add),
                    None => add(Note::Field(cut(key))),
                }
            }
        }
        Row::Terminal(row) => note_terminal(row, &mut add),
        Row::Event(row) => {
            if Clock::of_event(&row.event) == Clock::Unknown {
                add(Note::Event(cut(&row.event)));
            }
            for field in misfitting_event_fields(row) {
                add(Note::EventField(format!("{}.{field}", row.event)));
            }
        }
    }
}

fn note_terminal(row: &Terminal<'_>, add: &mut impl FnMut(Note)) {
    let terminal = row.terminal.as_deref().unwrap_or_default();
    if !TERMINALS.contains(&terminal) {
        add(Note::Terminal(cut(terminal)));
    }
    row.each_unknown("", &mut |path, key| add(Note::Field(format!("{path}{}", cut(key)))));
}

fn each_field(prefix: &str, extra: &Object, add: &mut impl FnMut(Note)) {
    for key in extra.keys() {
        add(Note::Field(format!("{prefix}{}", cut(key))));
    }
}

fn cut(name: &str) -> String {
    name.chars().take(80).collect()
}
