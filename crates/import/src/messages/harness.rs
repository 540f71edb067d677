//! What programs write in the place of a person or of a tool.

use std::mem;

use super::Conversation;
use crate::{
    call::ToolResult,
    events::Event,
    json::{BLANK, Members, Value, is_blank, trimmed},
    part::parts,
    pattern::{Pattern, regex},
    provenance::Origin,
    skipped::Skipped,
    text::{elements, replaced, without},
};

/// The program that keeps a conversation. Its own logs say which; elsewhere the first texts do.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Harness {
    /// Not known before the first message of a user.
    #[default]
    Unknown,
    Antigravity,
    Claude,
    /// Cline or Roo.
    Cline,
    Codex,
    Copilot,
    Cursor,
    Droid,
    /// Gemini CLI, or Qwen Code, which comes from it.
    Gemini,
    Kimi,
    /// OpenClaw, or Pi, on which it is built.
    OpenClaw,
    Smolagents,
    SweAgent,
    Other,
}

/// What becomes of a text.
#[derive(Clone, Copy)]
enum Act {
    /// It is left out for this reason.
    Skip(&'static str),
    /// The same, but a person caused it.
    Typed(&'static str),
    /// It is a command that a person typed.
    Command,
    /// It sums up what came before.
    Summary,
    /// Only what is inside elements with this tag is a person's.
    Inside(&'static str),
    /// It is what a program reports to the model.
    Notice,
    /// The same, unless it is the first text, which is the task.
    Task,
}

/// What a program writes.
struct Words {
    /// How first texts of the program or of a person begin in no other program.
    told: &'static [&'static str],
    /// How texts in the place of a person's begin, and what becomes of them.
    begin: &'static [(&'static [&'static str], Act)],
    /// The tags of what is cut out of texts, and the reason.
    cut: (&'static [&'static str], &'static str),
    /// The tags around what a person wrote, if a message has any of them.
    inside: &'static [&'static str],
    /// What is cut off before a person's text.
    prefix: Option<&'static Pattern>,
    /// How the texts of tools say that these failed, and that a person refused them.
    failed: Option<&'static Pattern>,
    refused: Option<&'static Pattern>,
}

const NONE: Words = Words {
    told: &[],
    begin: &[],
    cut: (&[], "context"),
    inside: &[],
    prefix: None,
    failed: None,
    refused: None,
};

const CONTEXT: Act = Act::Skip("context");
const REMINDER: &str = "system-reminder";
const AGENTS: &[&str] = &["teammate-message", "agent-message", "cross-session-message"];

#[rustfmt::skip]
static TABLE: &[(Harness, Words)] = &[
    (Harness::Antigravity, Words {
        told: &["<USER_REQUEST>"],
        begin: &[(&["<"], CONTEXT)],
        inside: &["USER_REQUEST"],
        failed: Some(&ANTIGRAVITY_FAILED),
        ..NONE
    }),
    (Harness::Cline, Words {
        told: &["<environment_details>", "<mode_notice>", "<user_input ", "<user_command "],
        begin: &[(&["<environment_details>", "# task_progress", "[ERROR] You did not use a tool"], CONTEXT)],
        cut: (&["mode_notice"], "context"),
        failed: Some(&CLINE_FAILED),
        refused: Some(&CLINE_REFUSED),
        ..NONE
    }),
    (Harness::Codex, Words {
        told: &[
            "<environment_context>", "<user_instructions>", "<permissions instructions>", "# AGENTS.md instructions",
            "# Context from my IDE setup:", "You are Codex", "You are a coding agent running in the Codex CLI",
        ],
        begin: &[
            (&["<realtime_delegation>", "<codex_delegation>"], Act::Inside("input")),
            (&[
                "<environment_context>", "<user_instructions>", "<permissions instructions>",
                "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>", "<skill>", "<user_shell_command>",
                "<codex_internal_context", "<goal_context>", "<subagent_notification>", "<agent_message_board_notification>",
                "<hook_prompt", "<external_", "<extension_context>", "<recommended_plugins>", "<next_prompt_suggestion>",
                "<user_action>", "<heartbeat>", "Warning: apply_patch was requested via",
                "Warning: The maximum number of ", "Warning: Your account was flagged for ",
            ], CONTEXT),
        ],
        failed: Some(&CODEX_FAILED),
        ..NONE
    }),
    (Harness::Copilot, Words {
        told: &["<current_datetime>", "<environment_info>", "You are the GitHub Copilot CLI"],
        begin: &[(&["<environment_info>", "<workspace_info>"], CONTEXT)],
        cut: (&["current_datetime", "system_reminder", "reminder"], "context"),
        inside: &["userRequest"],
        failed: Some(&COPILOT_FAILED),
        ..NONE
    }),
    (Harness::Cursor, Words {
        told: &["<user_query>", "<user_info>", "<open_and_recently_viewed_files>"],
        begin: &[(&["<user_info>"], CONTEXT)],
        inside: &["user_query"],
        ..NONE
    }),
    (Harness::Droid, Words { told: &["You are Droid"], cut: (&[REMINDER], "system_reminder"), ..NONE }),
    (Harness::Gemini, Words {
        told: &["This is the Gemini CLI. We are setting up the context", "<session_context>"],
        begin: &[
            (&["This is the Gemini CLI. We are setting up the context", "<session_context>", "<hook_context>", "<qwen:"], CONTEXT),
            (&["<state_snapshot>"], Act::Skip("compact_summary")),
        ],
        ..NONE
    }),
    (Harness::Kimi, Words {
        begin: &[(&["<system-reminder>", "<system>CHECKPOINT "], CONTEXT)],
        ..NONE
    }),
    (Harness::OpenClaw, Words {
        begin: &[(&["A new session was started via /new", "Read HEARTBEAT.md if it exists"], CONTEXT)],
        prefix: Some(&METADATA),
        ..NONE
    }),
    (Harness::Smolagents, Words { told: &["New task:\n"], prefix: Some(&NEW_TASK), ..NONE }),
    (Harness::SweAgent, Words { failed: Some(&SWE_AGENT_FAILED), ..NONE }),
    // Others write its reminders, too.
    (Harness::Claude, Words {
        told: &[
            "<system-reminder>", "<command-name>", "<command-message>", "<local-command-", "You are Claude Code",
            "Caveat: The messages below were generated by the user while running", "You are a Claude agent",
            "This session is being continued from",
        ],
        begin: &[
            (&["<command-name>", "<command-message>"], Act::Command),
            (&["<bash-input>"], Act::Typed("local_command")),
            (&[
                "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>",
                "<bash-stderr>", "Caveat: The messages below were generated by the user while running",
            ], Act::Skip("local_command")),
            (&["<tick>"], Act::Skip("meta")),
            (&["[Request interrupted by user"], Act::Skip("interruption")),
            (&["Operation stopped by hook:"], Act::Skip("hook")),
            (&["<ide_opened_file>", "<ide_selection>"], Act::Skip("editor_context")),
            (&["This session is being continued from a previous conversation that ran out of context"], Act::Summary),
            (&["<channel ", "<channel>"], Act::Inside("channel")),
            (&["<teammate-message", "<agent-message", "<cross-session-message"], Act::Task),
            (&["<task-notification", "<agent-notification"], Act::Notice),
        ],
        cut: (&[REMINDER], "system_reminder"),
        ..NONE
    }),
];

/// What OpenClaw writes before a text: dates in brackets, and blocks of metadata.
static METADATA: Pattern = Pattern::new(|| {
    let date = r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [0-9]{4}-[0-9]{2}-[0-9]{2}[^\]\n]*\]";
    let block = r"[^\n]*\(untrusted metadata\):\n```json\n(?s:.*?)\n```";
    regex(&format!(r"^(?:\s*(?:{date}|{block}))+\s*"))
});
static NEW_TASK: Pattern = Pattern::new(|| regex(r"^New task:\n"));

