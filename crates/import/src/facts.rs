//! Facts of a run: what its log says beside the trace. None of them changes a trace, its id or its score.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    call::Call,
    events::Event,
    harness::REFUSED,
    ids::hash,
    json::{Members, Value},
    skipped::Skipped,
    time,
};

/// Facts of a run. Readers collect what only records have; the rest follows from the events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`RunFacts` in lib/types/logs.d.ts documents the fields")]
pub struct RunFacts {
    pub calls: u64,
    pub failed: u64,
    pub refused: u64,
    pub unanswered: u64,
    pub retries: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub interruptions: u64,
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
    #[serde(skip_serializing_if = "Subagents::is_none")]
    pub subagents: Subagents,
    #[serde(skip)]
    pub(crate) collected: Collected,
}

/// Tokens of models. `input` is without what the cache had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`RunFacts` in lib/types/logs.d.ts documents the fields")]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// The sub-agents that a run launched, and their calls if the log says so of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "`RunFacts` in lib/types/logs.d.ts documents the fields")]
pub struct Subagents {
    pub launched: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// What is needed only while a run is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// The tokens by the numbers of messages, which come as several records.
    by_message: HashMap<u32, Tokens>,
    /// Hashes of the names of the models.
    models: HashSet<u64>,
    size_of_models: usize,
    /// The first and the last time, and those of records, in milliseconds.
    times: Option<(i64, i64)>,
    records: Option<(i64, i64)>,
    active: u64,
    /// Whether the record that is being read is of a person, without being a message.
    pub is_person: bool,
    /// Messages like those of people that other agents wrote.
    pub of_agents: u64,
    /// The tools with which the agent launches sub-agents.
    pub launchers: &'static [&'static str],
    /// The number of sub-agents whose calls are known.
    said: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Subagents {
    fn is_none(&self) -> bool {
        self.launched == 0
    }
}

impl Tokens {
    /// Returns the counts at these paths, such as `cache/read`: of the input, of the output, read from and written to
    /// the cache. `None` without one of the first two.
    pub fn of(usage: Option<Value>, paths: [&str; 4]) -> Option<Self> {
        let at = |path: &str| path.split('/').try_fold(usage?, |value, name| value.get(name));
        let [input, output, cache_read, cache_write] = paths.map(|path| count(at(path)));
        Some(Self { input: input?, output: output?, cache_read, cache_write })
    }

    /// Returns the tokens of a usage whose input includes those of the cache.
    pub fn without_cache(self) -> Self {
        let cached = [self.cache_read, self.cache_write].into_iter().flatten();
        Self { input: cached.fold(self.input, u64::saturating_sub), ..self }
    }

    /// Returns the tokens of a usage whose total says whether its input includes those of the cache.
    pub fn by_total(self, total: Option<Value>) -> Self {
        let has_all = count(total) == self.input.checked_add(self.output);
        if has_all { self.without_cache() } else { self }
    }

    /// Returns the tokens of a usage whose output is without reasoning.
    pub fn with_reasoning(self, reasoning: Option<Value>) -> Self {
        let reasoning = count(reasoning).unwrap_or_default();
        Self { output: self.output.saturating_add(reasoning), ..self }
    }

    /// Returns how many tokens went in and out.
    pub(crate) fn all(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the sum of two counts.
    pub(crate) fn plus(self, other: Self) -> Self {
        let plus =
            |one: Option<u64>, other| one.into_iter().chain(other).reduce(u64::saturating_add);
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: plus(self.cache_read, other.cache_read),
            cache_write: plus(self.cache_write, other.cache_write),
        }
    }
}

fn count(value: Option<Value>) -> Option<u64> {
    value?.as_integer()?.try_into().ok()
}

/// The longest pause before a record in which an agent counts as active, in milliseconds.
const MAX_PAUSE: u64 = 600_000;

