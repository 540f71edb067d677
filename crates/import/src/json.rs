//! JSON values: reading them, their members, and their canonical form.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The members of an object, in the order in which they stand.
pub type Object = Map<String, Value>;

/// The characters that make a text blank.
const BLANK: [char; 6] = ['\t', '\n', '\u{b}', '\u{c}', '\r', ' '];

/// Returns whether a text has nothing but U+0009 to U+000D and U+0020.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| BLANK.contains(&character))
}

/// Returns a text without blank characters at both ends.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(BLANK)
}

/// Reads all values of a text: a value, and objects and arrays after it.
///
/// # Errors
///
/// The values before the first syntax error, and the error.
pub fn parse_all(text: &str) -> Result<Vec<Value>, (Vec<Value>, serde_json::Error)> {
    read_all(text).or_else(|read| match with_lone_surrogates_replaced(text) {
        Some(mended) => read_all(&mended),
        None => Err(read),
    })
}

fn read_all(text: &str) -> Result<Vec<Value>, (Vec<Value>, serde_json::Error)> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(value) if values.is_empty() || value.is_object() || value.is_array() => {
                values.push(value);
            }
            Ok(_) => return Err((values, serde::de::Error::custom("trailing characters"))),
            Err(error) => return Err((values, error)),
        }
    }
    Ok(values)
}

/// Reads one value.
///
/// # Errors
///
/// The text is not JSON.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match with_lone_surrogates_replaced(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// Replaces escapes of lone surrogates, which `serde_json` refuses, by `\ufffd`, which is as long; `None`
/// if there are none.
fn with_lone_surrogates_replaced(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let escape = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()
    };
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        at += match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                let mended = mended.get_or_insert_with(|| bytes.to_vec());
                mended[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        if at >= bytes.len() {
            break;
        }
    }
    mended.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Returns the JSON that a string holds, and if that is a string again, what that one holds; any other
/// value as it is.
pub fn decoded(value: &Value) -> Cow<'_, Value> {
    fn inner(value: &Value) -> Option<Value> {
        let text = value.as_str()?;
        let first = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if !first.starts_with(['{', '[', '"']) {
            return None;
        }
        parse(text).ok()
    }
    match inner(value) {
        Some(once) => Cow::Owned(inner(&once).unwrap_or(once)),
        None => Cow::Borrowed(value),
    }
}

/// Returns the canonical form of a value (RFC 8785): sorted members, no white space, the numbers of
/// ECMAScript.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            out.push_str(ryu_js::Buffer::new().format(number));
        }
        Value::String(text) => write_string(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(element, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
    }
}

/// Writes a string as JSON; `serde_json` escapes what ECMAScript escapes.
fn write_string(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// Members of a value; a value that is no object has none.
pub trait Members {
    /// Returns a member that is there and not null.
    fn member(&self, name: &str) -> Option<&Value>;

    /// Returns the first of some members that is there and not null.
    fn first(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.member(name))
    }

    /// Returns a member that is a string.
    fn text(&self, name: &str) -> Option<&str> {
        self.member(name)?.as_str()
    }

    /// Returns a member that is a string and not blank. Ids and names count only so.
    fn name(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| !is_blank(text))
    }

    /// Returns the first of some members that is a string and not blank.
    fn first_name(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.name(name))
    }

    /// Returns a member that is an array.
    fn list(&self, name: &str) -> Option<&Vec<Value>> {
        self.member(name)?.as_array()
    }

    /// Returns a member that is an object.
    fn object(&self, name: &str) -> Option<&Object> {
        self.member(name)?.as_object()
    }

    /// Returns a member that is a boolean.
    fn flag(&self, name: &str) -> Option<bool> {
        self.member(name)?.as_bool()
    }
}

impl Members for Object {
    fn member(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }
}

impl Members for Value {
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.member(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parse_replaces_lone_surrogates() {
        for (text, expected) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""\udc00x""#, "\u{fffd}x"),
            (r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud800\ud800""#, "\\ud800\u{fffd}"),
        ] {
            assert_eq!(parse(text).unwrap(), json!(expected), "{text}");
        }
        assert!(parse(r#""\ud8"#).is_err());
    }

    #[test]
    fn parse_bounds_depth() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&nested(127)).is_ok());
        assert!(parse(&nested(128)).is_err());
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn canonical_sorts_by_utf16_and_writes_ecmascript_numbers() {
        let value = parse(
            "{\"\u{e000}\":1e21,\"😀\":-0.0,\"a\":[1.50,10000000000000000000],\"\":\"\\u001f\\n/\"}",
        );
        assert_eq!(
            canonical(&value.unwrap()),
            "{\"\":\"\\u001f\\n/\",\"a\":[1.5,10000000000000000000],\"😀\":0,\"\u{e000}\":1e+21}"
        );
    }

    #[test]
    fn decoded_opens_strings_twice() {
        let twice = json!("\"{\\\"a\\\":1}\"");
        assert_eq!(*decoded(&twice), json!({ "a": 1 }));
        assert_eq!(*decoded(&json!(" [1] x")), json!(" [1] x"));
        assert_eq!(*decoded(&json!("12")), json!("12"));
    }
}
