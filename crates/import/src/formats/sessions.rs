//! Logs in which one session follows another: Pi's and Codex's.

use crate::{
    event::{Event, Run},
    format::Output,
    json::{Members, Value},
    messages::Conversation,
    reader::MAX_BYTES,
    time,
};

/// The sessions of one input.
#[derive(Default)]
pub struct Sessions {
    open: Option<Session>,
}

#[derive(Default)]
struct Session {
    run: Run,
    conversation: Conversation,
    /// How many bytes its events have.
    size: usize,
}

impl Sessions {
    /// Ends the session that is open, and begins one.
    pub fn begin(&mut self, key: Option<&str>, line: u64, out: &mut Output) {
        self.finish(out);
        let run = Run { line, key: key.map(Into::into), ..Run::default() };
        self.open = Some(Session { run, ..Session::default() });
    }

    /// Reads a record into the conversation of its session. A record before the first session begins one.
    pub fn read(
        &mut self,
        record: Value,
        line: u64,
        out: &mut Output,
        read: impl FnOnce(&mut Conversation),
    ) {
        if self.open.is_none() {
            self.begin(None, line, out);
        }
        let Some(Session { run, conversation, size }) = &mut self.open else { return };
        if run.created_at.is_none() {
            run.created_at = record.member("timestamp").and_then(time::utc);
        }
        let begin = conversation.events.len();
        read(conversation);
        let was_too_large = *size > MAX_BYTES;
        *size += conversation.events.iter().skip(begin).map(Event::size).sum::<usize>();
        if *size > MAX_BYTES {
            // The rest of the session is read, so that it does not look like another one.
            *conversation = Conversation::default();
            if !was_too_large {
                out.too_large(run.line);
            }
        }
    }

    /// Ends the session that is open.
    pub fn finish(&mut self, out: &mut Output) {
        let Some(Session { run, conversation, size }) = self.open.take() else { return };
        if size <= MAX_BYTES {
            let Conversation { events, skipped, .. } = conversation;
            out.run(Run { events, skipped, ..run });
        }
    }
}
