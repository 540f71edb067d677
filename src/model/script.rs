//! Scripts of texts: the built-in model has learned from English ones.

/// How many characters of a text are counted.
const MOST_CHARS: usize = 2048;

/// Returns the number of letters in the beginning of a text, and how many of them are not Latin.
pub fn count(text: &str) -> (usize, usize) {
    let letters = || text.chars().take(MOST_CHARS).filter(|c| c.is_alphabetic());
    (letters().count(), letters().filter(|c| !is_latin(*c)).count())
}

/// Whether a letter is Latin, full-width variants included.
fn is_latin(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{2af}'
            | '\u{1d00}'..='\u{1dbf}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a720}'..='\u{a7ff}'
            | '\u{ab30}'..='\u{ab6f}'
            | '\u{fb00}'..='\u{fb06}'
            | '\u{ff21}'..='\u{ff5a}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_tells_latin_letters_from_others() {
        for (text, expected) in [
            ("Fix the test, 42!", (10, 0)),
            ("¿Qué es la fotosíntesis?", (19, 0)),
            ("修复测试 in CI", (8, 4)),
            ("Исправить", (9, 9)),
            ("テスト", (3, 3)),
            ("테스트를", (4, 4)),
            ("", (0, 0)),
        ] {
            assert_eq!(count(text), expected, "{text:?}");
        }
    }
}
