//! JSON objects that are kept whole: what a typed row does not know.

use serde_json::{Map, Value};

/// A JSON object that is kept whole, keys sorted.
pub type Object = Map<String, Value>;

/// Drops null members, at any depth: absent and null mean the same.
pub(super) fn drop_nulls(object: &mut Object) {
    fn within(value: &mut Value) {
        match value {
            Value::Object(object) => drop_nulls(object),
            Value::Array(items) => items.iter_mut().for_each(within),
            _ => {}
        }
    }
    object.retain(|_, value| !value.is_null());
    object.values_mut().for_each(within);
}

/// Takes a member out of the object when it converts; one of another type stays.
pub(super) fn take<T>(
    object: &mut Object,
    key: &str,
    convert: impl Fn(Value) -> Result<T, Value>,
) -> Option<T> {
    match convert(object.remove(key)?) {
        Ok(taken) => Some(taken),
        Err(value) => {
            object.insert(key.to_owned(), value);
            None
        }
    }
}

/// Takes text out of the object; a value of another type stays.
pub(super) fn take_text(object: &mut Object, key: &str) -> Option<String> {
    take(object, key, |value| match value {
        Value::String(text) => Ok(text),
        other => Err(other),
    })
}

/// Takes a number out of the object; a value of another type stays, and so does a whole number that no float
/// equals, which would come back as another one.
pub(super) fn take_real(object: &mut Object, key: &str) -> Option<f64> {
    take(object, key, |value| match (value.as_i64(), value.as_f64()) {
        (Some(int), Some(real)) if real as i128 != i128::from(int) => Err(value),
        (_, real) => real.ok_or(value),
    })
}
