//! Matches results of tools to their calls.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
};

use crate::call::ToolResult;

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

/// The calls so far, each with the value that its result gets.
#[derive(Default)]
pub struct Calls<T> {
    values: Vec<T>,
    by_id: HashMap<String, usize>,
    /// By name and all together.
    waiting: Waiting<Option<String>>,
}

impl<T: Copy> Calls<T> {
    pub fn add(&mut self, id: Option<String>, name: &str, value: T) {
        let index = self.values.len();
        self.values.push(value);
        self.by_id.extend(id.map(|id| (id, index)));
        self.waiting.add(index, [None, Some(name.into())]);
    }

    /// Returns the value of the call that a result answers: the latest one with its id; without an id the
    /// first one without an answer, and with its name if it has one.
    pub fn answer(&mut self, result: &ToolResult) -> Option<T> {
        let call = match &result.id {
            Some(id) => *self.by_id.get(id)?,
            None => self.waiting.take([result.name.clone()])?,
        };
        self.waiting.taken.insert(call);
        Some(self.values[call])
    }
}
