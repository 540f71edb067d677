//! Transcripts of Cursor's agent.
//!
//! | Cursor: agent transcripts (`.jsonl`), which seldom have results | a file | |
//!
//! - transcripts in the tests of agent-sessions | 651e854f | 2026-11-22 | captured

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    events::Event,
    format::{Format, open},
    json::{self, Members, Value},
    messages::content,
    pattern::regex,
    run::Run,
    sessions::{self, Sessions},
};

/// Cursor's placeholder for hidden text.
const REDACTED: &str = "[REDACTED]";

/// The text of the person, among that of Cursor.
static QUERY: LazyLock<Regex> = LazyLock::new(|| regex("(?s)<user_query>(.*?)</user_query>"));

pub const FORMAT: Format =
    Format { name: "cursor", domain: "code", fits, open: open::<Sessions<Session>> };

fn fits(record: Value) -> bool {
    matches!(record.text("role"), Some("user" | "assistant"))
        && record.object("message").has("content")
        && !record.has("type")
}

/// The one run of an input.
#[derive(Default)]
pub struct Session;

impl sessions::Session for Session {
    fn time(_record: Value<'_>) -> Option<Value<'_>> {
        None
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        let Some(message) = record.object("message").filter(|_| fits(record)) else {
            let kind = record.text("type").unwrap_or("?");
            return run.skipped.add(format!("record:{kind}"));
        };
        run.end_turn();
        if record.text("role") == Some("user") {
            let texts = run.read_user_parts(content(message));
            read_texts(&texts, run);
        } else {
            let begin = run.events.len();
            run.read_assistant(Some(message), content(message));
            let mut answer = run.events.split_off(begin);
            answer.retain_mut(|event| is_shown(event, run));
            run.events.extend(answer);
        }
    }
}

/// Removes placeholders of hidden text. Returns whether any text is left.
fn is_shown(event: &mut Event, run: &mut Run) -> bool {
    let Event::Thought { text, .. } = event else { return true };
    let count = text.matches(REDACTED).count();
    if count == 0 {
        return true;
    }
    run.skipped.add_many("redacted", count as u64);
    *text = text.replace(REDACTED, "");
    !json::is_blank(text)
}

fn read_texts(texts: &[String], run: &mut Run) {
    let mut queries = texts.iter().flat_map(|text| QUERY.captures_iter(text)).peekable();
    if queries.peek().is_some() {
        let inside = queries.filter_map(|query| Some(json::trimmed(query.get(1)?.as_str())));
        run.say_human(&inside.collect::<Vec<_>>());
        let is_context = |text: &&String| !json::is_blank(&*QUERY.replace_all(text, ""));
        run.skipped.add_many("context", texts.iter().filter(is_context).count() as u64);
    } else {
        run.say_human(texts);
    }
}
