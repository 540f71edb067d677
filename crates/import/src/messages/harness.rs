//! What programs put into user messages, beside what a person wrote.

use crate::json::{BLANK, trimmed};

/// The program that keeps a conversation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Harness {
    /// Not known before the first message of a user.
    #[default]
    Unknown,
    /// Cline or Roo.
    Cline,
    Kimi,
    Other,
}

const DETAILS: &str = "<environment_details>";

/// The tags around what a person wrote in Cline.
const SAID: [&str; 4] = ["task", "feedback", "user_message", "answer"];

impl Harness {
    /// Returns the harness whose first user message has these texts.
    pub fn of(texts: &[String]) -> Self {
        let is_cline = texts.iter().any(|text| begins(text, &[DETAILS]));
        if is_cline { Self::Cline } else { Self::Other }
    }

    /// Returns what a person wrote in a text of a user message; `None` if nothing.
    pub fn said(self, text: String) -> Option<String> {
        let of_harness: &[&str] = match self {
            Self::Cline => &[DETAILS, "# task_progress", "[ERROR] You did not use a tool"],
            Self::Kimi => &["<system-reminder>", "<system>CHECKPOINT "],
            Self::Unknown | Self::Other => &[],
        };
        if begins(&text, of_harness) {
            return None;
        }
        let inside = |tag: &&str| {
            let begun = trimmed(&text).strip_prefix(&format!("<{tag}>"))?;
            begun.strip_suffix(&format!("</{tag}>")).map(|inside| trimmed(inside).to_owned())
        };
        let inside = if self == Self::Cline { SAID.iter().find_map(inside) } else { None };
        inside.or(Some(text))
    }

    /// Returns whether the text of a result says that the tool failed.
    pub fn has_failed(self, result: &str) -> bool {
        self.has_line(result, "The tool execution failed with the following error:")
    }

    /// Returns whether the text of a result says that a person refused the call.
    pub fn is_denied(self, result: &str) -> bool {
        self.has_line(result, "The user denied this operation")
    }

    fn has_line(self, result: &str, begin: &str) -> bool {
        self == Self::Cline && result.lines().any(|line| line.starts_with(begin))
    }
}

fn begins(text: &str, beginnings: &[&str]) -> bool {
    let text = text.trim_start_matches(BLANK);
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}
