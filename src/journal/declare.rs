//! How the rows of a journal are declared: each field once, with its type and its role.
//!
//! All that is done with every field comes from the declaration: reading, the journal written back, the walk
//! over values that are stored ([`Declared::give`], [`Declared::take`]), over texts ([`Declared::each_text`]) and
//! over what is not declared ([`Declared::unknown`]). Where values are stored is not known here.
//! docs/extending.md tells how a field is added.

use std::borrow::Cow;

use serde_json::Value;

use super::object::Object;

/// What a field is for. It decides what becomes of its text when a journal is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The contract that the row keeps to: the same in every row, and not stored.
    Schema,
    /// The router process. Stored once for all its rows.
    Run,
    /// A random id of the router's own.
    Identity,
    /// A word of the router.
    Label,
    /// An engine, or a list of engines.
    Engine,
    /// An object whose keys are engines.
    EngineKeys,
    /// What a caller named its request.
    Client,
    /// A host, or a list of hosts.
    Host,
    /// A user of the machines.
    User,
    /// Anything.
    Text,
    /// A point of time or a span, in seconds.
    Time,
    /// A number that counts, or measures something else.
    Count,
    /// A part of a whole.
    Share,
    /// Whether something is so.
    Flag,
    /// An object, kept whole.
    Members,
    /// An object whose fields are declared.
    Part,
    /// A list of objects whose fields are declared. Stored apart.
    Entries,
}

impl Role {
    /// Whether a value of this shape can have the role. Text has one that tells how to redact it.
    pub const fn fits(self, shape: Shape) -> bool {
        match shape {
            Shape::Text => matches!(
                self,
                Self::Schema
                    | Self::Run
                    | Self::Identity
                    | Self::Label
                    | Self::Engine
                    | Self::Client
                    | Self::Host
                    | Self::User
                    | Self::Text
            ),
            Shape::Int => matches!(self, Self::Count | Self::Schema),
            Shape::Real => matches!(self, Self::Time | Self::Share | Self::Count),
            Shape::Flag => matches!(self, Self::Flag),
            Shape::Object => matches!(self, Self::Members | Self::EngineKeys),
            Shape::Array => matches!(self, Self::Engine | Self::Host | Self::Text),
            Shape::Part => matches!(self, Self::Part),
            Shape::Entries => matches!(self, Self::Entries),
        }
    }

    /// Whether the field's value is stored with its row.
    pub const fn is_stored(self) -> bool {
        !matches!(self, Self::Schema | Self::Run | Self::Entries)
    }
}

/// What a field's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// A whole number of 64 bits.
    Int,
    /// A number.
    Real,
    /// True or false.
    Flag,
    /// A JSON object of any members.
    Object,
    /// A JSON array of any items.
    Array,
    /// An object of declared fields.
    Part,
    /// A list of them.
    Entries,
}

impl Shape {
    /// The value as the field holds it, or the value itself when it is of another shape. A number becomes a
    /// float where one equals it.
    ///
    /// # Errors
    /// The value, when the field cannot hold it.
    pub fn convert(self, value: Value) -> Result<Value, Value> {
        let fits = match (self, &value) {
            (Self::Text, Value::String(_))
            | (Self::Flag, Value::Bool(_))
            | (Self::Object | Self::Part, Value::Object(_))
            | (Self::Array | Self::Entries, Value::Array(_)) => true,
            (Self::Real, Value::Number(number)) => {
                return match (number.as_i64(), number.as_f64()) {
                    // A whole number that no float equals would come back as another one.
                    (Some(int), Some(real)) if real as i128 != i128::from(int) => Err(value),
                    (_, Some(real)) => Ok(real.into()),
                    (_, None) => Err(value),
                };
            }
            (Self::Int, Value::Number(number)) => {
                return match (number.as_i64(), number.as_f64().and_then(whole)) {
                    (Some(_), _) => Ok(value),
                    (None, Some(int)) => Ok(int.into()),
                    (None, None) => Err(value),
                };
            }
            _ => false,
        };
        if fits { Ok(value) } else { Err(value) }
    }
}

/// The integer that a float equals, if any.
pub(super) fn whole(real: f64) -> Option<i64> {
    (real.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&real)).then_some(real as i64)
}

/// The declaration of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its key in the journal.
    pub name: &'static str,
    /// What its value is.
    pub shape: Shape,
    /// What it is for.
    pub role: Role,
    /// The fields of a part or of each entry; none of others.
    pub fields: &'static [Field],
}

impl Field {
    /// A field without fields of its own. Fails where the role does not fit: in a constant, to compile.
    pub const fn new(name: &'static str, shape: Shape, role: Role) -> Self {
        Self::with_fields(name, shape, role, &[])
    }

