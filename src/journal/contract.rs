//! The declarations and docs/journal.md say the same: names, types, clocks. The reference in `tests/reference` takes
//! them from the page.

use std::collections::BTreeMap;

use super::build;
use super::declare::{Declared, Field, Role, Shape};
use super::event::{self, KINDS};
use super::terminal::{AttemptFailure, TERMINALS, Terminal};

/// The rows of the table below a heading of the page.
fn table(heading: &str) -> Vec<[&'static str; 3]> {
    let page = include_str!("../../docs/journal.md");
    let (_, below) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let below = below.split("\n#").next().expect("a text has a beginning");
    let rows = below.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, said, notes, _] = cells[..] else { panic!("{heading}: not three cells: {row}") };
        [names, said, notes]
    })
    .collect()
}

/// What stands between backticks.
fn names(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split('`').skip(1).step_by(2)
}

/// The page's word for what a field holds.
fn word(field: &Field) -> &'static str {
    match field.shape {
        Shape::Text => "text",
        Shape::Int => "integer",
        Shape::Real => "number",
        Shape::Flag => "flag",
        Shape::Object if field.role == Role::EngineKeys => "object of integers",
        Shape::Object => "object",
        Shape::Array => "list",
        Shape::Part => "part",
        Shape::Entries => "entries",
    }
}

/// The fields with their types. Those of a part come with its name, those of entries have a table of their own.
fn declared(fields: &[Field], part: &str) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for field in fields.iter().filter(|field| field.role != Role::Schema) {
        let path = [part, field.name].concat();
        if field.role == Role::Part {
            found.extend(declared(field.fields, &format!("{path}.")));
        }
        found.insert(path, word(field));
    }
    found
}

#[test]
fn docs_journal_md_has_every_declared_field_with_its_type_and_no_other() {
    let events = [event::COMMON_FIELDS, event::FIELDS].concat();
    let tables: [(&str, &[Field]); 4] = [
        ("## Build rows", build::FIELDS[0].fields),
        ("## Terminal rows", Terminal::FIELDS),
        ("### Entries of `attempt_failures`", AttemptFailure::FIELDS),
        ("### Fields of events", &events),
    ];
    for (heading, fields) in tables {
        let mut documented = BTreeMap::new();
        for [cell, said, _] in table(heading) {
            let said = said.split(',').next().expect("a text has a beginning").trim_end_matches(" or null");
            documented.extend(names(cell).map(|name| (name.to_owned(), said)));
        }
        let declared = declared(fields, "");
        for (name, word) in &declared {
            let said = documented.get(name);
            assert_eq!(
                said,
                Some(word),
                "{heading}: what docs/journal.md says of `{name}`, and its declaration"
            );
        }
        for name in documented.keys() {
            assert!(declared.contains_key(name), "{heading}: `{name}` of docs/journal.md is not declared");
        }
    }
}

#[test]
fn docs_journal_md_has_every_declared_event_kind_with_its_clock_and_declared_fields() {
    let mut documented = BTreeMap::new();
    for [kinds, clock, fields] in table("## Event rows") {
        documented.extend(names(kinds).map(|kind| (kind, clock)));
        for field in names(fields) {
            let is_declared =
                event::COMMON_FIELDS.iter().chain(event::FIELDS).any(|known| known.name == field);
            assert!(is_declared, "{field} of {kinds} is not declared");
        }
    }
    for (kind, clock) in KINDS {
        let said = documented.remove(kind);
        assert_eq!(said, Some(clock.name()), "what docs/journal.md says of `{kind}`, and its declaration");
    }
    assert!(documented.is_empty(), "docs/journal.md has kinds that are not declared: {documented:?}");
}

#[test]
fn docs_journal_md_has_the_terminal_values() {
    let rows = table("## Terminal rows");
    let [_, _, notes] =
        rows.iter().find(|[cell, ..]| *cell == "`terminal`").expect("it has a row of its own");
    assert_eq!(names(notes).collect::<Vec<_>>(), TERMINALS);
}
