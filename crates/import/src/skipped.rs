//! What is not imported.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::json::Value;

/// A longer reason loses its part from the log.
const MAX_REASON_BYTES: usize = 80;
/// Beyond this many reasons, new ones lose their part from the log.
const MAX_REASONS: usize = 1000;

/// Counts of what is not imported, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Skipped(BTreeMap<String, u64>);

impl Skipped {
    /// Counts one item; see [`Self::add_many`].
    pub fn add(&mut self, reason: impl Into<String>) {
        self.add_many(reason, 1);
    }

    /// Counts items. Reasons with text of the log that are very long or very many count as one.
    pub fn add_many(&mut self, reason: impl Into<String>, count: u64) {
        if count == 0 {
            return;
        }
        let mut reason = reason.into();
        let is_odd = reason.len() > MAX_REASON_BYTES || self.0.len() >= MAX_REASONS;
        if is_odd
            && !self.0.contains_key(&reason)
            && let Some((kind, _)) = reason.split_once(':')
        {
            reason = format!("{kind}:?");
        }
        *self.0.entry(reason).or_default() += count;
    }

    /// Returns the objects in an array. Anything else but null counts as malformed.
    pub fn objects<'d>(
        &mut self,
        list: Option<Value<'d>>,
    ) -> impl Iterator<Item = Value<'d>> + use<'d> {
        let list = list.filter(|list| !list.is_null());
        let elements = list.and_then(Value::as_array);
        let others = elements.into_iter().flatten().filter(|element| !element.is_object());
        let others = others.chain(list.filter(|_| elements.is_none()));
        self.add_many("malformed", others.count() as u64);
        elements.into_iter().flatten().filter_map(Value::as_object)
    }

    /// Counts a record of a session.
    pub fn add_record(&mut self, kind: &str) {
        self.add(format!("record:{kind}"));
    }

    /// Counts a message with this role, which it must have.
    pub fn add_role(&mut self, role: Option<&str>) {
        self.add(role.map_or_else(|| "malformed".into(), |role| format!("role:{role}")));
    }

    /// Counts a part.
    pub fn add_part(&mut self, kind: &str) {
        self.add(format!("part:{kind}"));
    }

    /// Returns the types of the parts.
    pub fn part_types(&self) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(|reason| reason.strip_prefix("part:"))
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: Self) {
        for (reason, count) in other.0 {
            self.add_many(reason, count);
        }
    }

    /// Raises the count of each reason to that in `other`, if it is lower.
    pub fn max(&mut self, other: &Self) {
        for (reason, count) in &other.0 {
            let own = self.0.entry(reason.clone()).or_default();
            *own = (*own).max(*count);
        }
    }

    /// Returns the reasons and their counts, sorted by reason.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (reason.as_str(), *count))
    }
}
