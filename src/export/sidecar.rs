//! `export.json`, beside what was exported: what each file is, of which call, and where its figures come from. Knows what
//! was written, not how.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::Item;
use crate::failure::Failure;
use crate::output::made::Made;
use crate::query::answer::ask;
use crate::query::run::Bound;
use crate::redact::Redactor;
use crate::selection::Selection;
use crate::store::schema;
use crate::text::PathText;

/// What was written of an item.
#[derive(Debug, Serialize)]
pub struct Written {
    /// `query`, `table` or `journal`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The file in the folder, or the sheet of the workbook.
    pub place: String,
    /// Its rows, the header not counted.
    pub rows: u64,
    /// The parameters that were bound; those not given are absent.
    pub parameters: Map<String, Json>,
    /// What it was asked of, as on the command line; nothing where nothing was chosen.
    pub selection: Vec<String>,
    /// The file's length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What `xxh128sum` gives of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xxh128: Option<String>,
}

impl Written {
    /// The account of an item.
    pub fn new(item: &Item, selection: &Selection, place: String, rows: u64, bound: &[Bound]) -> Self {
        use rusqlite::types::Value;
        let parameters = bound.iter().filter_map(|(name, value)| {
            let value = match value {
                Value::Text(text) => Json::from(text.as_str()),
                Value::Real(real) => Json::from(*real),
                Value::Integer(int) => Json::from(*int),
                Value::Null | Value::Blob(_) => return None,
            };
            Some((name[1..].to_owned(), value))
        });
        let kind = match item {
            Item::Journal => "journal",
            Item::Table(_) => "table",
            Item::Query(_) => "query",
        };
        let parameters = parameters.collect();
        let (name, selection) = (item.name().to_owned(), selection.flags.clone());
        Self { kind, name, place, rows, parameters, selection, bytes: None, xxh128: None }
    }

    /// Without the names in what the caller asked for: journals by `--source`, clients, and what texts hold.
    #[must_use]
    pub fn redacted(mut self, redactor: &Redactor) -> Self {
        for flag in &mut self.selection {
            if flag.starts_with("--source ") {
                *flag = "--source <path>".to_owned();
            }
        }
        for (name, value) in &mut self.parameters {
            if let Json::String(text) = value {
                *text = match name.as_str() {
                    "client" => redactor.client(text),
                    _ => redactor.text(text).into_owned(),
                };
            }
        }
        self
    }

    /// With what tells whether the file is still the same.
    pub fn as_made(self, made: Made) -> Self {
        Self { bytes: Some(made.bytes), xxh128: Some(made.digest_text()), ..self }
    }
}

/// `export.json`: where the figures of an export come from.
///
/// Of the latest call it says all; of each call before, which wrote something that still stands, it keeps what
/// that call said. Each file in `written` has the number of its call.
#[derive(Debug, Serialize)]
pub struct Sidecar {
    tool: &'static str,
    version: &'static str,
    schema: i64,
    exported_at: String,
    database: String,
    sources: Vec<Json>,
    runs: Vec<Json>,
    slos: Vec<Json>,
    call: u64,
    written: Vec<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Json>,
}

/// Its name in an export's folder.
pub const SIDECAR: &str = "export.json";

/// What earlier calls said of a folder.
#[derive(Debug, Default)]
pub struct Earlier(Map<String, Json>);

impl Earlier {
    /// What stands in the folder's `export.json`, if there is one.
    ///
    /// # Errors
    /// When it cannot be read or is none of ours: it is not replaced then.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(SIDECAR);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text.with_context(|| format!("cannot read {}", path.as_text()))?,
        };
        match serde_json::from_slice(&text) {
            Ok(Json::Object(said)) if said.get("tool") == Some(&TOOL.into()) && has_calls(&said) => {
                Ok(Self(said))
            }
            _ => Err(Failure::usage(format!(
                "{} is none that narwhal-jq wrote, or is damaged, and says where files beside it come from: \
                 move it away, or name another folder",
                path.as_text()
            ))
            .into()),
        }
    }

    fn call(&self) -> u64 {
        match self.0.get("call") {
            Some(call) => call.as_u64().unwrap_or(0),
            // One of the first release has one call, and no number for it.
            None => u64::from(!self.0.is_empty()),
        }
    }

    /// The files that still stand, but for those written now, each with its call.
    fn written(&self, now: &[Json]) -> Vec<Json> {
        let mut written = list(self.0.get("written"));
        for one in &mut written {
            if one.get("call").is_none() {
                one["place"] = place(one).into();
                one["call"] = self.call().into();
            }
        }
        written.retain(|one| now.iter().all(|now| now["place"] != one["place"]));
        written
    }

    /// The calls that wrote some of these files, the newest first.
    fn calls_of(mut self, written: &[Json]) -> Vec<Json> {
        let call = self.call();
        let earlier = list(self.0.remove("earlier").as_ref());
        self.0.remove("written");
        self.0.insert("call".to_owned(), call.into());
        let is_needed = |said: &Json| written.iter().any(|one| one["call"] == said["call"]);
        [Json::Object(self.0)].into_iter().chain(earlier).filter(is_needed).collect()
    }
}

