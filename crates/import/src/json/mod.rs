//! JSON: texts of it in a compact form, and what the values in them are.

mod document;
mod trace;
mod value;

use std::{fmt, io};

pub use document::{Document, MAX_TEXT, Unread, grow};
pub use value::{Array, Kind, Members, Number, Value};

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

/// A text that grows in small steps, as it may be nearly as long as all that there is room for.
#[derive(Default)]
pub struct Text(Vec<u8>);

impl Text {
    pub fn into_string(mut self) -> String {
        self.0.shrink_to_fit();
        String::from_utf8(self.0).unwrap_or_default()
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !grow(&mut self.0, text.len()) {
            return Err(fmt::Error);
        }
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Writes a string as JSON, with the escapes that ECMAScript writes.
///
/// # Errors
///
/// Those of `out`.
pub fn write_string(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    /// Takes the pieces of a text, which `serde_json` never cuts inside of a character.
    struct Pieces<'a, W>(&'a mut W);
    impl<W: fmt::Write> io::Write for Pieces<'_, W> {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
            self.0.write_str(text).map_err(io::Error::other)?;
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Pieces(out), text).map_err(|_| fmt::Error)
}

/// Returns a string as JSON.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    // A string takes everything.
    let _ = write_string(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use knowledgepulse_tasks::CancelToken;

    use super::*;

    fn parse(text: &str) -> Document<'_> {
        Document::parse(text).unwrap()
    }

    #[test]
    fn document_replaces_lone_surrogates() {
        for (text, expected) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""\udc00x""#, "\u{fffd}x"),
            (r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud800\ud800""#, "\\ud800\u{fffd}"),
        ] {
            assert_eq!(parse(text).root().as_str(), Some(expected), "{text}");
        }
        assert!(Document::parse(r#""\ud8"#).is_err());
    }

    #[test]
    fn document_bounds_depth() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Document::parse(nested(127)).is_ok());
        assert!(Document::parse(nested(128)).is_err());
        assert!(Document::parse("[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn document_keeps_all_numbers() {
        let text = "[0,268435455,268435456,4294967296,18446744073709551615,-1,-9223372036854775808,0.5,1e+300]";
        assert_eq!(parse(text).root().to_string(), text);
        assert_eq!(parse("-1").root().as_i64(), Some(-1));
        assert_eq!(parse("1.0").root().as_u64(), None);
    }

    #[test]
    fn document_reads_all_values_of_a_line() {
        let cancel = CancelToken::default();
        let (document, error) = Document::parse_all(r#"1 {"a":2}[3]"#, &cancel);
        let values: Vec<_> = document.roots().map(|value| value.to_string()).collect();
        assert_eq!(values, ["1", r#"{"a":2}"#, "[3]"]);
        assert!(error.is_none());
        let (document, error) = Document::parse_all("[1]2", &cancel);
        assert_eq!(document.roots().count(), 1);
        assert!(matches!(error, Some(Unread::Syntax(_))));
    }

    #[test]
    fn document_ends_when_it_is_cancelled() {
        let cancel = CancelToken::default();
        cancel.cancel();
        let text = format!("[{}0]", "0,".repeat(100_000));
        assert!(matches!(Document::parse_until(&text, &cancel), Err(Unread::Cancelled)));
    }

    #[test]
    fn document_takes_less_than_five_bytes_a_byte() {
        for element in ["0", "{}", "[]", "\"\"", "{\"\":0}", "\"\\n\"", "0.5", "null", "[[]]"] {
            let text = format!("[{}0]", format!("{element},").repeat(10_000));
            let bytes = parse(&text).memory();
            assert!(bytes < 5 * text.len(), "{element}: {bytes} bytes for {}", text.len());
        }
    }

    #[test]
    fn value_finds_the_last_member_of_a_name() {
        let document = parse(r#"{"a":1,"b":{"a":2},"a":[{"c":null}]}"#);
        let root = document.root();
        assert_eq!(root.get("a").unwrap().to_string(), r#"[{"c":null}]"#);
        assert_eq!(root.pointer("/b/a").unwrap().as_u64(), Some(2));
        assert!(root.pointer("/a/0/c").unwrap().is_null());
        assert!(root.pointer("/a/00/c").is_none() && root.pointer("a").is_none());
        assert_eq!(root.count(100), 12);
        assert_eq!(root.count(3), 3);
    }

    #[test]
    fn canonical_sorts_by_utf16_and_writes_ecmascript_numbers() {
        let text = "{\"\u{e000}\":1e21,\"😀\":-0.0,\"a\":0,\"a\":[1.50,10000000000000000000],\"\":\"\\u001f\\n/\"}";
        assert_eq!(
            parse(text).root().canonical(),
            "{\"\":\"\\u001f\\n/\",\"a\":[1.5,10000000000000000000],\"😀\":0,\"\u{e000}\":1e+21}"
        );
    }

    #[test]
    fn decoded_opens_strings_twice() {
        for (text, expected) in [
            (r#""\"{\\\"a\\\":1}\"""#, r#"{"a":1}"#),
            (r#"" [1] x""#, r#"" [1] x""#),
            (r#""12""#, r#""12""#),
        ] {
            assert_eq!(parse(text).root().decoded().to_string(), expected);
        }
    }
}
