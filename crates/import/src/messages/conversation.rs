//! The events of a conversation, and what reading more of it needs to know.

use std::{borrow::Borrow, mem};

use crate::{
    call::{Call, CallInput, ToolResult, Turn},
    chat::Given,
    events::{Event, Events},
    facts::RunFacts,
    harness::Harness,
    ids::Ids,
    json::{self, Members, Value},
    provenance::Origin,
    seen::Seen,
    skipped::Skipped,
    text::{Output, text_of},
};

/// The conversation of an agent while its messages are read.
#[derive(Debug, Default)]
pub struct Conversation {
    pub events: Events,
    pub skipped: Skipped,
    pub facts: RunFacts,
    pub given: Given,
    /// What of these may be calls, by their members.
    pub possible_calls: Skipped,
    /// The next turn.
    pub next: Turn,
    /// The turns of answers that come as several records, by the ids in these.
    pub turns: Ids,
    /// The places of calls and results among the events, by the ids of the calls.
    pub places: Ids,
    /// The place of the first event of the record that is being read.
    pub begun: usize,
    /// The turn that continues with the next item of the assistant.
    pub(super) open: Option<Turn>,
    /// Whether all messages belong to the open turn.
    pub(super) is_answer: bool,
    /// Results that follow after the last part of their step.
    pub(super) results: Events,
    pub harness: Harness,
    /// What a person asked otherwise than in a message: a typed command, or what a summary has of it.
    pub instead: Option<(String, Origin)>,
    /// Whether a person said something.
    pub is_asked: bool,
    pub seen: Seen,
}

impl Conversation {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        let events = self.events.size() + self.results.size();
        let instead = self.instead.as_ref().map_or(0, |(text, _)| text.len());
        events + instead + self.facts.size() + self.seen.size() + self.given.size()
    }

    /// Adds the time of a record that has added the events from a place on.
    pub fn end_record(&mut self, time: Option<Value>, begin: usize) {
        let added = self.events.get(begin..).unwrap_or_default();
        let is_person = added.iter().any(|event| event.human().is_some());
        self.facts.at(time, is_person);
    }

    pub fn read_each<'d>(
        &mut self,
        list: Option<Value<'d>>,
        mut read: impl FnMut(&mut Self, Value<'d>),
    ) {
        self.skipped.objects(list).for_each(|object| read(self, object));
    }

    /// Adds a call of the open turn.
    pub fn tool_call(&mut self, name: Option<&str>, input: CallInput, id: Option<&str>) {
        let turn = self.turn();
        self.call(Call::new(name, input, id, turn));
    }

    /// Adds the result of the call with this id.
    pub fn tool_result(&mut self, id: Option<&str>, output: Output, failed: Option<bool>) {
        let refused = id.is_some_and(|id| self.seen.is_denied(id));
        let (id, result) = (id.map(Into::into), output.into_result(failed));
        let result = self.judged(ToolResult { id, refused, ..result });
        self.events.push(Event::Result(result));
    }

    /// Adds the texts of a person as one event, if there are any.
    pub fn say_human(&mut self, texts: &[impl Borrow<str>]) {
        if !texts.is_empty() {
            self.is_asked |= texts.iter().any(|text| !json::is_blank(text.borrow()));
            self.events.push(Event::Human(texts.join("\n")));
        }
    }

    pub fn skip_as_part(&mut self, part: Value) {
        self.skipped.add_part(part.text("type").unwrap_or("?"));
    }

    pub fn next_turn(&mut self) -> Turn {
        self.next += 1;
        self.next - 1
    }

    /// Returns the turn of the answer with this id; a new one without an id.
    pub fn turn_of(&mut self, id: Option<&str>) -> Turn {
        let turn = self.turns.get_or_insert(id, || self.next);
        self.next = self.next.max(turn + 1);
        turn
    }

    /// Adds a call or a result. One that repeats the last one with its id, of an earlier record, takes its place: a call
    /// before it is answered, if it is of the same turn; a result before there is another call. Returns whether it does.
    pub fn put(&mut self, event: Event) -> bool {
        let earlier = event.id().and_then(|id| self.places.get(id)).map(|place| place as usize);
        let earlier = earlier.filter(|place| *place < self.begun);
        let repeated = earlier.filter(|place| match (&self.events[*place], &event) {
            (Event::Call(earlier), Event::Call(call)) => earlier.turn == call.turn,
            (earlier, event) => earlier.call().is_none() && event.call().is_none(),
        });
        if let Some(place) = repeated {
            self.events.replace(place, event);
        } else {
            event.id().map(|id| self.places.insert(id, self.events.len() as u32));
            self.events.push(event);
        }
        repeated.is_some()
    }

    /// Returns the first text of a person that is not blank.
    pub fn first_human(self) -> Option<String> {
        let mut texts = self.events.iter().filter_map(Event::human);
        texts.find(|text| !json::is_blank(text)).cloned()
    }

    /// Adds a text of the program to the model, if it is kept.
    pub fn instruct(&mut self, content: Option<Value>) {
        if self.given.is_kept {
            let parts = content.member("parts").or(content);
            let text = text_of(parts, &mut Skipped::default()).text;
            self.events.extend((!json::is_blank(&text)).then_some(Event::System(text)));
        }
    }

    pub fn end_turn(&mut self) {
        if !self.is_answer {
            self.open = None;
        }
    }

    pub fn turn(&mut self) -> Turn {
        let turn = self.open.unwrap_or_else(|| self.next_turn());
        self.open = Some(turn);
        turn
    }

    pub fn call(&mut self, call: Call) {
        self.seen.note_call(&call);
        self.events.push(Event::Call(call));
    }

    /// Adds a call, and its result after the last part of the step.
    pub fn call_with_result(&mut self, call: Call, result: Option<ToolResult>) {
        self.answer(&call, result);
        self.call(call);
    }

    /// Adds the result of a call after the last part of the step.
    pub fn answer(&mut self, call: &Call, result: Option<ToolResult>) {
        self.results.extend(result.map(|result| Event::Result(call.answer(result))));
    }

    /// Changes the events from a place on, or removes them.
    pub fn amend(&mut self, begin: usize, mut keep: impl FnMut(&mut Event, &mut Skipped) -> bool) {
        let mut events = self.events.split_off(begin);
        events.retain_mut(|event| keep(event, &mut self.skipped));
        self.events.extend(events);
    }

    /// Ends a step: adds the results of its calls.
    pub fn end_step(&mut self) {
        self.events.extend(mem::take(&mut self.results));
    }

    pub(super) fn add_result(&mut self, result: ToolResult) {
        let result = ToolResult { is_within: self.open.is_some(), ..self.judged(result) };
        self.events.push(Event::Result(result));
    }

    /// Returns a result by the words of the program.
    pub fn judged(&mut self, result: ToolResult) -> ToolResult {
        let (text, failed, refused) = self.harness.result(result.text, &mut self.skipped);
        let [failed, refused] = [result.failed || failed, result.refused || refused];
        ToolResult { text, failed, refused, ..result }
    }
}
