//! What programs write in the place of a person or of a tool.

use crate::{
    json::BLANK,
    pattern::{Pattern, regex},
    skipped::Skipped,
    text::without,
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
pub enum Act {
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
pub struct Words {
    /// How first texts of the program or of a person begin in no other program.
    told: &'static [&'static str],
    /// How texts in the place of a person's begin, and what becomes of them.
    pub begin: &'static [(&'static [&'static str], Act)],
    /// The tags of what is cut out of texts, and the reason.
    pub cut: (&'static [&'static str], &'static str),
    /// The tags around what a person wrote, if a message has any of them.
    pub inside: &'static [&'static str],
    /// What is cut off before a person's text.
    pub prefix: Option<&'static Pattern>,
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
pub const AGENTS: &[&str] = &["teammate-message", "agent-message", "cross-session-message"];

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
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Self> {
        let texts: Vec<_> = texts.map(|text| text.trim_start_matches(BLANK)).collect();
        let is_told = |(_, words): &&(Self, Words)| {
            words.told.iter().any(|begin| texts.iter().any(|text| text.starts_with(begin)))
        };
        TABLE.iter().find(is_told).map(|(harness, _)| *harness)
    }

    pub fn words(self) -> &'static Words {
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

pub fn begins(text: &str, begin: &str) -> bool {
    text.trim_start_matches(BLANK).starts_with(begin)
}