    /// As [`Field::new`], of a part or of entries.
    pub const fn with_fields(name: &'static str, shape: Shape, role: Role, fields: &'static [Self]) -> Self {
        assert!(role.fits(shape), "the role does not fit what the field holds");
        Self { name, shape, role, fields }
    }
}

/// The stored fields of a declaration, in its order: what leads to each, and the field. Those of a part come one
/// by one.
pub fn leaves(fields: &'static [Field]) -> Vec<(Vec<&'static str>, &'static Field)> {
    let mut found = Vec::new();
    for field in fields.iter().filter(|field| field.role.is_stored()) {
        if field.role != Role::Part {
            found.push((Vec::new(), field));
            continue;
        }
        for (mut parts, leaf) in leaves(field.fields) {
            parts.insert(0, field.name);
            found.push((parts, leaf));
        }
    }
    found
}

/// Takes the value of a leaf out of what is kept whole, if it is of the leaf's shape; parts that this empties go.
pub fn take_leaf(object: &mut Object, parts: &[&str], leaf: &Field) -> Option<Value> {
    let Some((part, parts)) = parts.split_first() else {
        return match leaf.shape.convert(object.remove(leaf.name)?) {
            Ok(value) => Some(value),
            Err(value) => {
                object.insert(leaf.name.to_owned(), value);
                None
            }
        };
    };
    let Some(Value::Object(within)) = object.get_mut(*part) else { return None };
    let taken = take_leaf(within, parts, leaf)?;
    if within.is_empty() {
        object.remove(*part);
    }
    Some(taken)
}

/// Takes the values of a row one after the other, in the order of their declaration.
pub trait WriteValues {
    /// Why a value could not be taken.
    type Error;
    /// Takes what is absent or null.
    fn null(&mut self) -> Result<(), Self::Error>;
    /// Takes a whole number, or a flag as 0 or 1.
    fn int(&mut self, int: i64) -> Result<(), Self::Error>;
    /// Takes a number.
    fn real(&mut self, real: f64) -> Result<(), Self::Error>;
    /// Takes text.
    fn text(&mut self, text: &str) -> Result<(), Self::Error>;
    /// Takes an object.
    fn object(&mut self, object: &Object) -> Result<(), Self::Error>;
}

/// Gives the values of a row one after the other, in the order of their declaration; `None` for what is absent.
pub trait ReadValues {
    /// Why a value could not be given.
    type Error;
    /// Gives a whole number.
    fn int(&mut self) -> Result<Option<i64>, Self::Error>;
    /// Gives a number.
    fn real(&mut self) -> Result<Option<f64>, Self::Error>;
    /// Gives text.
    fn text(&mut self) -> Result<Option<String>, Self::Error>;
    /// Gives an object.
    fn object(&mut self) -> Result<Option<Object>, Self::Error>;
}

/// Is shown every text of a row, to change it.
pub trait EachText {
    /// A text that has a role.
    fn text(&mut self, role: Role, text: &mut Cow<'_, str>);
    /// The members of an object, keys included: of one that is kept whole, or those that are not declared.
    fn object(&mut self, role: Role, object: &mut Object);
}

/// A row, a part of one, or an entry: what is done with every declared field of it.
pub trait Declared: Default {
    /// The fields, in the order of the journal's writer.
    const FIELDS: &'static [Field];

    /// Gives the values of the fields that are stored with the row; those of a part one by one.
    ///
    /// # Errors
    /// When one cannot be taken.
    fn give<W: WriteValues>(&self, to: &mut W) -> Result<(), W::Error>;

    /// As many nulls as [`Declared::give`] gives values.
    ///
    /// # Errors
    /// When one cannot be taken.
    fn give_nothing<W: WriteValues>(to: &mut W) -> Result<(), W::Error>;

    /// The row of such values.
    ///
    /// # Errors
    /// When one cannot be given.
    fn take<R: ReadValues>(from: &mut R) -> Result<Self, R::Error>;

    /// Shows every text, those of parts and entries too.
    fn each_text(&mut self, texts: &mut impl EachText);

    /// Whether no declared field has a value.
    fn is_bare(&self) -> bool;

    /// What is not declared, in the row's own shape. A part without a declared value leaves its name here, so
    /// that it is not taken for an absent one. Entries keep their own.
    fn unknown(&self) -> Option<Object>;

    /// Takes back what [`Declared::unknown`] gave.
    fn set_unknown(&mut self, unknown: Object);

    /// Calls `take` with the path of every member that is not declared: what leads to it, and its key.
    fn each_unknown(&self, path: &str, take: &mut impl FnMut(&str, &str));
}
