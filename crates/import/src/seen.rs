//! What a conversation remembers of its calls and parts.

use std::collections::{HashMap, HashSet};

use crate::{
    call::{Call, hash_of},
    json::Value,
};

#[derive(Debug, Default)]
pub struct Seen {
    tools: HashSet<String>,
    /// The ids of the calls that people were asked to approve, by the ids of the requests.
    requests: HashMap<String, String>,
    /// The ids of the calls that were refused.
    denied: HashSet<String>,
    /// Hashes of the parts with a time, because Mastra repeats some.
    parts: HashSet<u64>,
    /// The size of these texts and hashes in bytes.
    size: usize,
}

impl Seen {
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn note_call(&mut self, call: &Call) {
        if !self.tools.contains(&call.name) {
            self.size += call.name.len();
            self.tools.insert(call.name.clone());
        }
        if let Some(id) = &call.id
            && self.denied.remove(id)
        {
            self.size -= id.len();
        }
    }

    pub fn is_tool(&self, name: &str) -> bool {
        self.tools.contains(name)
    }

    pub fn ask(&mut self, request: &str, call: &str) {
        self.size += request.len() + call.len();
        self.requests.insert(request.into(), call.into());
    }

    /// Returns the id of the call that a person was asked to approve.
    pub fn asked(&self, request: &str) -> Option<&String> {
        self.requests.get(request)
    }

    /// Remembers that a call was refused. Returns whether this is new.
    pub fn deny(&mut self, call: &str) -> bool {
        let is_new = self.denied.insert(call.into());
        self.size += if is_new { call.len() } else { 0 };
        is_new
    }

    pub fn is_denied(&self, call: &str) -> bool {
        self.denied.contains(call)
    }

    /// Remembers a part. Returns whether it is new.
    pub fn add_part(&mut self, part: Value) -> bool {
        self.size += size_of::<u64>();
        self.parts.insert(hash_of(part))
    }
}
