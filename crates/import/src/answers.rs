//! Matches results of tools to their calls.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
    iter,
};

use crate::{
    call::{Call, Turn},
    events::Event,
};

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

/// The calls with an id.
struct Named {
    turn: Turn,
    /// Those of the last turn without an answer, and the last of all.
    waiting: VecDeque<usize>,
    last: usize,
}

/// Returns for each result, in order, the number of the call before it that it answers: of those with its id the first
/// of the last turn without an answer, or else the last one; without an id the first call without an answer, and with
/// its name if it has one. An id that no call has answers a call of its name without an id.
pub fn answered_calls(events: &[Event]) -> Vec<Option<usize>> {
    let mut calls = 0;
    let mut by_id: HashMap<&str, Named> = HashMap::new();
    // By name and all together; of those without an id (`true`), and of all.
    let mut waiting: Waiting<(bool, Option<&str>)> = Waiting::default();
    let mut answered = Vec::new();
    for event in events {
        match event {
            Event::Call(Call { id, name, turn, .. }) => {
                if let Some(id) = id {
                    let new = || Named { turn: *turn, waiting: VecDeque::new(), last: calls };
                    let named = by_id.entry(id).or_insert_with(new);
                    if named.turn != *turn {
                        *named = new();
                    }
                    named.waiting.push_back(calls);
                    named.last = calls;
                }
                let name = Some(&**name);
                waiting.add(calls, [(false, None), (false, name)]);
                waiting.add(calls, id.is_none().then_some((true, name)));
                calls += 1;
            }
            Event::Result(result) => {
                let name = result.name.as_deref();
                let call = match &result.id {
                    Some(id) if id.is_empty() => None,
                    Some(id) => match by_id.get_mut(&**id) {
                        Some(named) => {
                            let mut open = iter::from_fn(|| named.waiting.pop_front());
                            let first = open.find(|call| !waiting.taken.contains(call));
                            Some(first.unwrap_or(named.last))
                        }
                        None => name.and_then(|name| waiting.take([(true, Some(name))])),
                    },
                    None => waiting.take([(false, name)]),
                };
                waiting.taken.extend(call);
                answered.push(call);
            }
            Event::System(_) | Event::Human(_) | Event::Thought { .. } => {}
        }
    }
    answered
}
