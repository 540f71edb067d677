//! What most formats use.

pub(super) use crate::{
    call::{Call, CallInput, ToolResult},
    events::Event,
    facts::Tokens,
    failure::{flag, has_failed},
    format::{Format, Sink},
    harness::Harness,
    ids::Ids,
    json::{self, Array, Document, Members, Value},
    messages::{Conversation, call_of_part},
    pattern::{Pattern, regex},
    provenance::Origin,
    run::Run,
    sessions,
    skipped::Skipped,
    text::{Output, text_of, text_of_part},
    time,
};
