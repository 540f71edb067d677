//! Matches results of tools to their calls.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
};

use crate::{call::Call, events::Event};

/// Calls that wait for something, each under several keys.
#[derive(Default)]
pub struct Waiting<K> {
    calls: HashMap<K, VecDeque<usize>>,
    taken: HashSet<usize>,
}

impl<K: Eq + Hash> Waiting<K> {
    pub fn add(&mut self, call: usize, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            self.calls.entry(key).or_default().push_back(call);
        }
    }

    pub fn has(&self, key: &K) -> bool {
        self.calls.contains_key(key)
    }

    /// Takes the first call under any of these keys.
    pub fn take(&mut self, keys: impl IntoIterator<Item = K>) -> Option<usize> {
        let mut first: Option<usize> = None;
        for key in keys {
            let Some(calls) = self.calls.get_mut(&key) else { continue };
            while calls.front().is_some_and(|call| self.taken.contains(call)) {
                calls.pop_front();
            }
            first = first.into_iter().chain(calls.front().copied()).min();
        }
        self.taken.extend(first);
        first
    }
}

/// Returns for each result, in order, the number of the call before it that it answers: the latest one with its id;
/// without an id the first one without an answer, and with its name if it has one.
pub fn answered_calls(events: &[Event]) -> Vec<Option<usize>> {
    let mut calls = 0;
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    // By name and all together.
    let mut waiting: Waiting<Option<&str>> = Waiting::default();
    let mut answered = Vec::new();
    for event in events {
        match event {
            Event::Call(Call { id, name, .. }) => {
                by_id.extend(id.as_deref().map(|id| (id, calls)));
                waiting.add(calls, [None, Some(&**name)]);
                calls += 1;
            }
            Event::Result(result) => {
                let call = match &result.id {
                    Some(id) => by_id.get(&**id).copied(),
                    None => waiting.take([result.name.as_deref()]),
                };
                waiting.taken.extend(call);
                answered.push(call);
            }
            Event::System(_) | Event::Human(_) | Event::Thought { .. } => {}
        }
    }
    answered
}
