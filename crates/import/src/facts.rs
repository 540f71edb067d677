//! Facts of a run: what its log says beside the trace. None of them changes a trace, its id or its score.

use std::{collections::HashMap, mem, sync::LazyLock};

use jiff::Timestamp;
use regex::Regex;
use serde::Serialize;

use crate::{
    answers::Calls,
    call::Call,
    events::Event,
    json::{Members, Value},
    messages::Conversation,
    pattern::regex,
    time,
};

/// Facts of a run, as its log has them. `RunFacts` in `lib/types/logs.d.ts` documents the members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the declarations of the public API document the fields")]
pub struct RunFacts {
    pub calls: u64,
    pub failed: u64,
    pub refused: u64,
    pub unanswered: u64,
    pub retries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruptions: Option<u64>,
    pub user_messages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagents: Option<Subagents>,
}

/// Tokens that models read and wrote. `input` is without what the cache had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the declarations of the public API document the fields")]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// The sub-agents that a run launched, and how many calls they made, if the log says so of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the declarations of the public API document the fields")]
pub struct Subagents {
    pub launched: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// Returns a count in a log.
fn count(value: Value) -> Option<u64> {
    value.as_integer()?.try_into().ok()
}

impl Tokens {
    /// Returns the counts with these names: of the input, of the output, read from and written to the cache. `None`
    /// without one of the first two.
    pub fn of<'d>(usage: impl Members<'d>, names: [&str; 4]) -> Option<Self> {
        let [input, output, cache_read, cache_write] =
            names.map(|name| usage.get(name).and_then(count));
        Some(Self { input: input?, output: output?, cache_read, cache_write })
    }

    /// Returns the tokens with counts that another object has: read from and written to the cache.
    pub fn cached(self, cache: Option<Value>, names: [&str; 2]) -> Self {
        let [cache_read, cache_write] = names.map(|name| cache.get(name).and_then(count));
        Self { cache_read, cache_write, ..self }
    }

    /// Returns the tokens of a usage whose input includes those of the cache.
    pub fn without_cache(self) -> Self {
        let cached = [self.cache_read, self.cache_write].into_iter().flatten();
        Self { input: cached.fold(self.input, u64::saturating_sub), ..self }
    }

    /// Returns the tokens of a usage whose output is without reasoning.
    pub fn with_reasoning(self, reasoning: Option<Value>) -> Self {
        let reasoning = reasoning.and_then(count).unwrap_or_default();
        Self { output: self.output.saturating_add(reasoning), ..self }
    }

    /// Returns the tokens of a usage whose total says whether its input includes those of the cache.
    pub fn by_total(self, total: Option<Value>) -> Self {
        let has_all = total.and_then(count) == self.input.checked_add(self.output);
        if has_all { self.without_cache() } else { self }
    }

    fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| {
            one.into_iter().chain(other).reduce(u64::saturating_add)
        };
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
        }
    }
}

/// The longest pause between two records in which an agent counts as active, in milliseconds.
const MAX_PAUSE: u64 = 600_000;

/// What readers collect of a run for its facts.
#[derive(Debug, Default)]
pub struct Collected {
    /// The tokens of the run, unless they are kept by message.
    pub tokens: Option<Tokens>,
    /// The tokens by the numbers of messages, which come as several records.
    by_message: HashMap<u32, Tokens>,
    /// The models, each with its place in the order of first use.
    models: HashMap<String, usize>,
    /// The first and the last time, in milliseconds.
    times: Option<(i64, i64)>,
    /// Those of records.
    records: Option<(i64, i64)>,
    active: u64,
    /// The durations that the log has itself, in milliseconds.
    pub durations: [Option<u64>; 2],
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// Interruptions that are not counted as skipped.
    pub interruptions: u64,
    /// Messages like those of people that other agents wrote.
    pub of_agents: u64,
    /// Whether the record that is being read is a message of a person that is no event.
    pub is_person: bool,
    /// Sub-agents that the log names as such.
    pub launched: u64,
    /// The number of sub-agents whose calls are known, and of these calls.
    subagents: (u64, u64),
    /// The size of the names of models in bytes.
    size: usize,
}

