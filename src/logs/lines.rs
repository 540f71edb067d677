//! Lines for JavaScript, in the order of their traces.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex},
};

use knowledgepulse_scoring::{Error, Result, scorer::CallHandle};
use knowledgepulse_workers::{Intake, lock};
use napi::{Env, bindgen_prelude::Buffer};
use napi_derive::napi;

use crate::{env::Deferred, model::Warning};

/// The maximum number of rows that are being scored or wait for an earlier one.
const MAX_SLOTS: usize = 1024;

/// The maximum bytes of text in calls that are being scored; the last call may exceed it.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// The maximum bytes of lines that wait to be taken; the last line may exceed it.
const MAX_LINE_BYTES: usize = 256 << 10;

/// The next output of a reader.
#[napi(object, object_from_js = false)]
pub struct Ready {
    /// Lines of JSON, each with its line feed.
    pub lines: Buffer,
    /// The error that has ended reading, as JSON.
    pub error: Option<String>,
    /// Whether the next piece of input should be pushed. Set once for each piece.
    pub wants_input: bool,
    /// Whether lines will follow without further input.
    pub is_pending: bool,
    /// Whether nothing follows.
    pub is_last: bool,
}

/// Lines in the order of their traces.
pub struct Lines {
    /// Whether errors are lines. If not, the first one ends reading.
    pub collects: bool,
    /// Whether input is wanted before all lines are taken.
    reads_ahead: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: usize,
    /// Bytes of text in calls that have no result yet.
    text_bytes: usize,
    /// Lines before the slots that are not taken yet.
    lines: String,
    /// The error that ends reading, as JSON.
    error: Option<String>,
    /// The first warning about the lines.
    warning: Option<Warning>,
    input: Intake,
    /// The failure of the reader itself.
    broken: Option<Error>,
    /// The promise of the next [`Ready`].
    waiting: Option<Deferred>,
}

/// The place of a line.
pub enum Slot {
    /// A trace that is being scored, and the bytes of its text.
    Call(CallHandle, usize),
    /// A line without its line feed, and a warning about it.
    Line(String, Option<Warning>),
    /// An error, as JSON.
    Failed(String),
}

