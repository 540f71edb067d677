//! What programs put into user messages, beside what a person wrote.

use crate::{
    json::{BLANK, is_blank, trimmed},
    pattern::{Pattern, regex},
    skipped::Skipped,
    text::{elements, without},
};

/// The program that keeps a conversation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Harness {
    /// Not known before the first message of a user.
    #[default]
    Unknown,
    /// Cline or Roo.
    Cline,
    Kimi,
    /// OpenClaw, or Pi, on which it is built.
    OpenClaw,
    Other,
}

/// The beginning of the first message of a checkpoint of Gemini CLI.
pub const SETUP: &str = "This is the Gemini CLI. We are setting up the context";

/// What OpenClaw writes before a text: dates in brackets, and blocks of metadata.
static METADATA: Pattern = Pattern::new(|| {
    let date = r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [0-9]{4}-[0-9]{2}-[0-9]{2}[^\]\n]*\]";
    let block = r"[^\n]*\(untrusted metadata\):\n```json\n(?s:.*?)\n```";
    regex(&format!(r"^(?:\s*(?:{date}|{block}))+\s*"))
});

const DETAILS: &str = "<environment_details>";

/// The tags around what a person wrote in Cline.
const SAID: [&str; 4] = ["task", "feedback", "user_message", "answer"];

impl Harness {
    /// Returns the harness whose first user message has these texts.
    pub fn of(texts: &[String]) -> Self {
        let begin = [DETAILS, "<mode_notice>", "<user_input ", "<user_command "];
        let is_cline = texts.iter().any(|text| begins(text, &begin));
        if is_cline { Self::Cline } else { Self::Other }
    }

    /// Returns what a person wrote in a text of a user message; `None` if nothing. Counts other texts.
    pub fn said(self, mut text: String, skipped: &mut Skipped) -> Option<String> {
        let length = text.len();
        let beginnings: &[&str] = match self {
            Self::Cline => {
                text = of_cline(without(&["mode_notice"], text, "context", skipped));
                &[DETAILS, "# task_progress", "[ERROR] You did not use a tool"]
            }
            Self::Kimi => &["<system-reminder>", "<system>CHECKPOINT "],
            Self::OpenClaw => {
                let end = METADATA.find(&text).map_or(0, |found| found.end());
                text.drain(..end);
                skipped.add_many("context", u64::from(end > 0));
                &["A new session was started via /new", "Read HEARTBEAT.md if it exists"]
            }
            Self::Unknown | Self::Other => &[],
        };
        let is_of_harness = begins(&text, beginnings);
        skipped.add_many("context", is_of_harness.into());
        let is_gone = text.len() < length && is_blank(&text);
        (!is_of_harness && !is_gone).then_some(text)
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

/// Returns a text of Cline with what a person wrote in place of the tags around it.
fn of_cline(text: String) -> String {
    let inside = |tag: &&str| {
        let begun = trimmed(&text).strip_prefix(&format!("<{tag}>"))?;
        begun.strip_suffix(&format!("</{tag}>")).map(|inside| trimmed(inside).to_owned())
    };
    if let Some(inside) = SAID.iter().find_map(inside) {
        return inside;
    }
    let (mut said, mut end) = (String::new(), 0);
    for element in elements(&["user_input", "user_command"], &text) {
        said.extend([&text[end..element.place.start], element.inside]);
        end = element.place.end;
    }
    if end == 0 { text } else { trimmed(&(said + &text[end..])).into() }
}

fn begins(text: &str, beginnings: &[&str]) -> bool {
    let text = text.trim_start_matches(BLANK);
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}