impl Collected {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        let places = [&self.cwd, &self.branch].into_iter().flatten();
        let by_message = self.by_message.len() * size_of::<(u32, Tokens)>();
        self.size + by_message + places.map(String::len).sum::<usize>()
    }

    /// Adds the tokens of a model call.
    pub fn add(&mut self, tokens: Option<Tokens>) {
        self.tokens = self.tokens.into_iter().chain(tokens).reduce(Tokens::plus);
    }

    /// Sets the tokens of a message. The last record of a message counts.
    pub fn set(&mut self, message: u32, tokens: Option<Tokens>) {
        self.by_message.extend(tokens.map(|tokens| (message, tokens)));
    }

    pub fn model(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !self.models.contains_key(*name)) {
            self.size += name.len() + size_of::<(String, usize)>();
            self.models.insert(name.into(), self.models.len());
        }
    }

    /// Sets the directory and the branch, of which the first ones count.
    pub fn place(&mut self, cwd: Option<&str>, branch: Option<&str>) {
        for (place, name) in [(&mut self.cwd, cwd), (&mut self.branch, branch)] {
            if place.is_none() {
                *place = name.map(Into::into);
            }
        }
    }

    /// Adds a time in the run. Returns it in milliseconds.
    pub fn time(&mut self, time: Option<Value>) -> Option<i64> {
        let time = time.and_then(time::instant)?.as_millisecond();
        self.add_time(time);
        Some(time)
    }

    fn add_time(&mut self, time: i64) {
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    /// Adds the times of a span, if both are known.
    pub fn span(&mut self, start: Option<Timestamp>, end: Option<Timestamp>) {
        for time in start.zip(end).into_iter().flat_map(|(start, end)| [start, end]) {
            self.add_time(time.as_millisecond());
        }
    }

    /// Adds the time of a record.
    pub fn at(&mut self, time: Option<Value>, is_person: bool) {
        let is_person = mem::take(&mut self.is_person) || is_person;
        let Some(time) = self.time(time) else { return };
        let (first, last) = self.records.unwrap_or((time, time));
        if !is_person {
            self.active += u64::try_from(time - last).unwrap_or_default().min(MAX_PAUSE);
        }
        self.records = Some((first.min(time), last.max(time)));
    }

    /// Adds the number of calls of a sub-agent.
    pub fn calls_of_subagent(&mut self, calls: Option<Value>) {
        if let Some(calls) = calls.and_then(count) {
            self.subagents = (self.subagents.0 + 1, self.subagents.1.saturating_add(calls));
        }
    }
}

impl Conversation {
    /// Adds the time of a record that has added the events from a place on.
    pub fn end_record(&mut self, time: Option<Value>, begin: usize) {
        let added = self.events.get(begin..).unwrap_or_default();
        let is_person = added.iter().any(|event| event.human().is_some());
        self.facts.at(time, is_person);
    }
}

/// Results of calls that a person refused, in the words of Claude Code, Codex, opencode, Gemini CLI and frameworks.
static REFUSED: LazyLock<Regex> = LazyLock::new(|| {
    let agents = "The user doesn't want to proceed|(?:exec )?command rejected by user|\
                  The user rejected permission to use this specific tool call|\
                  \\[Operation Cancelled\\] Reason: User did not allow tool call";
    let frameworks = r"Tool (?:execution was not approved\.|call was not approved by the user)";
    regex(&format!(r"^[ \t\r\n]*(?:{agents}|{frameworks})"))
});

/// Returns the tools with which the agents of a format launch sub-agents.
fn launchers(format: &str) -> &'static [&'static str] {
    match format {
        "claude-code" => &["Agent", "Task"],
        "codex" => &["spawn_agent"],
        "opencode" => &["task"],
        _ => &[],
    }
}

