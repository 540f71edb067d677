//! Sessions of Codex, and the output of `codex exec --json`.
//!
//! | Codex: session files from 0.32 on, also of Codex Desktop; `codex exec --json`, which lacks what the user wrote, so give `objective` | a session | a failed turn of `codex exec` |
//!
//! - rollouts in the tests of agentsview | aea2eb12 | 2026-11-22 | captured
//! - rollouts of Codex Desktop, `codex exec --json` | 0.137 to 0.156 | 2026-11-26 | written
//! - scheduled and delegated threads, warnings, failures in words, counts that begin again | 0.150 to 0.156 | 2026-11-28 | written

mod exec;

use std::{collections::HashSet, mem};

use crate::{
    messages::{content, is_readable},
    prelude::*,
};

pub const FORMAT: Format = Format::code("codex", fits, || {
    sessions(Rules {
        begins: Session::begins,
        takes: |_, record, kind| !kind.is_empty() && record.object("payload").is_some(),
        ..Rules::of(Session::read)
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    let kinds = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
    (record.object("payload").is_some() && kind.is_some_and(|kind| kinds.contains(&kind)))
        || exec::fits(record, kind)
}

/// Returns the description of a session.
fn meta(record: Value<'_>) -> Option<Value<'_>> {
    record.object("payload").filter(|_| record.text("type") == Some("session_meta"))
}

/// Returns the ids of the session and of those that it was copied from.
fn ids(meta: Value<'_>) -> impl Iterator<Item = &str> {
    let spawn = meta.object("source").object("subagent").object("thread_spawn");
    let own = ["id", "forked_from_id", "parent_thread_id"].into_iter();
    own.filter_map(move |name| meta.name(name)).chain(spawn.name("parent_thread_id"))
}

#[derive(Default)]
pub struct Session {
    /// The ids in the descriptions so far. Codex writes its own again when a thread is opened, and copies those of others.
    ids: HashSet<String>,
    /// Whether the previous record was a description.
    is_after_meta: bool,
    /// The number of counts of tokens that ended, because another began at 0, and the last number of tokens.
    count: (u32, u64),
}

impl State for Session {}

impl Session {
    fn begins<'d>(&self, record: Value<'d>, open: Option<&str>) -> Option<Option<&'d str>> {
        if let Some(thread) = exec::thread(record) {
            return another(Some(thread), open);
        }
        let id = meta(record)?.name("id");
        let is_known = self.is_after_meta || id.is_some_and(|id| self.ids.contains(id));
        (!is_known).then_some(id)
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        run.harness = Harness::Codex;
        let meta = meta(record);
        self.is_after_meta = meta.is_some();
        run.facts.collected.launchers = &["spawn_agent"];
        let is_first = meta.is_some() && self.ids.is_empty();
        if let Some(meta) = meta {
            run.facts.place(meta.name("cwd"), meta.object("git").name("branch"));
            self.ids.extend(ids(meta).map(str::to_owned));
            if is_first {
                let base = meta.object("base_instructions").member("text");
                run.instruct(base.or_else(|| meta.member("instructions")));
                let is_subagent = meta.object("source").has("subagent")
                    || meta.text("thread_source") == Some("subagent");
                run.left_out = is_subagent.then_some("subagent");
            }
        }
        if run.left_out.is_some() {
            return;
        }
        let kind = record.name("type").unwrap_or("?");
        match (kind, record.object("payload")) {
            _ if is_first => run.skipped.add("record:session_meta"),
            _ if meta.is_some() => run.skipped.add("repeated"),
            ("response_item", Some(item)) => read_item(item, run),
            ("response_item", None) => run.skipped.add("malformed"),
            _ if exec::fits(record, record.text("type")) => exec::read(record, kind, run),
            (kind, payload) => {
                if let Some(payload) = payload {
                    self.collect(kind, payload, run);
                }
                run.skipped.add_record(kind);
            }
        }
    }

    /// Collects the facts in the payload of a record that is no step.
    fn collect(&mut self, kind: &str, payload: Value, run: &mut Run) {
        const USAGE: [&str; 4] = ["input_tokens", "output_tokens", "cached_input_tokens", ""];
        match (kind, payload.text("type")) {
            ("turn_context", _) => run.facts.model(payload.name("model")),
            ("compacted", _) if run.fallback.is_none() => {
                let history = payload.elements("replacement_history");
                let mut users = history.filter(|item| item.text("role") == Some("user"));
                let said =
                    users.find_map(|item| Conversation::asked(Harness::Codex, content(item)));
                let text = said.or_else(|| payload.name("message").map(Into::into));
                run.fallback = text.map(|text| (text, Origin::Copied));
            }
            ("event_msg", Some("token_count")) => {
                let total = payload.object("info").object("total_token_usage");
                let Some(total) = Tokens::of(total, USAGE) else { return };
                let (ended, last) = self.count;
                self.count = (ended + u32::from(total.all() < last), total.all());
                run.facts.set(self.count.0, Some(total.without_cache()));
            }
            ("event_msg", Some("turn_aborted")) => {
                let is_interrupted = payload.text("reason") == Some("interrupted");
                run.facts.interruptions += u64::from(is_interrupted);
            }
            ("event_msg", Some("user_message")) => {
                run.facts.collected.is_person = true;
                let text = payload.get("message").filter(|_| run.fallback.is_none());
                let said = text.and_then(|text| Conversation::asked(Harness::Codex, Some(text)));
                run.fallback = run.fallback.take().or(said.map(|text| (text, Origin::Human)));
            }
            _ => {}
        }
    }
}

fn read_item(item: Value, run: &mut Run) {
    let (role, kind) = (item.text("role"), item.text("type").unwrap_or("message"));
    if !is_readable(role, kind, item) {
        return run.skip_unknown(kind, item);
    }
    let is_of_app = matches!(item.text("namespace"), Some("codex_app" | "codex_tui"));
    if kind == "function_call_output" && is_of_app && item.name("call_id").is_none() {
        // The prompt of a thread that was scheduled or that another one began.
        let text = text_of(item.get("output"), &mut run.skipped).text;
        run.end_turn();
        return match text.split_once("\n\n").filter(|_| !text.trim_start().starts_with('<')) {
            Some((_, prompt)) => run.say_human(&[json::trimmed(prompt)]),
            None => run.read_texts(vec![text]),
        };
    }
    let begin = run.events.len();
    run.read_as(role, Some(kind), item);
    let output = item.object("output");
    let own = output.text("content").zip(output.flag("success"));
    run.amend(begin, |event, _| {
        if let Event::Result(result) = event {
            if let Some((text, success)) = own {
                *result = ToolResult { text: text.into(), failed: !success, ..mem::take(result) };
            }
            result.failed |= is_failed_script(&result.text);
        }
        true
    });
}

/// Returns whether the output of a script has a line with the JSON of a command or a tool that failed.
fn is_failed_script(text: &str) -> bool {
    let is_failed = |result: Value| {
        has_failed(result.get("exit_code")) == Some(true) || result.flag("isError") == Some(true)
    };
    text.trim_start().starts_with("Script completed")
        && text.lines().map(json::trimmed).filter(|line| line.starts_with(['{', '['])).any(|line| {
            let Ok(document) = Document::parse(line) else { return false };
            let value = document.root();
            value.as_array().unwrap_or(value.alone()).any(is_failed)
        })
}
