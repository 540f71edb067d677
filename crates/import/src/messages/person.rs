//! What a person wrote in a message of the user, and what programs wrote there.

use std::mem;

use super::Conversation;
use crate::{
    call::ToolResult,
    events::Event,
    harness::{AGENTS, Act, Harness, Words, begins},
    json::{Members, Value, is_blank, trimmed},
    part::parts,
    pattern::{Pattern, regex},
    provenance::Origin,
    skipped::Skipped,
    text::{elements, replaced, without},
};

impl Conversation {
    /// Tells the program by what it says to the model first.
    pub fn tell_by(&mut self, system: Option<Value>) {
        if self.harness == Harness::Unknown {
            let texts = parts(system).filter_map(|(_, part)| part.as_str().or(part.text("text")));
            self.harness = Harness::of(texts).unwrap_or_default();
        }
    }

    /// Adds what a person wrote in the texts of a user message as one event, and counts the rest.
    pub fn read_texts(&mut self, texts: Vec<String>) {
        if self.harness == Harness::Unknown && !texts.is_empty() {
            let told = Harness::of(texts.iter().map(String::as_str));
            self.harness = told.unwrap_or(Harness::Other);
        }
        let words = self.harness.words();
        let is_inside = |text: &String| elements(words.inside, text).next().is_some();
        let has_inside = !words.inside.is_empty() && texts.iter().any(is_inside);
        let is_codex = self.harness == Harness::Codex;
        let counted = if is_codex { mem::take(&mut self.skipped) } else { Skipped::default() };
        let mut said = Vec::new();
        for (index, text) in texts.into_iter().enumerate() {
            if has_inside {
                said.extend(joined_inside(words.inside, &text, "\n"));
                let (rest, _) = replaced(words.inside, text, |_| "");
                self.skipped.add_many("context", (!is_blank(&rest)).into());
            } else {
                let is_first = index == 0 && self.events.is_empty();
                said.extend(self.of_person(text, words, is_first));
            }
        }
        if is_codex {
            // A message counts once.
            let has_others = self.skipped != Skipped::default();
            let (text, has_context) = of_editor(said);
            said = Vec::from_iter(text);
            self.skipped = counted;
            self.skipped.add_many("context", (has_context || has_others).into());
        }
        self.say_human(&said);
    }

    /// Returns what a person wrote in a text, if anything.
    fn of_person(&mut self, text: String, words: &Words, is_first: bool) -> Option<String> {
        let length = text.len();
        let mut text = without(words.cut.0, text, words.cut.1, &mut self.skipped);
        if let Some(prefix) = words.prefix.and_then(|prefix| prefix.find(&text)) {
            let end = prefix.end();
            text.drain(..end);
            self.skipped.add("context");
        }
        if self.harness == Harness::Cline {
            text = of_cline(text);
        }
        if text.len() < length {
            text = trimmed(&text).into();
            if text.is_empty() {
                return None;
            }
        }
        let is_begun = |(all, _): &&(&[&str], _)| all.iter().any(|begin| begins(&text, begin));
        let Some((_, act)) = words.begin.iter().find(is_begun) else { return Some(text) };
        match act {
            Act::Skip(reason) => self.skipped.add(*reason),
            Act::Typed(reason) => {
                self.skipped.add(*reason);
                self.facts.collected.is_person = true;
            }
            Act::Command => self.note_command(&text),
            Act::Summary => self.note_summary(text),
            Act::Inside(tag) => return joined_inside(&[tag], &text, "\n").or(Some(text)),
            Act::Task => match joined_inside(AGENTS, &text, "\n").filter(|_| is_first) {
                Some(task) => {
                    self.facts.collected.of_agents += 1;
                    return Some(task);
                }
                None => self.notice(text),
            },
            Act::Notice => self.notice(text),
        }
        None
    }

