//! The events of model calls, most of which repeat the conversation so far.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    mem,
};

use super::span::Span;
use crate::{
    answers::{Waiting, answered_calls},
    call::Call,
    events::Event,
    json,
    messages::Conversation,
    run::Run,
    skipped::Skipped,
};

#[derive(Default)]
pub(super) struct History {
    /// Each event once.
    pub events: Vec<Event>,
    /// The places of equal events.
    places: HashMap<Key, Vec<usize>>,
    /// The places of the results of the call at a place.
    pub answers: HashMap<usize, BTreeSet<usize>>,
    /// What is not imported: for each reason the largest count of a model call.
    pub skipped: Skipped,
}

/// The identity of an event.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    System(String),
    Human(String),
    Thought(String),
    CallId(String),
    Call(String, u64),
    ResultId(String),
    Result(Option<String>, String),
}

impl Key {
    fn of(event: &Event) -> Self {
        match event {
            Event::System(text) => Self::System(text.clone()),
            Event::Human(text) => Self::Human(json::trimmed(text).into()),
            Event::Thought { text, .. } => Self::Thought(json::trimmed(text).into()),
            Event::Call(call) => match &call.id {
                Some(id) => Self::CallId(id.clone()),
                None => Self::Call(call.name.clone(), call.input.hash()),
            },
            Event::Result(result) => match &result.id {
                Some(id) => Self::ResultId(id.clone()),
                None => Self::Result(result.name.clone(), result.text.clone()),
            },
        }
    }
}

impl History {
    /// Adds the events of a model call of a run that are new. Below a tool (`is_delegated`), no person says anything.
    pub fn read(&mut self, span: &Span, is_delegated: bool, run: &mut Run) {
        let mut conversation = Conversation::default();
        (conversation.next, conversation.given) = (run.next, mem::take(&mut run.given));
        span.given.iter().for_each(|given| conversation.read_given(*given));
        let repeated = conversation.read_sides(&span.sides);
        (run.next, run.given) = (conversation.next, mem::take(&mut conversation.given));
        self.skipped.max(&conversation.skipped);
        run.possible_calls.merge(conversation.possible_calls);

        let mut events: Vec<_> = conversation.events.into_iter().collect();
        self.rename(&mut events, repeated);
        let mut calls = answered_calls(&events).into_iter();
        // The places of the calls in this model call.
        let mut said = Vec::new();
        // The number of equal events in this model call, by the place of the first of them.
        let mut counts: HashMap<usize, usize> = HashMap::new();
        // The place at which a history begins that has lost earlier messages.
        let mut begin = None;
        for (index, mut event) in events.into_iter().enumerate() {
            let mut answered = None;
            if let Event::Result(result) = &mut event {
                let call = calls.next().flatten().map(|call| said[call]);
                answered = call.or_else(|| self.call(result.id.as_ref()?));
                if let (None, Some(call)) =
                    (&result.id, answered.and_then(|place| self.events[place].call()))
                {
                    result.id.clone_from(&call.id);
                    result.name = Some(call.name.clone());
                }
            }
            let next = self.events.len();
            let is_new = match &event {
                Event::Call(call) => index >= repeated && self.is_used_again(call),
                _ => answered.is_some_and(|call| !self.answers.contains_key(&call)),
            };
            let places = self.places.entry(Key::of(&event)).or_default();
            let lost = match &event {
                Event::Human(_) => places.partition_point(|place| Some(*place) < begin),
                _ => 0,
            };
            let count = counts.entry(places.first().copied().unwrap_or(next)).or_insert(lost);
            let place = places.get(*count).copied().filter(|_| !is_new).unwrap_or(next);
            if is_delegated && place == next && event.human().is_some() {
                run.skipped.add("subagent_prompt");
                continue;
            }
            *count += 1;
            if !matches!(event, Event::System(_)) {
                begin.get_or_insert(if place == next { 0 } else { place });
            }
            if event.call().is_some() {
                said.push(place);
            }
            if let Some(call) = answered {
                self.answers.entry(call).or_default().insert(place);
            }
            if place == next {
                places.push(place);
                self.events.push(event);
            } else if !matches!(event, Event::System(_)) {
                run.skipped.add("repeated");
            }
        }
    }

    /// Gives repeated calls the ids that they had when they were made. Some instrumentations record another id with the
    /// history, but that of the answer.
    fn rename(&self, events: &mut [Event], repeated: usize) {
        let ids = |event: &Event| event.id().map(str::to_owned);
        let (called, others): (Vec<_>, Vec<_>) =
            events.iter().partition(|event| event.call().is_some());
        let called: HashSet<_> = called.into_iter().filter_map(ids).collect();
        let answered: Vec<_> = others.into_iter().filter_map(ids).collect();
        let mut made = Waiting::default();
        for id in answered.iter().filter(|id| !called.contains(*id)) {
            if let Some(place) = self.call(id)
                && let Some(Call { name, input, .. }) = self.events[place].call()
            {
                made.add(place, [(name.clone(), input.hash())]);
            }
        }
        let answered: HashSet<_> = answered.into_iter().collect();
        let is_other = |id: &String| !answered.contains(id) && self.call(id).is_none();
        for event in events.iter_mut().take(repeated) {
            if let Event::Call(call) = event
                && call.id.as_ref().is_some_and(is_other)
                && let Some(place) = made.take([(call.name.clone(), call.input.hash())])
            {
                call.id = self.events[place].id().map(Into::into);
            }
        }
    }

    /// Returns whether a call had the id of this one, and was answered.
    fn is_used_again(&self, call: &Call) -> bool {
        let last = call.id.as_ref().and_then(|id| self.call(id));
        last.is_some_and(|place| self.answers.contains_key(&place))
    }

    /// Returns the place of the last call with an id, also of earlier model calls: some logs record only new messages.
    fn call(&self, id: &str) -> Option<usize> {
        self.places.get(&Key::CallId(id.to_owned()))?.last().copied()
    }

    pub fn calls(&self) -> impl Iterator<Item = (usize, &Call)> {
        self.events.iter().enumerate().filter_map(|(place, event)| Some((place, event.call()?)))
    }

    /// Marks the results of a call as failed.
    pub fn fail(&mut self, call: usize) {
        for place in self.answers.get(&call).into_iter().flatten() {
            if let Event::Result(result) = &mut self.events[*place] {
                result.failed = true;
            }
        }
    }
}
