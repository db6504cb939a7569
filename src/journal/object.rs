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
