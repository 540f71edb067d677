//! A run of an agent, as a format reads it.

use std::ops::{Deref, DerefMut};

use crate::{
    json::{Members, Value},
    messages::Conversation,
    provenance::Origin,
    time,
};

/// The data of one run of an agent.
#[derive(Debug, Default)]
pub struct Run {
    /// The line at which its first record begins, from 1.
    pub line: u64,
    pub key: Option<String>,
    /// Why it is left out, whatever it has.
    pub left_out: Option<&'static str>,
    /// The objective, if the format has a field for it.
    pub objective: Option<String>,
    /// The objective if no person says anything.
    pub fallback: Option<(String, Origin)>,
    /// Whether it succeeded, by someone's judgement.
    pub label: Option<bool>,
    /// Whether it ended with a failure. That it ended in order does not say that it succeeded.
    pub has_failed: bool,
    /// The confidence in the log, in \[0, 1\].
    pub confidence: Option<f64>,
    pub logprobs: Logprobs,
    /// When it began, as [`crate::time::utc`] writes it.
    pub created_at: Option<String>,
    pub conversation: Conversation,
}

impl Run {
    /// Returns the approximate size in bytes of what it holds.
    pub fn size(&self) -> usize {
        let fallback = self.fallback.as_ref().map(|(text, _)| text);
        let texts = [self.key.as_ref(), self.objective.as_ref(), fallback].into_iter().flatten();
        texts.map(String::len).sum::<usize>() + self.conversation.size()
    }

    /// Reads a record with this time. The first one is that of the run.
    pub fn record(&mut self, time: Option<Value>, read: impl FnOnce(&mut Self)) {
        if self.created_at.is_none() {
            self.created_at = time.and_then(time::utc);
        }
        let begin = self.events.len();
        self.begun = begin;
        read(self);
        self.end_record(time, begin);
    }
}

impl Deref for Run {
    type Target = Conversation;

    fn deref(&self) -> &Conversation {
        &self.conversation
    }
}

impl DerefMut for Run {
    fn deref_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }
}

/// Returns the success according to a label: a boolean, 0 or 1.
pub fn truth(label: Value) -> Option<bool> {
    match label.as_f64() {
        Some(0.0) => Some(false),
        Some(1.0) => Some(true),
        _ => label.as_bool(),
    }
}

/// The mean of the logarithms of tokens' probabilities.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logprobs {
    sum: f64,
    count: u32,
}

impl Logprobs {
    /// Adds an array of tokens with `logprob`, or of numbers.
    pub fn add(&mut self, tokens: Option<Value>) {
        for token in tokens.and_then(Value::as_array).into_iter().flatten() {
            if let Some(logprob) = token.member("logprob").unwrap_or(token).as_f64() {
                self.sum += logprob;
                self.count += 1;
            }
        }
    }

    /// Returns e to the power of the mean, rounded to 6 decimals; `None` without tokens.
    pub fn confidence(&self) -> Option<f64> {
        let mean = self.sum / f64::from(self.count);
        let confidence = (mean.exp().min(1.0) * 1e6).round() / 1e6;
        (self.count > 0).then_some(confidence)
    }
}
