//! The macro that declares a row, and what the value of a field must be able to do for it.

use super::declare::{Declared, EachText, Field, ReadValues, Role, Shape, WriteValues};
use super::fault::Fault;
use super::json::Reader;
use super::object::Object;

/// A row or a part of one, filled where it lies: a terminal is more than a kilobyte, and moving it costs.
pub(super) trait Fill<'a>: Default {
    /// Reads the object; `false` for null.
    fn fill(&mut self, reader: &mut Reader<'a>) -> Result<bool, Fault>;
}

/// A value that a field can hold, as it is read.
pub(super) trait Readable<'a>: Sized {
    /// Reads the value; `None` for null.
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault>;
}

impl<'a, T: Fill<'a>> Readable<'a> for T {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        let mut object = Self::default();
        Ok(object.fill(reader)?.then_some(object))
    }
}

/// A value that a field can hold: what [`Declared`] does with it.
pub(super) trait Holdable: Sized {
    /// What it is.
    const SHAPE: Shape;
    /// The fields it has of its own.
    const FIELDS: &'static [Field] = &[];

    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error>;
    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error>;
    fn each_text(&mut self, _role: Role, _texts: &mut impl EachText) {}
    fn unknown(&self) -> Option<Object> {
        None
    }
    /// Only of a part.
    fn set_unknown(_field: &mut Option<Self>, _unknown: Object) {}
    fn each_unknown(&self, _path: &str, _take: &mut impl FnMut(&str, &str)) {}
}

impl<T: Declared> Holdable for T {
    const SHAPE: Shape = Shape::Part;
    const FIELDS: &'static [Field] = T::FIELDS;

    #[inline(always)]
    fn give<W: WriteValues>(value: Option<&Self>, to: &mut W) -> Result<(), W::Error> {
        if let Some(part) = value { part.give(to) } else { T::give_nothing(to) }
    }

    fn take<R: ReadValues>(from: &mut R) -> Result<Option<Self>, R::Error> {
        let part = <T as Declared>::take(from)?;
        Ok((!part.is_bare()).then_some(part))
    }

    fn each_text(&mut self, _role: Role, texts: &mut impl EachText) {
        Declared::each_text(self, texts);
    }

    fn unknown(&self) -> Option<Object> {
        match Declared::unknown(self) {
            None if self.is_bare() => Some(Object::new()),
            unknown => unknown,
        }
    }

    fn set_unknown(field: &mut Option<Self>, unknown: Object) {
        Declared::set_unknown(field.get_or_insert_default(), unknown);
    }

    fn each_unknown(&self, path: &str, take: &mut impl FnMut(&str, &str)) {
        Declared::each_unknown(self, &format!("{path}."), take);
    }
}

/// Declares a row or a part of one: the struct, its reader, its JSON and its [`Declared`]. A field is
/// `name: type = Role`. The order is the writer's, which the reader expects first.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty = $role:ident,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name $(<$life>)? {
            $($(#[$field_doc])* pub $field: Option<$kind>,)*
            /// Fields without a place above, as they were read.
            pub extra: Object,
        }

        impl<'de $(: $life, $life: 'de)?> Fill<'de> for $name $(<$life>)? {
            fn fill(&mut self, reader: &mut Reader<'de>) -> Result<bool, Fault> {
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                if null_or(ValueKind::Object, reader)? {
                    return Ok(false);
                }
                reader.begin_object()?;
                // As a writer of this release or an older one has written it: every key that comes is
                // the next one, or a later one.
                let (mut seen, mut bit) = (0_u64, 1);
                $(
                    if reader.next_key_is(concat!(", \"", stringify!($field), "\": ")) {
                        self.$field = Readable::read(reader)
                            .map_err(|fault| fault.in_field(stringify!($field)))?;
                        seen |= bit;
                    }
                    bit <<= 1;
                )*
                let _ = bit;
                // What is left, in any order.
                let mut next = 0;
                while let Some(key) = reader.next_key()? {
                    let Some(at) = find(FIELDS, next, &key) else {
                        let value = reader.value()?;
                        if self.extra.contains_key(key.as_ref()) {
                            return Err(reader.twice(&key));
                        }
                        self.extra.insert(key.into_owned(), value);
                        continue;
                    };
                    if seen & (1 << at) != 0 {
                        return Err(reader.twice(FIELDS[at]));
                    }
                    seen |= 1 << at;
                    next = at + 1;
                    let mut index = 0;
                    $(
                        if at == index {
                            self.$field = Readable::read(reader)
                                .map_err(|fault| fault.in_field(stringify!($field)))?;
                            continue;
                        }
                        index += 1;
                    )*
                    let _ = index;
                }
                drop_nulls(&mut self.extra);
                Ok(true)
            }
        }

        impl $(<$life>)? Declared for $name $(<$life>)? {
            const FIELDS: &'static [Field] = &[$(Field::with_fields(
                stringify!($field),
                <$kind as Holdable>::SHAPE,
                Role::$role,
                <$kind as Holdable>::FIELDS,
            ),)*];

            #[inline]
            fn give<W: WriteValues>(&self, to: &mut W) -> Result<(), W::Error> {
                $(
                    if const { Role::$role.is_stored() } {
                        <$kind as Holdable>::give(self.$field.as_ref(), to)?;
                    }
                )*
                Ok(())
            }

            fn give_nothing<W: WriteValues>(to: &mut W) -> Result<(), W::Error> {
                $(
                    if const { Role::$role.is_stored() } {
                        <$kind as Holdable>::give(None, to)?;
                    }
                )*
                Ok(())
            }

            fn take<R: ReadValues>(from: &mut R) -> Result<Self, R::Error> {
                let mut row = Self::default();
                $(
                    if const { Role::$role.is_stored() } {
                        row.$field = <$kind as Holdable>::take(from)?;
                    }
                )*
                Ok(row)
            }

            fn each_text(&mut self, texts: &mut impl EachText) {
                $(
                    if let Some(value) = &mut self.$field {
                        Holdable::each_text(value, Role::$role, texts);
                    }
                )*
                texts.object(Role::Members, &mut self.extra);
            }

            fn is_bare(&self) -> bool {
                true $(&& self.$field.is_none())*
            }

            fn unknown(&self) -> Option<Object> {
                let mut unknown: Option<Object> = (!self.extra.is_empty()).then(|| self.extra.clone());
                $(
                    if let Some(of_part) = self.$field.as_ref().and_then(Holdable::unknown) {
                        let unknown = unknown.get_or_insert_default();
                        unknown.insert(stringify!($field).to_owned(), Value::Object(of_part));
                    }
                )*
                unknown
            }

            fn set_unknown(&mut self, mut unknown: Object) {
                $(
                    if const { matches!(Role::$role, Role::Part) }
                        && let Some(Value::Object(of_part)) = unknown.remove(stringify!($field))
                    {
                        <$kind as Holdable>::set_unknown(&mut self.$field, of_part);
                    }
                )*
                self.extra = unknown;
            }

            fn each_unknown(&self, path: &str, take: &mut impl FnMut(&str, &str)) {
                for key in self.extra.keys() {
                    take(path, key);
                }
                $(
                    if const { matches!(Role::$role, Role::Part | Role::Entries) }
                        && let Some(value) = &self.$field
                    {
                        Holdable::each_unknown(value, &[path, stringify!($field)].concat(), take);
                    }
                )*
            }
        }

        impl $(<$life>)? Serialize for $name $(<$life>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(
                    if let Some(value) = &self.$field {
                        map.serialize_entry(stringify!($field), value)?;
                    }
                )*
                for (key, value) in &self.extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    };
}
pub(super) use object;
