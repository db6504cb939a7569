//! What the fields of a declared row can hold: how each is read, and what is done with it.

use std::borrow::Cow;

use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use super::declare::{Declared, EachText, Field, ReadValues, Role, Shape, WriteValues, whole};
use super::define::{Holdable, Readable};
use super::fault::Fault;
use super::json::{Numeral, Reader, ValueKind};
use super::object::{Object, drop_nulls};
use super::terminal::AttemptFailure;

/// Engine id to cached tokens, keys sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CachedTokens(pub Object);

impl CachedTokens {
    /// The largest entry, in tokens; `None` when there is none.
    pub fn largest(&self) -> Option<i64> {
        self.0.values().filter_map(Value::as_i64).max()
    }
}

impl Serialize for CachedTokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Consumes a null; otherwise the next value must be of `wanted` kind.
#[inline(always)]
pub(super) fn null_or(wanted: ValueKind, reader: &mut Reader<'_>) -> Result<bool, Fault> {
    if reader.begins(wanted) {
        return Ok(false);
    }
    if reader.begins(ValueKind::Null) {
        return reader.null().map(|()| true);
    }
    null_or_not(wanted, reader)
}

/// As [`null_or`], for a value whose first byte does not tell, or tells that it does not fit.
#[cold]
fn null_or_not(wanted: ValueKind, reader: &mut Reader<'_>) -> Result<bool, Fault> {
    match reader.peek()? {
        ValueKind::Null => reader.null().map(|()| true),
        kind if kind == wanted => Ok(false),
        kind => Err(holds(kind, wanted.name())),
    }
}

fn holds(found: ValueKind, wanted: &str) -> Fault {
    misfit(format!("holds {}, not {wanted}", found.name()))
}

fn misfit(why: String) -> Fault {
    Fault::Shape { path: String::new(), why }
}

/// The index of `key`, tried first where the writer's order puts it.
#[inline]
pub(super) fn find(fields: &[&str], next: usize, key: &str) -> Option<usize> {
    let (before, after) = fields.split_at(next);
    after
        .iter()
        .position(|field| *field == key)
        .map(|at| next + at)
        .or_else(|| before.iter().position(|field| *field == key))
}

impl<'a> Readable<'a> for Cow<'a, str> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Text, reader)? { Ok(None) } else { reader.string().map(Some) }
    }
}

impl<'a> Readable<'a> for bool {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Flag, reader)? { Ok(None) } else { reader.flag().map(Some) }
    }
}

impl<'a> Readable<'a> for f64 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Number, reader)? {
            return Ok(None);
        }
        match reader.number()? {
            None => Ok(None),
            Some(Numeral::Real(real)) => Ok(Some(real)),
            Some(Numeral::Int(int)) => {
                let real = int as f64;
                // A whole number that a float cannot hold would come back as another one.
                if real as i128 == i128::from(int) {
                    Ok(Some(real))
                } else {
                    Err(misfit(format!("holds {int}, which no float equals")))
                }
            }
        }
    }
}

impl<'a> Readable<'a> for i64 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Number, reader)? {
            return Ok(None);
        }
        match reader.number()? {
            None => Ok(None),
            Some(Numeral::Int(int)) => Ok(Some(int)),
            Some(Numeral::Real(real)) => whole(real)
                .map(Some)
                .ok_or_else(|| misfit(format!("holds {real}, not an integer of 64 bits signed"))),
        }
    }
}

impl<'a> Readable<'a> for Object {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Object, reader)? {
            return Ok(None);
        }
        let mut object = reader.object()?;
        drop_nulls(&mut object);
        Ok(Some(object))
    }
}

impl<'a> Readable<'a> for CachedTokens {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Object, reader)? {
            return Ok(None);
        }
        let mut tokens = Object::new();
        reader.begin_object()?;
        while let Some(engine) = reader.next_key()? {
            let count = <Option<i64>>::read_in(reader, &engine)?;
            if tokens.contains_key(engine.as_ref()) {
                return Err(reader.twice(&engine));
            }
            tokens.insert(engine.into_owned(), count.map_or(Value::Null, Value::from));
        }
        drop_nulls(&mut tokens);
        Ok(Some(Self(tokens)))
    }
}

