//! Rows on their way to JavaScript, in the order of their traces.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex},
};

use knowledgepulse_scoring::scorer::CallHandle;
use napi::{Env, bindgen_prelude::Buffer};
use napi_derive::napi;

use super::lock;
use crate::{env::Deferred, model::Warning};

/// Rows that are being made, or wait for one before them, at most.
const WINDOW: usize = 1024;

/// Text of calls that are being made, in bytes; one more call may exceed it.
const WINDOW_BYTES: usize = 4 << 20;

/// Lines that wait to be taken, in bytes; those of one more batch may exceed it.
const WINDOW_LINES: usize = 512 << 10;

/// Rows that are ready.
#[napi(object, object_from_js = false)]
pub struct Rows {
    /// Lines of JSON, each with its end.
    pub lines: Buffer,
    /// The error that has ended it, as JSON.
    pub error: Option<String>,
    /// Whether nothing follows.
    pub is_last: bool,
}

/// Rows on their way, in the order of their traces.
pub struct Flow {
    /// Whether errors are rows. If not, the first one ends it.
    collects: bool,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    /// Text of calls that have no result yet.
    bytes: usize,
    /// What was before the slots, and is not taken yet.
    ready: Ready,
    /// Nothing is added any more.
    is_finished: bool,
    /// Who waits for rows.
    waiting: Option<Deferred>,
}

/// Lines of JSON, and what ends them.
#[derive(Default)]
struct Ready {
    lines: Vec<u8>,
    /// As JSON.
    error: Option<String>,
    /// What the user has to know of them.
    warning: Option<Warning>,
}

impl Ready {
    fn add(&mut self, slot: Slot, collects: bool) {
        match slot {
            Slot::Call(_) => {}
            Slot::Line(line, warning) => {
                self.lines.extend_from_slice(&line);
                self.warning = self.warning.take().or(warning);
            }
            Slot::Failed(json) if collects => {
                self.lines.extend_from_slice(format!("{{\"error\":{json}}}\n").as_bytes());
            }
            Slot::Failed(json) => self.error = Some(json),
        }
    }
}

pub enum Slot {
    /// Being scored.
    Call(Option<CallHandle>),
    /// The line of a row, and what the user has to know of it.
    Line(Vec<u8>, Option<Warning>),
    /// What has gone wrong, as JSON.
    Failed(String),
}

impl State {
    fn slot(&mut self, number: u64) -> Option<&mut Slot> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(index)
    }

    /// Makes lines of the slots before the first call.
    fn advance(&mut self, collects: bool) {
        while self.ready.error.is_none() {
            let slot = match self.slots.front_mut() {
                None | Some(Slot::Call(_)) => return,
                Some(slot) => mem::replace(slot, Slot::Call(None)),
            };
            self.slots.pop_front();
            self.first += 1;
            self.ready.add(slot, collects);
        }
    }

    fn is_last(&self) -> bool {
        self.is_finished && self.slots.is_empty()
    }

    fn is_ready(&self) -> bool {
        !self.ready.lines.is_empty() || self.ready.error.is_some() || self.is_last()
    }
}

impl Flow {
    /// With `collects`, errors are rows.
    pub fn new(collects: bool) -> Arc<Self> {
        Arc::new(Self { collects, state: Mutex::default() })
    }

    /// Nothing is added any more.
    pub fn finish(self: &Arc<Self>) {
        self.update(|state| state.is_finished = true);
    }

    /// Gives `deferred` the next [`Rows`], when there are some or nothing follows.
    pub fn wait(self: &Arc<Self>, deferred: Deferred) {
        self.update(|state| state.waiting = Some(deferred));
    }

    /// Changes the state, and hands rows over if somebody waits for them.
    fn update<R>(self: &Arc<Self>, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        state.advance(self.collects);
        let waiting = if state.is_ready() { state.waiting.take() } else { None };
        drop(state);
        if let Some(deferred) = waiting {
            let flow = self.clone();
            // When JavaScript gets round to it, so that it takes all that is ready by then.
            deferred.settle(Ok(()), move |env, ()| Ok(flow.take(env)));
        }
        result
    }

    pub fn is_full(&self) -> bool {
        let state = lock(&self.state);
        !state.is_finished
            && (state.slots.len() >= WINDOW
                || state.bytes >= WINDOW_BYTES
                || state.ready.lines.len() >= WINDOW_LINES)
    }

    /// Adds what has failed before it could be a call, as JSON.
    pub fn fail(self: &Arc<Self>, error: String) {
        self.update(|state| {
            if !state.is_finished {
                state.is_finished = !self.collects;
                state.slots.push_back(Slot::Failed(error));
            }
        });
    }

    /// Adds a call that is about to be made; returns its number, `None` after the end.
    pub fn begin(&self, bytes: usize) -> Option<u64> {
        let mut state = lock(&self.state);
        if state.is_finished {
            return None;
        }
        state.slots.push_back(Slot::Call(None));
        state.bytes += bytes;
        Some(state.first + state.slots.len() as u64 - 1)
    }

    /// Keeps what ends a call.
    pub fn keep(&self, number: u64, call: CallHandle) {
        let mut state = lock(&self.state);
        match state.slot(number) {
            Some(Slot::Call(handle)) => *handle = Some(call),
            // It has been answered, or everything has ended meanwhile.
            Some(_) => {}
            None => {
                drop(state);
                call.abort();
            }
        }
    }

    /// Takes the result of a call.
    pub fn settle(self: &Arc<Self>, number: u64, bytes: usize, result: Slot) {
        let is_end = !self.collects && matches!(result, Slot::Failed(_));
        let is_known = self.update(|state| {
            state.bytes -= bytes;
            state.slot(number).map(|slot| *slot = result).is_some()
        });
        if is_end && is_known {
            self.end(number + 1);
        }
    }

    /// Nothing is added any more, and the calls from `number` on are ended.
    pub fn end(self: &Arc<Self>, number: u64) {
        let ended = self.update(|state| {
            state.is_finished = true;
            let kept = usize::try_from(number.saturating_sub(state.first)).unwrap_or(usize::MAX);
            state.slots.split_off(kept.min(state.slots.len()))
        });
        for slot in ended {
            if let Slot::Call(Some(call)) = slot {
                call.abort();
            }
        }
    }

    /// Takes the rows that are ready.
    fn take(&self, env: &Env) -> Rows {
        let mut state = lock(&self.state);
        let Ready { lines, error, warning } = mem::take(&mut state.ready);
        let is_last = state.is_last();
        drop(state);
        if let Some(warning) = warning {
            warning.emit(env);
        }
        Rows { lines: lines.into(), error, is_last }
    }
}