impl RunFacts {
    /// Returns the approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        let texts = [&self.cwd, &self.branch].into_iter().flatten().map(String::len);
        let by_message = self.collected.by_message.len() * size_of::<(u32, Tokens)>();
        by_message + self.collected.size_of_models + texts.sum::<usize>()
    }

    /// Adds the tokens of a model call.
    pub(crate) fn add(&mut self, tokens: Option<Tokens>) {
        self.tokens = self.tokens.into_iter().chain(tokens).reduce(Tokens::plus);
    }

    /// Sets the tokens of a message. Its last record counts.
    pub(crate) fn set(&mut self, message: u32, tokens: Option<Tokens>) {
        self.collected.by_message.extend(tokens.map(|tokens| (message, tokens)));
    }

    pub(crate) fn model(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| self.collected.models.insert(hash(name))) {
            self.collected.size_of_models += name.len() + size_of::<(String, u64)>();
            self.models.push(name.into());
        }
    }

    /// Sets the directory and the branch, unless they are known.
    pub(crate) fn place(&mut self, cwd: Option<&str>, branch: Option<&str>) {
        self.cwd = self.cwd.take().or_else(|| cwd.map(Into::into));
        self.branch = self.branch.take().or_else(|| branch.map(Into::into));
    }

    /// Adds a time in the run, and returns it in milliseconds.
    pub(crate) fn time(&mut self, time: Option<Timestamp>) -> Option<i64> {
        let time = time?.as_millisecond();
        let (first, last) = self.collected.times.unwrap_or((time, time));
        self.collected.times = Some((first.min(time), last.max(time)));
        Some(time)
    }

    /// Adds the time of a record.
    pub(crate) fn at(&mut self, time: Option<Value>, is_person: bool) {
        let is_person = mem::take(&mut self.collected.is_person) || is_person;
        let Some(time) = self.time(time.and_then(time::instant)) else { return };
        let (first, last) = self.collected.records.unwrap_or((time, time));
        if !is_person {
            let pause = u64::try_from(time - last).unwrap_or_default();
            self.collected.active += pause.min(MAX_PAUSE);
        }
        self.collected.records = Some((first.min(time), last.max(time)));
    }

    /// Adds the number of calls of a sub-agent.
    pub(crate) fn calls_of_subagent(&mut self, calls: Option<Value>) {
        if let Some(calls) = count(calls) {
            self.collected.said += 1;
            self.subagents.calls = Some(self.subagents.calls.unwrap_or(0).saturating_add(calls));
        }
    }
}

impl RunFacts {
    /// Completes what readers collected with what follows from the events, whose results answer these calls.
    pub(crate) fn complete(
        mut self,
        events: &[Event],
        answered: &[Option<usize>],
        skipped: &Skipped,
    ) -> Self {
        let facts = &mut self;
        let mut answered = answered.iter();
        // Each call, and whether it failed; `None` without an answer.
        let mut outcomes: Vec<(&Call, Option<bool>)> = Vec::new();
        // The number of failures that were not retried yet, by the name and by the input.
        let mut failures: HashMap<&str, HashMap<u64, u64>> = HashMap::new();
        for event in events {
            match event {
                Event::Human(_) => facts.user_messages += 1,
                Event::System(_) | Event::Thought { .. } => {}
                Event::Call(call) => {
                    let alike = failures.get_mut(&*call.name);
                    let failed = alike.and_then(|inputs| inputs.get_mut(&call.input.hash()));
                    if let Some(failed) = failed.filter(|failed| **failed > 0) {
                        *failed -= 1;
                        facts.retries += 1;
                    }
                    outcomes.push((call, None));
                }
                Event::Result(result) => {
                    let call = answered.next().copied().flatten();
                    let Some((call, has_failed)) = call.map(|call| &mut outcomes[call]) else {
                        continue;
                    };
                    let had_failed = *has_failed == Some(true);
                    *has_failed = Some(had_failed || result.failed);
                    if !result.failed || had_failed {
                        continue;
                    }
                    if result.refused || REFUSED.is_match(&result.text) {
                        facts.refused += 1;
                    } else {
                        facts.failed += 1;
                        let inputs = failures.entry(&call.name).or_default();
                        *inputs.entry(call.input.hash()).or_default() += 1;
                    }
                }
            }
        }
        facts.calls = outcomes.len() as u64;
        let unanswered = outcomes.iter().filter(|(_, has_failed)| has_failed.is_none());
        facts.unanswered = unanswered.count() as u64;
        let Collected { by_message, times, records, active, of_agents, launchers, said, .. } =
            mem::take(&mut facts.collected);
        let launched = outcomes.iter().filter(|(call, has_failed)| {
            *has_failed != Some(true) && launchers.contains(&&*call.name)
        });
        facts.subagents.launched += launched.count() as u64;

        let interruptions = skipped.iter().filter(|(reason, _)| *reason == "interruption");
        facts.interruptions += interruptions.map(|(_, count)| count).sum::<u64>();
        facts.user_messages = facts.user_messages.saturating_sub(of_agents);
        by_message.into_values().for_each(|tokens| facts.add(Some(tokens)));
        // One time says nothing of durations.
        let several = |(first, last): &(i64, i64)| first < last;
        let wall = times.filter(several).map(|(first, last)| first.abs_diff(last));
        facts.wall_ms = facts.wall_ms.or(wall);
        facts.active_ms = facts.active_ms.or(records.filter(several).map(|_| active));
        let launched = facts.subagents.launched;
        facts.subagents.calls = facts.subagents.calls.filter(|_| said == launched);
        self
    }
}
