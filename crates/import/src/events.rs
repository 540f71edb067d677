//! The events of a run of an agent, in any format.

use std::ops::Deref;

use crate::call::{Call, ToolResult};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Text of the program to the model. Read only for messages.
    System(String),
    Human(String),
    /// Text of the assistant: an answer (`said`) or reasoning.
    Thought {
        text: String,
        said: bool,
    },
    Call(Call),
    Result(ToolResult),
}

impl Event {
    pub fn said(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), said: true }
    }

    pub fn reasoned(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), said: false }
    }

    pub fn human(&self) -> Option<&String> {
        if let Self::Human(text) = self { Some(text) } else { None }
    }

    pub fn call(&self) -> Option<&Call> {
        if let Self::Call(call) = self { Some(call) } else { None }
    }

    /// Returns the id of a call, or of that which a result answers.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Call(call) => call.id.as_deref(),
            Self::Result(result) => result.id.as_deref(),
            Self::System(_) | Self::Human(_) | Self::Thought { .. } => None,
        }
    }

    /// Returns whether events are alike in all members but the turn.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Call(own), Self::Call(other)) => {
                (&own.id, &own.name, &own.input) == (&other.id, &other.name, &other.input)
            }
            _ => self == other,
        }
    }

    /// Returns the approximate size in bytes.
    fn size(&self) -> usize {
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let text = match self {
            Self::System(text) | Self::Human(text) | Self::Thought { text, .. } => text.len(),
            Self::Call(call) => call.name.len() + call.input.json().len() + size(&call.id),
            Self::Result(result) => result.text.len() + size(&result.id) + size(&result.name),
        };
        size_of::<Self>() + text
    }
}

/// Events, whose size is known whatever is added and replaced.
#[derive(Debug, Default)]
pub struct Events {
    list: Vec<Event>,
    size: usize,
    /// Whether the last one is a text of which more may follow.
    is_open: bool,
}

impl Events {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn push(&mut self, event: Event) {
        self.size += event.size();
        self.list.push(event);
        self.is_open = false;
    }

    /// Adds a piece of a text of the assistant, of which more may follow until another event is added.
    pub fn push_piece(&mut self, piece: &str, said: bool) {
        match self.list.last_mut() {
            Some(Event::Thought { text, said: known }) if self.is_open && *known == said => {
                *text += piece;
                self.size += piece.len();
            }
            _ if piece.is_empty() => self.end_text(),
            _ => {
                self.push(Event::Thought { text: piece.into(), said });
                self.is_open = true;
            }
        }
    }

    /// Ends the text whose pieces were added.
    pub fn end_text(&mut self) {
        self.is_open = false;
    }

    /// Puts an event in place of another.
    pub fn replace(&mut self, place: usize, event: Event) {
        self.size += event.size();
        self.size -= self.list[place].size();
        self.list[place] = event;
    }

    /// Removes and returns the events from a place on.
    pub fn split_off(&mut self, place: usize) -> Vec<Event> {
        self.end_text();
        let events = self.list.split_off(place);
        self.size -= events.iter().map(Event::size).sum::<usize>();
        events
    }

    /// Returns whether the first events are like those of another run, and more follow. Reasoning and the texts of the
    /// program do not count: clients seldom send the first again, and may change the second.
    pub fn continues(&self, begun: &Self) -> bool {
        let mut own = self.steps();
        begun.steps().all(|other| own.next().is_some_and(|own| own.is_like(other)))
            && own.next().is_some()
    }

    fn steps(&self) -> impl Iterator<Item = &Event> {
        let is_hidden =
            |event: &&Event| matches!(event, Event::System(_) | Event::Thought { said: false, .. });
        self.list.iter().filter(move |event| !is_hidden(event))
    }
}

impl Deref for Events {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.list
    }
}

impl IntoIterator for Events {
    type Item = Event;
    type IntoIter = std::vec::IntoIter<Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl Extend<Event> for Events {
    fn extend<I: IntoIterator<Item = Event>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}