/// A call, and what became of it.
struct Outcome<'e> {
    call: &'e Call,
    is_answered: bool,
    has_failed: bool,
}

impl RunFacts {
    /// Returns the facts of a run with these events.
    pub(crate) fn of(events: &[Event], format: &str, run: &mut Conversation) -> Self {
        let mut facts = Self::default();
        let mut calls = Calls::default();
        let mut outcomes: Vec<Outcome> = Vec::new();
        // The number of failures that were not retried yet, by the name and by the input.
        let mut failures: HashMap<&str, HashMap<u64, u64>> = HashMap::new();
        for event in events {
            match event {
                Event::Human(_) => facts.user_messages += 1,
                Event::Thought { .. } => {}
                Event::Call(call) => {
                    let alike = failures.get_mut(&*call.name);
                    let failed = alike.and_then(|inputs| inputs.get_mut(&call.input.hash()));
                    if let Some(failed) = failed.filter(|failed| **failed > 0) {
                        *failed -= 1;
                        facts.retries += 1;
                    }
                    calls.add(call.id.clone(), &call.name, outcomes.len());
                    outcomes.push(Outcome { call, is_answered: false, has_failed: false });
                }
                Event::Result(result) => {
                    let mut outcome = calls.answer(result).map(|index| &mut outcomes[index]);
                    let is_new = outcome.as_ref().is_none_or(|outcome| !outcome.has_failed);
                    if let Some(outcome) = &mut outcome {
                        outcome.is_answered = true;
                        outcome.has_failed |= result.failed;
                    }
                    if !result.failed || !is_new {
                        continue;
                    }
                    let is_denied = result.id.as_ref().is_some_and(|id| run.is_denied(id));
                    if is_denied || REFUSED.is_match(&result.text) {
                        facts.refused += 1;
                        continue;
                    }
                    facts.failed += 1;
                    if let Some(Outcome { call, .. }) = outcome {
                        let inputs = failures.entry(&call.name).or_default();
                        *inputs.entry(call.input.hash()).or_default() += 1;
                    }
                }
            }
        }
        facts.calls = outcomes.len() as u64;
        let unanswered = outcomes.iter().filter(|outcome| !outcome.is_answered);
        facts.unanswered = unanswered.count() as u64;
        let is_launch = |outcome: &&Outcome| {
            !outcome.has_failed && launchers(format).contains(&&*outcome.call.name)
        };
        facts.collect(outcomes.iter().filter(is_launch).count() as u64, run);
        facts
    }

    /// Adds what the reader has collected.
    fn collect(&mut self, launched: u64, run: &mut Conversation) {
        let interrupted = run.skipped.iter().find(|(reason, _)| *reason == "interruption");
        let collected = mem::take(&mut run.facts);
        let interruptions = collected.interruptions + interrupted.map_or(0, |(_, count)| count);
        self.interruptions = Some(interruptions).filter(|count| *count > 0);
        self.user_messages = self.user_messages.saturating_sub(collected.of_agents);
        let by_message = collected.by_message.into_values();
        self.tokens = collected.tokens.into_iter().chain(by_message).reduce(Tokens::plus);
        let mut models: Vec<_> = collected.models.into_iter().collect();
        models.sort_unstable_by_key(|(_, place)| *place);
        self.models = models.into_iter().map(|(name, _)| name).collect();
        let [wall, active] = collected.durations;
        // One time says nothing of durations.
        let several = |(first, last): &(i64, i64)| first < last;
        let times = collected.times.filter(several);
        self.wall_ms = wall.or_else(|| times.map(|(first, last)| first.abs_diff(last)));
        let records = collected.records.filter(several);
        self.active_ms = active.or_else(|| records.map(|_| collected.active));
        self.cwd = collected.cwd;
        self.branch = collected.branch;
        let launched = launched + collected.launched;
        let (said, calls) = collected.subagents;
        let calls = Some(calls).filter(|_| said == launched);
        self.subagents = (launched > 0).then_some(Subagents { launched, calls });
    }
}
