//! One row of a journal, of whichever kind: told apart, checked for its schema and its identity.
//! Whether a row was seen before is not known here.

use serde_json::Value;

use super::build::{Build, read_build};
use super::define::Fill;
use super::event::{Event, read_event};
use super::fault::{Fault, Repair};
use super::json::{Reader, ValueKind};
use super::object::Object;
use super::terminal::Terminal;
use super::{SCHEMA, SCHEMA_VERSION};

/// One row of a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Row<'a> {
    /// The row a process writes when it opens the file.
    Build(Build),
    /// A client request and how it ended.
    Terminal(Box<Terminal<'a>>),
    /// Something that happened to the router.
    Event(Event),
}

/// What stands at a place of a line.
#[derive(Debug)]
pub struct Reading<'a> {
    /// The row, or why the value there is none.
    pub row: Result<Row<'a>, String>,
    /// The byte after the value and the blanks after it.
    pub end: usize,
    /// What was mended in it.
    pub repairs: Vec<Repair>,
}

/// Reads the row that begins at byte `pos` of `text`.
///
/// # Errors
/// When no whole JSON value begins there. A whole value that is no row is not an error but a
/// [`Reading`] with a reason.
pub fn read_row(text: &str, pos: usize) -> Result<Reading<'_>, Fault> {
    let mut reader = Reader::new(text, pos);
    let mut misfit = None;
    if reader.peek()? == ValueKind::Object {
        let mut terminal = Box::<Terminal<'_>>::default();
        match terminal.fill(&mut reader) {
            Ok(true) if terminal.terminal.is_some() => {
                let row = check_terminal(terminal);
                let end = reader.position_after_blanks();
                return Ok(Reading { row, end, repairs: reader.repairs });
            }
            Ok(_) => {}
            Err(Fault::Shape { path, why }) => misfit = Some(format!("{path} {why}")),
            Err(syntax) => return Err(syntax),
        }
        reader = Reader::new(text, pos);
    }
    let value = reader.value()?;
    let row = match value {
        Value::Object(row) => read_untyped(row, misfit),
        _ => Err("not a JSON object".to_owned()),
    };
    Ok(Reading { row, end: reader.position_after_blanks(), repairs: reader.repairs })
}

/// Builds and events, and the reason of what is no row. `misfit` says why the object could not be
/// read as a terminal, if it was one.
fn read_untyped<'a>(mut row: Object, misfit: Option<String>) -> Result<Row<'a>, String> {
    row.retain(|_, value| !value.is_null());
    let has = |key: &str| row.contains_key(key);
    let is_build = has("meta") && !has("terminal") && !has("event");
    if is_build {
        let Some(Value::Object(mut meta)) = row.remove("meta") else {
            return Err("`meta` is not an object".to_owned());
        };
        meta.retain(|_, value| !value.is_null());
        check_schema(&mut meta, "a build row")?;
        return Ok(Row::Build(read_build(meta, row)));
    }
    check_schema(&mut row, "a row")?;
    if row.contains_key("terminal") {
        return Err(misfit.unwrap_or_else(|| "`terminal` is not text".to_owned()));
    }
    match row.remove("event") {
        Some(Value::String(event)) => read_event(event, row).map(Row::Event),
        Some(_) => Err("`event` is not text".to_owned()),
        None => Err("neither a build, a terminal nor an event".to_owned()),
    }
}

fn check_schema(row: &mut Object, what: &str) -> Result<(), String> {
    match row.remove("schema") {
        None => {
            return Err(format!("no schema: {what} of a release before 0.2, or of no journal"));
        }
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(other) => return Err(format!("foreign schema {}", shown(&other))),
    }
    match row.remove("schema_version") {
        Some(Value::Number(version)) if version.as_f64() == Some(SCHEMA_VERSION as f64) => Ok(()),
        Some(other) => Err(format!("unknown schema_version {}", shown(&other))),
        None => Err("no schema_version".to_owned()),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain("...".chars()).collect() }
}

fn check_terminal(terminal: Box<Terminal<'_>>) -> Result<Row<'_>, String> {
    match terminal.schema.as_deref() {
        Some(SCHEMA) => {}
        None => return Err("no schema: a row of a release before 0.2, or of no journal".to_owned()),
        Some(other) => return Err(format!("foreign schema {}", shown(&other.into()))),
    }
    match terminal.schema_version {
        Some(SCHEMA_VERSION) => {}
        Some(other) => return Err(format!("unknown schema_version {other}")),
        None => return Err("no schema_version".to_owned()),
    }
    for (name, absent) in [
        ("run", terminal.run.is_none()),
        ("rid", terminal.rid.is_none()),
        ("arrived", terminal.arrived.is_none()),
    ] {
        if absent {
            return Err(format!("no identity: `{name}` is absent, null or not finite"));
        }
    }
    Ok(Row::Terminal(terminal))
}
