//! Calls are embedded concurrently and settled one after another, in the order in which they were made.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError},
};

use knowledgepulse_tasks::{has_waiting, spawn};

use crate::{
    embed::Embed,
    error::{Error, Result},
    scorer::{
        answer::{Call, CallHandle, Common, EmbeddedCall, Reply, Work, answer},
        memory::Memory,
    },
    sync::{Condvar, Mutex, MutexGuard},
};

/// The calls of a scorer, and the threads that work on them.
pub(super) struct Turns {
    pub common: Arc<Common>,
    pub memory: Memory,
    /// The most threads that embed at once.
    concurrency: usize,
    order: Mutex<Order>,
    idle: Condvar,
}

#[derive(Default)]
struct Order {
    /// Tickets given out, one for each call.
    issued: u64,
    /// The ticket that is settled next.
    next: u64,
    /// Not yet begun.
    queue: VecDeque<(u64, Arc<Call>)>,
    /// Threads that work on calls, or are about to.
    workers: usize,
    /// Being embedded, or settled, just now.
    active: BTreeMap<u64, Arc<Call>>,
    /// Embedded, but not yet their turn.
    embedded: BTreeMap<u64, EmbeddedCall>,
    /// Work of [`Turns::during`].
    others: usize,
    /// A thread is settling; others leave their results to it.
    settling: bool,
}

impl Order {
    /// Returns whether every call has its answer.
    fn is_idle(&self) -> bool {
        self.next == self.issued && !self.settling
    }

    /// Takes the call whose turn it is, if it is embedded.
    fn take_next(&mut self) -> Option<EmbeddedCall> {
        let embedded = self.embedded.remove(&self.next)?;
        self.next += 1;
        Some(embedded)
    }
}

impl Turns {
    pub fn new(common: Arc<Common>, memory: Memory, concurrency: usize) -> Arc<Self> {
        let (order, idle) = Default::default();
        Arc::new(Self { common, memory, concurrency, order, idle })
    }

    /// Adds a call to the queue.
    pub fn queue(&self, work: Work, embedder: Arc<dyn Embed>, reply: Reply) -> CallHandle {
        let mut order = self.lock();
        if self.common.is_closed() {
            drop(order);
            answer(reply, Err(Error::closed()));
            return CallHandle::default();
        }
        self.common.count(|statistics| statistics.accepted += 1);
        let call = Call::new(self.common.clone(), work, embedder, reply);
        let handle = CallHandle::new(&call);
        if order.is_idle()
            && matches!(call.work, Work::Score(_) | Work::Peek(_))
            && let Some(reason) = self.unavailable_reason(&*call.embedder)
        {
            drop(order);
            // Scoring takes less time than waking a thread.
            self.memory.settle(EmbeddedCall::unavailable(call, reason));
            return handle;
        }
        let ticket = order.issued;
        order.issued += 1;
        order.queue.push_back((ticket, call));
        handle
    }

    /// Has a thread work on the queue, beside those that do.
    pub fn start(self: &Arc<Self>) {
        let mut order = self.lock();
        if order.queue.is_empty() || order.workers >= self.concurrency {
            return;
        }
        let turns = self.clone();
        match spawn(move || turns.work()) {
            Ok(()) => order.workers += 1,
            // The other threads come to it.
            Err(_) if order.workers > 0 => {}
            Err(error) => {
                let calls = mem::take(&mut order.queue);
                order.next = order.issued;
                drop(order);
                for owed in calls.iter().filter_map(|(_, call)| call.take_answer()) {
                    owed.settle(Err(Error::no_threads(&error)));
                }
            }
        }
    }

    /// See [`Scorer::unavailable_reason`](super::Scorer::unavailable_reason).
    pub fn unavailable_reason(&self, embedder: &dyn Embed) -> Option<Arc<str>> {
        match self.memory {
            Memory::Own(_) => embedder.unavailable_reason(),
            Memory::Shared(_) => None,
        }
    }

    /// See [`Scorer::close`](super::Scorer::close).
    pub fn close(&self) {
        let mut order = self.lock();
        self.common.close();
        let mut calls = order.active.clone();
        calls.extend(order.queue.drain(..));
        let embedded = mem::take(&mut order.embedded);
        calls.extend(embedded.into_iter().map(|(ticket, embedded)| (ticket, embedded.call)));
        drop(order);
        let sent = match &self.memory {
            Memory::Own(_) => Vec::new(),
            Memory::Shared(memory) => memory.close(),
        };
        for owed in sent.iter().chain(calls.values()).filter_map(|call| call.cancel()) {
            owed.settle(Err(Error::closed()));
        }
        let mut order = self.lock();
        while !order.active.is_empty() || order.others > 0 {
            order = self.idle.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// See [`Scorer::during`](super::Scorer::during).
    pub fn during<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        struct Other<'a>(&'a Turns);

        impl Drop for Other<'_> {
            fn drop(&mut self) {
                self.0.lock().others -= 1;
                self.0.idle.notify_all();
            }
        }

        let mut order = self.lock();
        if self.common.is_closed() {
            return Err(Error::closed());
        }
        order.others += 1;
        drop(order);
        let _other = Other(self);
        work()
    }

    /// Works on the calls of the queue, and lets other work run between them.
    fn work(self: Arc<Self>) {
        while let Some((ticket, call)) = self.begin() {
            self.start();
            self.settle(ticket, EmbeddedCall::embed(call));
            // Last, because `close` may return as soon as this is gone; dropped without the lock.
            let mut order = self.lock();
            let (done, has_more) = (order.active.remove(&ticket), !order.queue.is_empty());
            drop(order);
            drop(done);
            self.idle.notify_all();
            if has_more && has_waiting() {
                let turns = self.clone();
                if spawn(move || turns.work()).is_ok() {
                    return;
                }
            }
        }
    }

    /// Returns the next call of the queue; `None` ends the thread that asks.
    fn begin(&self) -> Option<(u64, Arc<Call>)> {
        let mut order = self.lock();
        let next = order.queue.pop_front();
        match &next {
            Some((ticket, call)) => drop(order.active.insert(*ticket, call.clone())),
            None => order.workers -= 1,
        }
        next
    }

    /// Settles every call whose turn it is, this one included, without holding up those who submit.
    fn settle(&self, ticket: u64, embedded: EmbeddedCall) {
        let mut order = self.lock();
        if self.common.is_closed() {
            // `close` has answered the call, which must not be dropped under the lock.
            drop(order);
            return;
        }
        order.embedded.insert(ticket, embedded);
        if order.settling {
            return;
        }
        order.settling = true;
        while let Some(embedded) = order.take_next() {
            drop(order);
            // After a panic, `settling` must not stay set, or no call would be settled any more.
            let _ = catch_unwind(AssertUnwindSafe(|| self.memory.settle(embedded)));
            order = self.lock();
        }
        order.settling = false;
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turns {
    /// Calls that are dropped with it are answered with `CLOSED`.
    fn drop(&mut self) {
        self.common.close();
    }
}