/// Reads the value of a member whose key is data.
trait ReadIn<'a>: Sized {
    fn read_in(reader: &mut Reader<'a>, key: &str) -> Result<Self, Fault>;
}

impl<'a> ReadIn<'a> for Option<i64> {
    fn read_in(reader: &mut Reader<'a>, key: &str) -> Result<Self, Fault> {
        i64::read(reader).map_err(|fault| fault.in_field(&format!("[{key:?}]")))
    }
}

impl<'a> Readable<'a> for Vec<AttemptFailure<'a>> {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(ValueKind::Array, reader)? {
            return Ok(None);
        }
        let mut entries = Vec::new();
        reader.begin_array()?;
        while reader.next_element()? {
            let entry = AttemptFailure::read(reader)
                .and_then(|entry| entry.ok_or_else(|| holds(ValueKind::Null, "an object")));
            entries.push(entry.map_err(|fault| fault.in_field(&format!("[{}]", entries.len())))?);
        }
        Ok(Some(entries))
    }
}

impl Holdable for Cow<'_, str> {
    const SHAPE: Shape = Shape::Text;

    #[inline(always)]
    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        if let Some(text) = value { to.text(text) } else { to.null() }
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        Ok(from.text()?.map(Cow::Owned))
    }

    fn each_text(&mut self, role: Role, texts: &mut impl EachText) {
        texts.text(role, self);
    }
}

impl Holdable for i64 {
    const SHAPE: Shape = Shape::Int;

    #[inline(always)]
    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        if let Some(int) = value { to.int(*int) } else { to.null() }
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        from.int()
    }
}

impl Holdable for bool {
    const SHAPE: Shape = Shape::Flag;

    #[inline(always)]
    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        if let Some(flag) = value { to.int(i64::from(*flag)) } else { to.null() }
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        Ok(from.int()?.map(|flag| flag != 0))
    }
}

impl Holdable for f64 {
    const SHAPE: Shape = Shape::Real;

    #[inline(always)]
    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        if let Some(real) = value { to.real(*real) } else { to.null() }
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        from.real()
    }
}

impl Holdable for Object {
    const SHAPE: Shape = Shape::Object;

    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        if let Some(object) = value { to.object(object) } else { to.null() }
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        from.object()
    }

    fn each_text(&mut self, role: Role, texts: &mut impl EachText) {
        texts.object(role, self);
    }
}

impl Holdable for CachedTokens {
    const SHAPE: Shape = Shape::Object;

    #[inline]
    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        Object::give(value.map(|tokens| &tokens.0), to)
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        Ok(from.object()?.map(Self))
    }

    fn each_text(&mut self, role: Role, texts: &mut impl EachText) {
        texts.object(role, &mut self.0);
    }
}

impl Holdable for Vec<AttemptFailure<'_>> {
    const SHAPE: Shape = Shape::Entries;
    const FIELDS: &'static [Field] = <AttemptFailure<'_> as Declared>::FIELDS;

    /// Nothing: entries are stored apart.
    fn give<W: WriteValues>(_value: Option<&Self>, _to: &mut W) -> Result<(), W::Error> {
        Ok(())
    }

    fn take<R: ReadValues>(_from: &mut R) -> Result<Option<Self>, R::Error> {
        Ok(None)
    }

    fn each_text(&mut self, _role: Role, texts: &mut impl EachText) {
        self.iter_mut().for_each(|entry| Declared::each_text(entry, texts));
    }

    fn each_unknown(&self, path: &str, take: &mut impl FnMut(&str, &str)) {
        let path = format!("{path}[].");
        self.iter().for_each(|entry| Declared::each_unknown(entry, &path, take));
    }
}