    /// Notes a command, which is the objective if nobody says anything before it is answered, as it is typed.
    fn note_command(&mut self, text: &str) {
        self.skipped.add("command");
        self.facts.collected.is_person = true;
        if self.is_asked {
            return;
        }
        let command = joined_inside(&["command-name", "command-args"], text, " ");
        let is_known = matches!(self.instead, Some((_, Origin::Command)));
        // A command that was not answered was no question, such as one that sets the model.
        let is_answer = |event: &Event| matches!(event, Event::Thought { .. } | Event::Call(_));
        if !(is_known && self.events.iter().any(is_answer)) {
            self.instead = command.map(|command| (command, Origin::Command));
        }
    }

    /// Counts a summary, which has the objective if nobody says anything.
    pub fn note_summary(&mut self, text: String) {
        self.skipped.add("compact_summary");
        if self.instead.is_none() && !is_blank(&text) {
            self.instead = Some((text, Origin::Copied));
        }
    }

    /// Adds a text of the program or of another agent, as a result that answers no call.
    pub fn notice(&mut self, text: String) {
        let (text, ..) = self.harness.result(text, &mut self.skipped);
        // No call has this id.
        let id = Some(String::new());
        self.events.push(Event::Result(ToolResult { text, id, ..ToolResult::default() }));
    }
}

fn joined_inside(tags: &[&str], text: &str, separator: &str) -> Option<String> {
    let inside = elements(tags, text).map(|element| trimmed(element.inside));
    let inside: Vec<_> = inside.filter(|inside| !inside.is_empty()).collect();
    (!inside.is_empty()).then(|| inside.join(separator))
}

/// Returns a text of Cline with what a person wrote in place of the tags around it.
fn of_cline(text: String) -> String {
    const SAID: [&str; 4] = ["task", "feedback", "user_message", "answer"];
    let inside = |tag: &&str| {
        let begun = trimmed(&text).strip_prefix(&format!("<{tag}>"))?;
        begun.strip_suffix(&format!("</{tag}>")).map(|inside| trimmed(inside).to_owned())
    };
    if let Some(inside) = SAID.iter().find_map(inside) {
        return inside;
    }
    match replaced(&["user_input", "user_command"], text, |inside| inside) {
        (text, 0) => text,
        (text, _) => trimmed(&text).into(),
    }
}

/// A tag around an image of Codex, which is another part.
static IMAGE: Pattern = Pattern::new(|| regex(r"^(?:<image[^<>\n]*>|</image>)$"));

/// The beginnings of messages with comments of the editor, which may be all that a person wrote, and of others in which it
/// describes its state.
const COMMENTS: [&str; 3] = ["# Browser comments:", "# Diff comments:", "# Response annotations:"];
const EDITOR: [&str; 10] = [
    "# Context from my IDE setup:", "# Files mentioned by the user:",
    "# Applications mentioned by the user:", "# In app browser:", "<in-app-browser-context",
    "# Selected text:", "# Chrome tabs:", "# MCP app context:", "# Failing PR checks:",
    "# Pull request merge conflict:",
];

/// The headings before the text of the person. The second one counts only after text of the editor.
const HEADINGS: [&str; 2] = ["## My request for Codex:", "## My request:"];

/// Returns what a person wrote in a message to Codex with these texts, if anything, and whether it has other text.
fn of_editor(mut texts: Vec<String>) -> (Option<String>, bool) {
    let all = texts.len();
    texts.retain(|text| !IMAGE.is_match(trimmed(text)));
    let (is_cut, text) = (texts.len() < all, texts.join("\n"));
    let has_begin = |all: &[&str]| all.iter().any(|begin| begins(&text, begin));
    let has_comments = has_begin(&COMMENTS);
    let is_of_editor = has_comments || has_begin(&EDITOR);
    let headings = if is_of_editor { &HEADINGS[..] } else { &HEADINGS[..1] };
    let starts = |heading: &&str| {
        text.rmatch_indices(heading).find(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n')
    };
    match headings.iter().filter_map(starts).max() {
        Some((at, heading)) => {
            let request = trimmed(&text[at + heading.len()..]);
            let comments = trimmed(&text[..at]);
            let said = if request.is_empty() && has_comments { comments } else { request };
            ((!said.is_empty()).then(|| said.into()), true)
        }
        None if is_of_editor => (None, true),
        None => ((!texts.is_empty()).then_some(text), is_cut),
    }
}
