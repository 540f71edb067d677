//! A trace as `lib/trace.js` passes it: the head, with what a score needs, and the text.

use std::fmt::Write;

use knowledgepulse_embedder::TextBuffer;
use knowledgepulse_scoring::{
    Trace,
    embed::Text,
    trace::{Confidence, Steps},
};
use napi::{
    Result,
    bindgen_prelude::{JsObjectValue, JsValue, Unknown},
    check_status, sys,
};

/// The domain, the id, whether it succeeded and its confidence; and of the steps the fields of [`Steps`].
pub type Head = (String, Option<String>, bool, f64, u32, u32, u32, u32, bool);

/// Returns the trace of a head, which `lib/trace.js` has checked.
pub fn trace(head: Head) -> Trace {
    let (domain, id, success, confidence, count, types, tools, recoveries, is_thought) = head;
    let [count, types, tools, recoveries] = [count, types, tools, recoveries].map(|n| n as usize);
    let confidence = Confidence::new(confidence).expect("a number in [0, 1]");
    let steps = Steps { count, types, tools, recoveries, is_thought };
    Trace::new(domain.into(), success, confidence, steps, id)
}

/// Returns as much of a text as `buffer` takes. A long text is an array-like of pieces; a short one is a
/// string, which is copied whole. Its objective is its first `objective` code units, by default all.
pub fn text_of(text: &Unknown, objective: Option<u32>, buffer: TextBuffer) -> Result<Text> {
    let text = string_of(text, buffer)?;
    let Some(mut units) = objective else { return Ok(text.into()) };
    let fits = |c: &char| {
        let rest = units.checked_sub(c.len_utf16() as u32);
        rest.map(|rest| units = rest).is_some()
    };
    let objective = text.chars().take_while(fits).map(char::len_utf8).sum();
    Ok(Text::new(text, objective))
}

fn string_of(text: &Unknown, mut buffer: TextBuffer) -> Result<String> {
    // One call for a short string, unlike napi's own conversion, which asks for the length first.
    let mut whole = String::new();
    let read = read_pieces(text, |piece| {
        whole.push_str(piece);
        true
    });
    if read.is_ok() {
        return Ok(whole);
    }
    let pieces = text.coerce_to_object()?;
    for index in 0..pieces.get::<u32>("length")?.unwrap_or(0) {
        let mut is_full = false;
        read_pieces(&pieces.get_element(index)?, |piece| {
            is_full = buffer.write_str(piece).is_err();
            !is_full
        })?;
        if is_full {
            break;
        }
    }
    Ok(buffer.into_string())
}

/// Passes a string to `more` in increasingly large pieces until it returns `false`.
fn read_pieces(string: &Unknown, mut more: impl FnMut(&str) -> bool) -> Result<()> {
    /// Room for a character of four bytes that did not fit.
    const SLACK: usize = 4;
    let (env, value) = (string.value().env, string.raw());
    let mut buffer = vec![0; 2048];
    let mut done = 0;
    loop {
        let (start, room) = (buffer.as_mut_ptr().cast(), buffer.len());
        let mut copied = 0;
        // SAFETY: environment and handle belong to the running call; the length is the buffer's.
        check_status!(unsafe {
            sys::napi_get_value_string_utf8(env, value, start, room, &mut copied)
        })?;
        // Node-API ends the string with NUL.
        let complete = copied + 1 + SLACK <= buffer.len();
        // The end of an incomplete copy may be half a character: read it again.
        let usable = if complete { copied } else { copied.saturating_sub(2 * SLACK) };
        let mut chunks = buffer[done..usable.max(done)].utf8_chunks();
        let text = chunks.next().map_or("", |chunk| chunk.valid());
        done += text.len();
        if !more(text) || complete {
            return Ok(());
        }
        buffer = vec![0; buffer.len() * 4];
    }
}
