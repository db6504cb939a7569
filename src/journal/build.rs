//! Build rows: what a process says of itself when it opens the file.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::object::{Object, take, take_real, take_text};
use super::{SCHEMA, SCHEMA_VERSION};

/// What a process says of itself when it opens the file. It names no run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Build {
    /// The package that wrote the journal.
    pub package: Option<String>,
    /// Its release.
    pub version: Option<String>,
    /// Its commit; null from a wheel.
    pub git: Option<String>,
    /// Digest of its source (`sha256:...`).
    pub source: Option<String>,
    /// `token_ids` or `unavailable`.
    pub token_accounting: Option<String>,
    /// Admission mode (0.6 and later).
    pub admission_mode: Option<String>,
    /// Admission margin, a share of the TTFT target (0.6 and later).
    pub admission_margin: Option<f64>,
    /// The rest of the row, in the row's own shape.
    pub extra: Object,
}

/// The build row of a `meta` object without its schema, and of what stood beside it.
pub(super) fn read_build(mut meta: Object, mut rest: Object) -> Build {
    let mut admission = take(&mut meta, "admission", |value| match value {
        Value::Object(admission) => Ok(admission),
        other => Err(other),
    });
    let build = Build {
        package: take_text(&mut meta, "package"),
        version: take_text(&mut meta, "version"),
        git: take_text(&mut meta, "git"),
        source: take_text(&mut meta, "source"),
        token_accounting: take_text(&mut meta, "token_accounting"),
        admission_mode: admission.as_mut().and_then(|object| take_text(object, "mode")),
        admission_margin: admission.as_mut().and_then(|object| take_real(object, "margin")),
        extra: Object::new(),
    };
    if let Some(admission) = admission {
        let emptied = build.admission_mode.is_some() || build.admission_margin.is_some();
        if !admission.is_empty() || !emptied {
            meta.insert("admission".to_owned(), Value::Object(admission));
        }
    }
    if !meta.is_empty() {
        rest.insert("meta".to_owned(), Value::Object(meta));
    }
    Build { extra: rest, ..build }
}

impl Build {
    /// The row as JSON, in the writer's order.
    pub fn to_json(&self) -> BuildJson<'_> {
        BuildJson(self)
    }
}

/// Serializes a [`Build`] as its row. See [`Build::to_json`].
#[derive(Debug)]
pub struct BuildJson<'b>(&'b Build);

impl Serialize for BuildJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Meta<'b>(&'b Build, Option<&'b Object>);
        impl Serialize for Meta<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self(build, unknown) = self;
                let mut unknown = unknown.cloned().unwrap_or_default();
                let mut admission = match unknown.remove("admission") {
                    Some(Value::Object(object)) => Some(object),
                    Some(other) => {
                        unknown.insert("admission".to_owned(), other);
                        None
                    }
                    None => None,
                };
                for (key, value) in [
                    ("mode", build.admission_mode.clone().map(Value::from)),
                    ("margin", build.admission_margin.map(Value::from)),
                ] {
                    if let Some(value) = value {
                        admission.get_or_insert_default().insert(key.to_owned(), value);
                    }
                }
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("schema", SCHEMA)?;
                map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
                for (key, value) in [
                    ("package", &build.package),
                    ("version", &build.version),
                    ("git", &build.git),
                    ("source", &build.source),
                    ("token_accounting", &build.token_accounting),
                ] {
                    // What is no text stands among the unknown members.
                    if value.is_some() || !unknown.contains_key(key) {
                        map.serialize_entry(key, value)?;
                    }
                }
                if let Some(admission) = admission {
                    map.serialize_entry("admission", &admission)?;
                }
                for (key, value) in &unknown {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
        let unknown = self.0.extra.get("meta").and_then(Value::as_object);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("meta", &Meta(self.0, unknown))?;
        for (key, value) in self.0.extra.iter().filter(|(key, _)| *key != "meta") {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
