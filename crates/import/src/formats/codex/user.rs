//! What a person wrote, among what Codex and the editor put into user messages.

use crate::formats::prelude::*;

/// The beginnings of texts that Codex wrote itself.
const CONTEXT: [&str; 22] = [
    "<environment_context>", "<user_instructions>", "<permissions instructions>",
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<codex_internal_context", "<goal_context>", "<subagent_notification>",
    "<agent_message_board_notification>", "<hook_prompt", "<external_", "<extension_context>",
    "<recommended_plugins>", "<next_prompt_suggestion>", "<user_action>", "<heartbeat>",
    "Warning: apply_patch was requested via", "Warning: The maximum number of ",
    "Warning: Your account was flagged for ",
];

/// The tags of messages that were said to another agent, or asked by one, in `<input>`.
const DELEGATED: [&str; 2] = ["<realtime_delegation>", "<codex_delegation>"];

/// Returns what was asked in a message of another agent.
pub(super) fn delegated(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(json::BLANK);
    DELEGATED.iter().find(|tag| text.starts_with(*tag))?;
    let (_, input) = text.split_once("<input>")?;
    Some(json::trimmed(input.rsplit_once("</input>")?.0))
}

/// A tag around an image, which is another part.
static IMAGE: Pattern = Pattern::new(|| regex(r"^(?:<image[^<>\n]*>|</image>)$"));

/// The beginnings of messages with comments, which may be all that a person wrote.
const COMMENTS: [&str; 3] = ["# Browser comments:", "# Diff comments:", "# Response annotations:"];

/// The beginnings of other messages in which the editor describes its state.
const EDITOR: [&str; 10] = [
    "# Context from my IDE setup:", "# Files mentioned by the user:",
    "# Applications mentioned by the user:", "# In app browser:", "<in-app-browser-context",
    "# Selected text:", "# Chrome tabs:", "# MCP app context:", "# Failing PR checks:",
    "# Pull request merge conflict:",
];

/// The headings before the text of the person. The second one counts only after text of the editor.
const HEADINGS: [&str; 2] = ["## My request for Codex:", "## My request:"];

/// Returns what a person wrote in a message with these texts, if anything, and whether the message has other text.
pub(super) fn said(mut texts: Vec<String>) -> (Option<String>, bool) {
    let all = texts.len();
    for text in &mut texts {
        if let Some(input) = delegated(text) {
            *text = input.into();
        }
    }
    texts.retain(|text| {
        let text = json::trimmed(text);
        !CONTEXT.iter().any(|begin| text.starts_with(begin)) && !IMAGE.is_match(text)
    });
    let (is_cut, text) = (texts.len() < all, texts.join("\n"));
    let begins = |openers: &[&str]| {
        openers.iter().any(|opener| text.trim_start_matches(json::BLANK).starts_with(opener))
    };
    let has_comments = begins(&COMMENTS);
    let is_of_editor = has_comments || begins(&EDITOR);
    let headings = if is_of_editor { &HEADINGS[..] } else { &HEADINGS[..1] };
    let starts = |heading: &&str| {
        text.rmatch_indices(heading).find(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n')
    };
    match headings.iter().filter_map(starts).max() {
        Some((at, heading)) => {
            let request = json::trimmed(&text[at + heading.len()..]);
            let comments = json::trimmed(&text[..at]);
            let said = if request.is_empty() && has_comments { comments } else { request };
            ((!said.is_empty()).then(|| said.into()), true)
        }
        None if is_of_editor => (None, true),
        None => ((!texts.is_empty()).then_some(text), is_cut),
    }
}
