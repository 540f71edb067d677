//! Times in logs.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::json::{Kind, Value};

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
    of_text(text).map(written)
}

/// Returns a time as [`utc_of_text`] does. A number is read like digits, and `[s, ns]` as an `hrtime`.
pub fn utc(value: Value) -> Option<String> {
    instant(value).map(written)
}

/// Returns a time as [`utc`] writes it.
pub fn written(time: Timestamp) -> String {
    // Rounded down, before 1970 as well.
    format!("{time:.3}")
}

/// Returns a time with all its digits; `None` where [`utc`] does.
pub fn instant(value: Value) -> Option<Timestamp> {
    let nanoseconds = match value.kind() {
        Kind::String(text) => return of_text(text),
        Kind::Number(number) => match number.as_u64() {
            Some(integer) => of_integer(integer.into()),
            None => of_fraction(number.as_f64()?)?,
        },
        Kind::Array(pair) => {
            let [seconds, nanoseconds] = pair.take(3).collect::<Vec<_>>()[..] else { return None };
            let nanoseconds = nanoseconds.as_integer().filter(|number| *number >= 0)?;
            seconds.as_integer()? * 1_000_000_000 + nanoseconds
        }
        Kind::Null | Kind::Bool(_) | Kind::Object(_) => return None,
    };
    from_year_0(Timestamp::from_nanosecond(nanoseconds))
}

fn of_text(text: &str) -> Option<Timestamp> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Timestamp::from_nanosecond(of_integer(text.parse().ok()?)).ok();
    }
    // As some SDKs write `time.time()`.
    let is_fraction = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(is_fraction)
        && let Ok(number) = text.parse()
    {
        return from_year_0(Timestamp::from_nanosecond(of_fraction(number)?));
    }
    let of_civil =
        || text.parse::<DateTime>()?.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
    from_year_0(text.parse().or_else(|_| of_civil()))
}

/// Returns the time; `None` if it is before the year 0.
fn from_year_0(time: Result<Timestamp, jiff::Error>) -> Option<Timestamp> {
    /// 0000-01-01, the first time that is written with a year of four digits.
    const FIRST: Timestamp = Timestamp::constant(-62_167_219_200, 0);
    time.ok().filter(|time| *time >= FIRST)
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
    let microseconds = match number {
        ..0.0 => return None,
        ..1e11 => number * 1e6,
        ..1e14 => number * 1e3,
        ..1e17 => number,
        _ => number / 1e3,
    };
    // Rounded first: 1.001 seconds are 1000.9999… milliseconds.
    (microseconds.round() as i128).checked_mul(1000)
}
