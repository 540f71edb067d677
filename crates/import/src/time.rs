//! Times in logs.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::json::{Kind, Number, Value};

/// Returns the time in a text in UTC, truncated to milliseconds: `2026-01-31T12:00:00.000Z`. Returns `None` if it
/// is not a time. ISO 8601 without an offset is UTC. Digits are seconds, milliseconds, microseconds or nanoseconds,
/// depending on their number.
///
/// ```
/// use knowledgepulse_import::utc;
///
/// assert_eq!(utc("2026-01-31T13:00+01:00").as_deref(), Some("2026-01-31T12:00:00.000Z"));
/// assert_eq!(utc("yesterday"), None);
/// ```
pub fn utc_of_text(text: &str) -> Option<String> {
    of_string(text).filter(|time| *time >= FIRST).map(written)
}

/// Returns a time in UTC, truncated to milliseconds: `2026-01-31T12:00:00.000Z`. Returns `None` for anything else.
///
/// ISO 8601 without an offset is UTC. A number, or a string of digits, is in seconds below 1e11, in
/// milliseconds below 1e14, in microseconds below 1e17, else in nanoseconds. `[s, ns]` is an `hrtime`.
pub fn utc(value: Value) -> Option<String> {
    instant(value).map(written)
}

/// Returns a time as [`utc`] writes it.
pub fn written(time: Timestamp) -> String {
    // Rounded down, before 1970 as well.
    let beyond = time.as_nanosecond().rem_euclid(1_000_000);
    let cut = Timestamp::from_nanosecond(time.as_nanosecond() - beyond).unwrap_or(time);
    cut.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The first time that is written with a year of four digits.
const FIRST: Timestamp = Timestamp::constant(-62_167_219_200, 0);

/// Returns a time with all its digits; `None` where [`utc`] does.
pub fn instant(value: Value) -> Option<Timestamp> {
    read(value).filter(|time| *time >= FIRST)
}

fn read(value: Value) -> Option<Timestamp> {
    let nanoseconds = match value.kind() {
        Kind::String(text) => return of_string(text),
        Kind::Number(Number::Unsigned(integer)) => of_integer(integer.into()),
        Kind::Number(number) => of_fraction(number.as_f64())?,
        Kind::Array(pair) => {
            let mut pair = pair.iter();
            let (Some(seconds), Some(nanoseconds), None) = (pair.next(), pair.next(), pair.next())
            else {
                return None;
            };
            let nanoseconds = nanoseconds.as_integer().filter(|number| *number >= 0)?;
            seconds.as_integer()? * 1_000_000_000 + nanoseconds
        }
        Kind::Null | Kind::Bool(_) | Kind::Object(_) => return None,
    };
    Timestamp::from_nanosecond(nanoseconds).ok()
}

fn of_string(text: &str) -> Option<Timestamp> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Timestamp::from_nanosecond(of_integer(text.parse().ok()?)).ok();
    }
    let of_civil =
        || text.parse::<DateTime>()?.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
    text.parse().or_else(|_| of_civil()).ok()
}

fn of_integer(number: u128) -> i128 {
    let nanoseconds = match number {
        0..100_000_000_000 => number * 1_000_000_000,
        100_000_000_000..100_000_000_000_000 => number * 1_000_000,
        100_000_000_000_000..100_000_000_000_000_000 => number * 1000,
        _ => number,
    };
    i128::try_from(nanoseconds).unwrap_or(i128::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "casts from floats saturate")]
fn of_fraction(number: f64) -> Option<i128> {
    if number < 0.0 {
        return None;
    }
    let microseconds = match number {
        ..1e11 => number * 1e6,
        ..1e14 => number * 1e3,
        ..1e17 => number,
        _ => number / 1e3,
    };
    // Rounded first: 1.001 seconds are 1000.9999… milliseconds.
    (microseconds.round() as i128).checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::json::Document;

    fn utc(value: &serde_json::Value) -> Option<String> {
        super::utc(Document::parse(value.to_string()).unwrap().root())
    }

    #[test]
    fn utc_reads_all_notations() {
        for (value, expected) in [
            (json!("2025-06-14T11:00:00Z"), "2025-06-14T11:00:00.000Z"),
            (json!("2025-06-14T11:00:00.1239+02:00"), "2025-06-14T09:00:00.123Z"),
            (json!("2025-06-14 11:00:00.5"), "2025-06-14T11:00:00.500Z"),
            (json!("2025-06-14"), "2025-06-14T00:00:00.000Z"),
            (json!("1969-12-31T23:59:59.9999Z"), "1969-12-31T23:59:59.999Z"),
            (json!("0000-01-01"), "0000-01-01T00:00:00.000Z"),
            (json!(1_749_898_800), "2025-06-14T11:00:00.000Z"),
            (json!(1_749_898_800.001), "2025-06-14T11:00:00.001Z"),
            (json!(1_749_898_800_001_u64), "2025-06-14T11:00:00.001Z"),
            (json!("1749898800001999"), "2025-06-14T11:00:00.001Z"),
            (json!("1749898800001999999"), "2025-06-14T11:00:00.001Z"),
            (json!([1_749_898_800, 1_999_999]), "2025-06-14T11:00:00.001Z"),
        ] {
            assert_eq!(utc(&value).as_deref(), Some(expected), "{value}");
        }
        let before_year_0 = [json!("-000001-12-31T23:59:59Z"), json!([-62_167_219_201_i64, 0])];
        let no_times = [json!("yesterday"), json!(""), json!(-1), json!([1]), json!(null)];
        for value in before_year_0.into_iter().chain(no_times) {
            assert_eq!(utc(&value), None, "{value}");
        }
    }
}
