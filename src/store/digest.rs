//! The identity of what has no key of its own: a hash of its JSON value, not of its bytes.

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

/// Hashes a JSON value: keys sorted, nulls of objects dropped, numbers by their value.
pub(super) fn digest(value: &Value) -> String {
    fn write(value: &Value, bytes: &mut Vec<u8>) {
        match value {
            Value::Null => bytes.push(b'n'),
            Value::Bool(flag) => bytes.push(if *flag { b't' } else { b'f' }),
            Value::String(text) => write_text(text, bytes),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(int), _) => bytes.extend(format!("i{int};").into_bytes()),
                // 5 and 5.0 are the same value; beyond 2^53 a float is no exact integer anyway.
                (None, Some(real)) if real.fract() == 0.0 && real.abs() < 9e15 => {
                    bytes.extend(format!("i{};", real as i64).into_bytes());
                }
                (None, real) => {
                    bytes.push(b'r');
                    bytes.extend(real.unwrap_or(0.0).to_bits().to_le_bytes());
                }
            },
            Value::Array(items) => {
                bytes.push(b'[');
                items.iter().for_each(|item| write(item, bytes));
                bytes.push(b']');
            }
            Value::Object(members) => {
                bytes.push(b'{');
                for (key, member) in members.iter().filter(|(_, member)| !member.is_null()) {
                    write_text(key, bytes);
                    write(member, bytes);
                }
                bytes.push(b'}');
            }
        }
    }
    fn write_text(text: &str, bytes: &mut Vec<u8>) {
        bytes.extend(format!("s{}:", text.len()).into_bytes());
        bytes.extend(text.as_bytes());
    }
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    format!("{:032x}", xxh3_128(&bytes))
}
