//! Build rows: what a process says of itself when it opens the file.
//!
//! Read more leniently than terminals: a value of another type stays among what is not declared.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::declare::{Field, Role, Shape, leaves, take_leaf};
use super::object::Object;
use super::{SCHEMA, SCHEMA_VERSION};

/// The fields of a build row but its schema, in the order of the journal's writer.
pub const FIELDS: &[Field] = &[Field::with_fields(META, Shape::Part, Role::Part, META_FIELDS)];

const META: &str = "meta";

const META_FIELDS: &[Field] = &[
    // The package that wrote the journal, and its release.
    Field::new("package", Shape::Text, Role::Text),
    Field::new("version", Shape::Text, Role::Text),
    // Its commit; null from a wheel.
    Field::new("git", Shape::Text, Role::Text),
    // Digest of its source (`sha256:...`).
    Field::new("source", Shape::Text, Role::Text),
    // `token_ids` or `unavailable`.
    Field::new("token_accounting", Shape::Text, Role::Label),
    // 0.6 and later.
    Field::with_fields("admission", Shape::Part, Role::Part, ADMISSION_FIELDS),
];

const ADMISSION_FIELDS: &[Field] = &[
    Field::new("mode", Shape::Text, Role::Label),
    // A share of the TTFT target.
    Field::new("margin", Shape::Real, Role::Share),
];

/// What a process says of itself when it opens the file. It names no run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Build {
    /// The values of the [`leaves`] of [`FIELDS`], in their order; each of its field's shape.
    pub values: Vec<Option<Value>>,
    /// The rest of the row, in the row's own shape.
    pub extra: Object,
}

/// The build row of a `meta` object without its schema, and of what stood beside it.
pub(super) fn read_build(meta: Object, mut rest: Object) -> Build {
    rest.insert(META.to_owned(), Value::Object(meta));
    let take = |(parts, leaf): (Vec<&str>, &Field)| take_leaf(&mut rest, &parts, leaf);
    let values = leaves(FIELDS).into_iter().map(take).collect();
    if rest.get(META).and_then(Value::as_object).is_some_and(Object::is_empty) {
        rest.remove(META);
    }
    Build { values, extra: rest }
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
        let Build { values, extra } = self.0;
        let unknown = extra.get(META).and_then(Value::as_object);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(META, &Part { fields: META_FIELDS, values, unknown, is_whole: true })?;
        for (key, value) in extra.iter().filter(|(key, _)| *key != META) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// An object of declared fields, and what else stands in it.
struct Part<'b> {
    fields: &'static [Field],
    /// Those of its fields first; others may follow.
    values: &'b [Option<Value>],
    unknown: Option<&'b Object>,
    /// Whether it is the one that begins with the schema, and says of each text that it is null.
    is_whole: bool,
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unknown = |key: &str| self.unknown.and_then(|unknown| unknown.get(key));
        let mut map = serializer.serialize_map(None)?;
        if self.is_whole {
            map.serialize_entry("schema", SCHEMA)?;
            map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        }
        let mut rest = self.values;
        let mut parts = Vec::new();
        for field in self.fields {
            let values;
            (values, rest) =
                rest.split_at(if field.role == Role::Part { leaves(field.fields).len() } else { 1 });
            if field.role == Role::Part {
                let unknown = unknown(field.name).and_then(Value::as_object);
                if unknown.is_some() || values.iter().any(Option::is_some) {
                    parts.push(field.name);
                    map.serialize_entry(
                        field.name,
                        &Part { fields: field.fields, values, unknown, is_whole: false },
                    )?;
                }
            } else if values[0].is_some()
                || (self.is_whole && field.shape == Shape::Text && unknown(field.name).is_none())
            {
                map.serialize_entry(field.name, &values[0])?;
            }
        }
        for (key, value) in self.unknown.into_iter().flatten() {
            if !parts.contains(&key.as_str()) {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}