/// Whether it has what a later call adds to.
fn has_calls(said: &Map<String, Json>) -> bool {
    let is_number = |call: Option<&Json>| call.is_none_or(Json::is_u64);
    let are_objects = |name: &str| {
        said.get(name).and_then(Json::as_array).is_some_and(|all| all.iter().all(Json::is_object))
    };
    is_number(said.get("call"))
        && are_objects("written")
        && (!said.contains_key("earlier") || are_objects("earlier"))
}

fn list(json: Option<&Json>) -> Vec<Json> {
    json.and_then(Json::as_array).cloned().unwrap_or_default()
}

/// Where a file of the first release lies in the folder.
fn place(written: &Json) -> String {
    let name = written["name"].as_str().unwrap_or_default();
    match written["kind"].as_str() {
        Some("journal") => "journal.jsonl".to_owned(),
        Some("table") => format!("tables/{name}.csv"),
        _ => format!("queries/{name}.csv"),
    }
}

/// Whether an `export.json` says that a file was written here, and as this.
pub fn names(path: &Path, made: &Made) -> bool {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return false };
    let Ok(Earlier(said)) = Earlier::read(folder) else { return false };
    list(said.get("written")).iter().any(|one| {
        one["place"].as_str().map(OsStr::new) == Some(name)
            && one["bytes"] == made.bytes
            && one["xxh128"] == made.digest_text()
    })
}

const TOOL: &str = env!("CARGO_PKG_NAME");

impl Sidecar {
    /// Leaves out where files lie, which can name hosts and users.
    pub fn hide_paths(&mut self) {
        self.database = "<path>".to_owned();
        for source in &mut self.sources {
            source["path"] = "<path>".into();
        }
    }

    /// The origin of what was written.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn new(
        connection: &mut Connection,
        selection: &Selection,
        database: String,
        written: &[Written],
        earlier: Earlier,
    ) -> Result<Self> {
        let call = earlier.call() + 1;
        let mut now = Vec::new();
        for one in written {
            let mut one = serde_json::to_value(one).map_err(io::Error::from)?;
            one["call"] = call.into();
            now.push(one);
        }
        let before = earlier.written(&now);
        let earlier = earlier.calls_of(&before);
        let written = [now, before].concat();
        let sources =
            objects(connection, "select path, offset_bytes, lines from sources order by source_id")?;
        let slos = objects(connection, crate::store::slos::LIST)?;
        let runs = ask(connection, "runs", selection, |_| None)?
            .rows()
            .map(|row| {
                serde_json::json!({
                    "run": row.text("run"),
                    "version": row.known_text("version"),
                    "source": row.known_text("source"),
                    "build_certainty": row.text("build_certainty"),
                    "terminals": row.int("terminals"),
                    "events": row.int("events"),
                })
            })
            .collect();
        Ok(Self {
            tool: TOOL,
            version: env!("CARGO_PKG_VERSION"),
            schema: schema::LATEST,
            exported_at: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            database,
            sources,
            runs,
            slos,
            call,
            written,
            earlier,
        })
    }
}

/// The rows of a statement as JSON objects.
fn objects(connection: &Connection, sql: &str) -> Result<Vec<Json>> {
    let mut statement = connection.prepare(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let mut object = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                rusqlite::types::ValueRef::Integer(int) => int.into(),
                rusqlite::types::ValueRef::Real(real) => real.into(),
                _ => Json::Null,
            };
            object.insert(name.clone(), value);
        }
        Ok(Json::Object(object))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
