//! What a conversation remembers of its calls and parts.

use std::collections::{HashMap, HashSet};

use crate::{
    call::{Call, hash_of},
    ids::hash,
    json::Value,
};

/// Hashes of what was seen, as in [`Ids`](crate::ids::Ids).
#[derive(Debug, Default)]
pub struct Seen {
    /// Those of the names of tools.
    tools: HashSet<u64>,
    /// The ids of the calls that people were asked to approve, by those of the requests.
    requests: HashMap<u64, String>,
    /// Those of the ids of the calls that were refused.
    denied: HashSet<u64>,
    /// Those of the parts with a time, because Mastra repeats some.
    parts: HashSet<u64>,
    /// The size of the texts in bytes.
    size: usize,
}

impl Seen {
    pub fn size(&self) -> usize {
        let hashes = self.tools.len() + self.denied.len() + self.parts.len();
        self.size + hashes * size_of::<u64>()
    }

    pub fn note_call(&mut self, call: &Call) {
        self.tools.insert(hash(&call.name));
        if let Some(id) = &call.id {
            self.denied.remove(&hash(id));
        }
    }

    pub fn is_tool(&self, name: &str) -> bool {
        self.tools.contains(&hash(name))
    }

    pub fn ask(&mut self, request: &str, call: &str) {
        self.size += size_of::<(u64, String)>() + call.len();
        self.requests.insert(hash(request), call.into());
    }

    /// Returns the id of the call that a person was asked to approve.
    pub fn asked(&self, request: &str) -> Option<&String> {
        self.requests.get(&hash(request))
    }

    /// Remembers that a call was refused. Returns whether this is new.
    pub fn deny(&mut self, call: &str) -> bool {
        self.denied.insert(hash(call))
    }

    pub fn is_denied(&self, call: &str) -> bool {
        self.denied.contains(&hash(call))
    }

    /// Remembers a part. Returns whether it is new.
    pub fn add_part(&mut self, part: Value) -> bool {
        self.parts.insert(hash_of(part))
    }
}
