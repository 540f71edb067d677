//! What can be asked of a scorer, and an embedder that knows ten texts.

use arbitrary::Arbitrary;
use knowledgepulse_scoring::{
    embedder::{CancelToken, DIMENSIONS, Embed, EmbedError, Embedded, Embedding, Text},
    scorer::{Detail, Task},
    trace::Trace,
};
use serde_json::json;

#[derive(Debug, Clone, Arbitrary)]
pub enum Operation {
    Call(Call),
    /// Of the call so many before.
    Abort(u8),
    /// Waits for everything before it.
    Wait,
    WarmUp,
    Clear,
    Forget(u8),
}

#[derive(Debug, Clone, Arbitrary)]
pub struct Call {
    pub task: u8,
    pub text: u8,
    /// The score is known before the embedding.
    pub is_thought: bool,
    pub id: Option<u8>,
}

impl Call {
    pub fn task(&self) -> Task {
        match self.task % 5 {
            0 => Task::Score(Detail::Value),
            1 => Task::Score(Detail::Account),
            2 => Task::Peek(Detail::Value),
            3 => Task::Peek(Detail::Account),
            _ => Task::Remember,
        }
    }

    pub fn text(&self) -> u8 {
        self.text % 10
    }

    pub fn trace(&self) -> Trace {
        let step = json!({ "type": "thought" });
        Trace::from_json(&json!({
            "id": self.id.map(name),
            "metadata": { "task_domain": "code", "success": true },
            "task": { "objective": self.text().to_string() },
            "steps": if self.is_thought { vec![step] } else { vec![] },
            "outcome": { "confidence": 0.5 },
        }))
        .expect("a trace")
    }
}

pub fn name(id: u8) -> String {
    (id % 3).to_string()
}

/// A vector between two axes for a number; the last two numbers cannot be embedded.
pub struct Axes {
    pub is_required: bool,
}

pub fn axes(number: usize) -> Option<Embedding> {
    let mut embedding = Box::new([0.0; DIMENSIONS]);
    (embedding[number], embedding[number + 1]) = (0.8, 0.6);
    (number < 8).then_some(embedding)
}

impl Embed for Axes {
    fn embed(&self, text: &Text, _: &CancelToken) -> std::result::Result<Embedded, EmbedError> {
        let number = text.as_str().trim().parse().unwrap_or(0);
        axes(number).map(Embedded::from).ok_or_else(|| EmbedError::Runtime("as told".into()))
    }

    fn is_required(&self) -> bool {
        self.is_required
    }
}
