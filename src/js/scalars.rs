//! Single values of options.

use std::ops::RangeInclusive;

use knowledgepulse_scoring::{Error, Invalid};
use napi::Result;

use super::{Value, thrown};

pub fn boolean(path: &str, value: &Value) -> Result<bool> {
    value.boolean().ok_or_else(|| invalid(path, "true or false", value))
}

pub fn string(path: &str, value: &Value) -> Result<String> {
    value.string().ok_or_else(|| invalid(path, "a string", value))
}

pub fn number_in(path: &str, value: &Value, range: RangeInclusive<f64>) -> Result<f64> {
    value.number().filter(|number| range.contains(number)).ok_or_else(|| {
        invalid(path, &format!("a number in [{}, {}]", range.start(), range.end()), value)
    })
}

/// Reads a whole number from 1 to `most`.
pub fn integer(path: &str, value: &Value, most: usize) -> Result<usize> {
    let fits = |number: &f64| (1.0..=most as f64).contains(number) && number.fract() == 0.0;
    value.number().filter(fits).map(|number| number as usize).ok_or_else(|| {
        let expected = match most {
            _ if most == u32::MAX as usize => "a positive integer".into(),
            _ => format!("an integer from 1 to {most}"),
        };
        invalid(path, &expected, value)
    })
}

/// Formats the names that an option may have: `"a", "b" or "c"`.
pub fn alternatives<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
    let (last, others) = names.split_last().expect("at least one name");
    format!("{} or {last}", others.join(", "))
}

/// Throws that `found` is not what is `expected`, as [`thrown`] does.
pub fn invalid(path: &str, expected: &str, found: &Value) -> napi::Error {
    let error = Error::invalid(Invalid::Option, path, expected, found.describe());
    thrown(&found.env(), error)
}