/// Adds a line of JSON, in which controls that a terminal obeys are escaped; JSON itself escapes the first 32.
fn push_line(lines: &mut String, line: &str) {
    let is_control = |c: char| {
        let bidirectional = ['\u{61c}', '\u{200e}', '\u{200f}'];
        matches!(c, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || bidirectional.contains(&c)
    };
    let mut rest = line;
    while !rest.is_ascii()
        && let Some((start, control)) = rest.char_indices().find(|(_, c)| is_control(*c))
    {
        *lines += &format!("{}\\u{:04x}", &rest[..start], u32::from(control));
        rest = &rest[start + control.len_utf8()..];
    }
    *lines += rest;
    lines.push('\n');
}

impl State {
    fn slot(&mut self, number: usize) -> Option<&mut Slot> {
        self.slots.get_mut(number.checked_sub(self.first)?)
    }

    /// Moves the slots before the first pending call to the lines.
    fn advance(&mut self, collects: bool) {
        while self.error.is_none()
            && let Some(slot) = self.slots.pop_front()
        {
            match slot {
                Slot::Call(..) => return self.slots.push_front(slot),
                Slot::Line(line, warning) => {
                    push_line(&mut self.lines, &line);
                    self.warning = self.warning.take().or(warning);
                }
                Slot::Failed(json) if collects => {
                    push_line(&mut self.lines, &format!("{{\"error\":{json}}}"));
                }
                Slot::Failed(json) => self.error = Some(json),
            }
            self.first += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.slots.len() >= MAX_SLOTS
            || self.text_bytes >= MAX_TEXT_BYTES
            || self.lines.len() >= MAX_LINE_BYTES
    }

    fn is_last(&self) -> bool {
        self.input == Intake::Ended && self.slots.is_empty()
    }

    fn is_ready(&self) -> bool {
        !self.lines.is_empty()
            || self.error.is_some()
            || self.broken.is_some()
            || self.input == Intake::Read
            || self.is_last()
    }
}

impl Lines {
    pub fn new(collects: bool, reads_ahead: bool) -> Arc<Self> {
        Arc::new(Self { collects, reads_ahead, state: Mutex::default() })
    }

    /// Changes the state, and settles the waiting promise if there is output.
    fn update<R>(self: &Arc<Self>, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        state.advance(self.collects);
        if state.is_ready()
            && let Some(mut deferred) = state.waiting.take()
        {
            let (lines, broken) = (self.clone(), state.broken.take());
            drop(state);
            // Taken on the JavaScript thread, to include lines made meanwhile.
            deferred.settle(broken.map_or(Ok(()), Err), move |env, ()| Ok(lines.take(env)));
        }
        result
    }

    /// Settles `deferred` with the next [`Ready`]. Returns whether reading must continue because there is room.
    pub fn wait(self: &Arc<Self>, deferred: Deferred) -> bool {
        self.update(|state| {
            state.waiting = Some(deferred);
            let is_full = state.is_full();
            state.input.resumes(is_full)
        })
    }

    fn take(&self, env: &Env) -> Ready {
        let mut state = lock(&self.state);
        let lines = mem::take(&mut state.lines);
        let (error, warning) = (state.error.take(), state.warning.take());
        let wants_input = state.input == Intake::Read && (self.reads_ahead || lines.is_empty());
        if wants_input {
            state.input = Intake::Busy;
        }
        let (is_pending, is_last) = (!state.slots.is_empty(), state.is_last());
        drop(state);
        if let Some(warning) = warning {
            warning.emit(env);
        }
        Ready { lines: lines.into_bytes().into(), error, wants_input, is_pending, is_last }
    }

    /// Returns whether the thread that reads goes on; see [`Intake::goes_on`].
    pub fn goes_on(&self) -> bool {
        let mut state = lock(&self.state);
        let is_full = state.is_full();
        state.input.goes_on(is_full)
    }

    /// Records that a worker thread has failed, or has stopped reading, and whether it has read everything.
    pub fn pause(self: &Arc<Self>, is_read: Result<bool>) {
        self.update(|state| match is_read {
            Err(error) => (state.input, state.broken) = (Intake::Ended, Some(error)),
            Ok(true) => state.input.read(),
            Ok(false) => {}
        });
    }

    /// Adds a slot, which JavaScript gets after [`Lines::pause`]. Returns its number, or `None` after the end.
    pub fn push(&self, slot: Slot) -> Option<usize> {
        let mut state = lock(&self.state);
        if state.input == Intake::Ended {
            return None;
        }
        match slot {
            Slot::Call(_, text_bytes) => state.text_bytes += text_bytes,
            Slot::Failed(_) if !self.collects => state.input = Intake::Ended,
            Slot::Failed(_) | Slot::Line(..) => {}
        }
        let number = state.first + state.slots.len();
        state.slots.push_back(slot);
        state.advance(self.collects);
        Some(number)
    }

    /// Stores the handle of a call, or aborts the call if its slot is gone. One with a result cannot be aborted.
    pub fn keep(&self, number: usize, call: CallHandle) {
        let mut state = lock(&self.state);
        if let Some(Slot::Call(handle, _)) = state.slot(number) {
            *handle = call;
        } else {
            drop(state);
            call.abort();
        }
    }

    /// Puts the result of a call into its slot.
    pub fn settle(self: &Arc<Self>, number: usize, result: Slot) {
        let is_end = !self.collects && matches!(result, Slot::Failed(_));
        let call = self.update(|state| {
            let call = mem::replace(state.slot(number)?, result);
            if let Slot::Call(_, text_bytes) = call {
                state.text_bytes -= text_bytes;
            }
            Some(call)
        });
        if is_end && call.is_some() {
            self.end_from(number + 1);
        }
    }

    /// Ends reading, and aborts the calls from `number` on.
    pub fn end_from(self: &Arc<Self>, number: usize) {
        let ended = self.update(|state| {
            state.input = Intake::Ended;
            let kept = number.saturating_sub(state.first).min(state.slots.len());
            state.slots.split_off(kept)
        });
        for slot in ended {
            if let Slot::Call(call, _) = slot {
                call.abort();
            }
        }
    }
}