static ANTIGRAVITY_FAILED: Pattern =
    Pattern::new(|| regex(r"(?m)^\t*The command failed with exit code: -?[1-9]"));
static CLINE_FAILED: Pattern =
    Pattern::new(|| regex("(?m)^The tool execution failed with the following error:"));
static CLINE_REFUSED: Pattern = Pattern::new(|| regex("(?m)^The user denied this operation"));
static CODEX_FAILED: Pattern = Pattern::new(|| {
    let tools =
        r"apply_patch verification failed|(?:apply_patch|exec_command|write_stdin) failed\b";
    let refused =
        r"(?:(?:exec )?command|patch) rejected by user|aborted by user\b|aborted[ \t\r\n]*\z";
    let unread = "unsupported call: |failed to parse function arguments: |Script failed\\b";
    regex(&format!(r"^[ \t\r\n]*(?:{tools}|{refused}|{unread}|execution error:|err: )"))
});
static COPILOT_FAILED: Pattern = Pattern::new(|| {
    let code = r"exit code -?[1-9][0-9]*>";
    let shell = format!(r"^<shellId: [^<>\n]* completed with {code}[^\n]*");
    regex(&format!(r"(?m)^<exited with {code}|{shell}[ \t\r\n]*\z"))
});
static SWE_AGENT_FAILED: Pattern = Pattern::new(|| {
    regex(r"^[ \t\r\n]*(?:Your proposed edit has introduced new syntax error|EXECUTION TIMED OUT)")
});

/// Failed results of calls that a person refused, in the words of programs and frameworks.
pub static REFUSED: Pattern = Pattern::new(|| {
    let claude = "The user doesn't want to (?:proceed|take this action right now)|\
                  \\[Request interrupted by user|\
                  The agent proposed a plan that was rejected by the user";
    let others = "(?:(?:exec )?command|patch) rejected by user|\
                  The user rejected permission to use this specific tool call|\
                  \\[Operation Cancelled\\] Reason: User did not allow tool call|\
                  The tool call is rejected by the user\\.";
    let frameworks = r"Tool (?:execution was not approved\.|call was not approved by the user)";
    regex(&format!(r"^[ \t\r\n]*(?:{claude}|{others}|{frameworks})"))
});

impl Harness {
    /// Returns the program that has written one of these first texts.
    fn of<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Option<Self> {
        let is_told = |(_, words): &&(Self, Words)| {
            words.told.iter().any(|begin| texts.clone().any(|text| begins(text, begin)))
        };
        TABLE.iter().find(is_told).map(|(harness, _)| *harness)
    }

    fn words(self) -> &'static Words {
        TABLE.iter().find(|(harness, _)| *harness == self).map_or(&NONE, |(_, words)| words)
    }

    /// Returns a result of a tool without what the program added, and whether its text says that the tool failed, and that
    /// a person refused it.
    pub fn result(self, text: String, skipped: &mut Skipped) -> (String, bool, bool) {
        let words = self.words();
        let is_cut = words.cut.0.contains(&REMINDER);
        let text = if is_cut { without(words.cut.0, text, words.cut.1, skipped) } else { text };
        let says = |pattern: Option<&Pattern>| pattern.is_some_and(|said| said.is_match(&text));
        let [failed, refused] = [words.failed, words.refused].map(says);
        (text, failed || refused, refused)
    }
}

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

fn begins(text: &str, begin: &str) -> bool {
    text.trim_start_matches(BLANK).starts_with(begin)
}
