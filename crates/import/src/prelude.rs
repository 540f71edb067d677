//! What most formats use.

pub(crate) use crate::{
    call::{Call, CallInput, ToolResult, Turn},
    error::{Code, Error},
    events::{Event, Events},
    facts::Tokens,
    failure::{flag, has_failed},
    format::{Format, FormatReader, Sink, open},
    harness::Harness,
    ids::{Ids, hash},
    json::{self, Array, Document, Full, Index, Members, Value},
    messages::{self, Conversation, Message, Messages, Side, Sides, call_of_part, messages_of},
    part::{Part, parts},
    provenance::Origin,
    run::Run,
    sessions::{Interleaved, Rules, State, another, sessions},
    skipped::Skipped,
    text::{Output, joined, text_of, text_of_part},
    time,
};
