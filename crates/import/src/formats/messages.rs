//! Conversations of chat messages.
//!
//! | OpenAI (chat, responses), Anthropic, Gemini, Bedrock, the AI SDK (messages for the model and for the user), Mastra, the OpenAI Agents SDK, LangChain, Strands Agents, Cline, Roo, Kimi CLI and others: arrays, requests with answers, one message a line, with the id of its conversation if there are several; rows of data sets such as SWE-smith, and `conversations` as ShareGPT has them | a conversation | `resolved` or `target` beside `instance_id` |
//!
//! - runs of four frameworks | `ai` 4.3.19 to 7.0.173, `@mastra/core` 1.71.0, `@openai/agents-core` 0.20.0, `@langchain/core` 1.4.0 | 2026-11-22 | captured
//! - a conversation in the tests of OpenHands | 611629e6 | 2026-11-22 | captured
//! - requests of OpenAI, Anthropic and Gemini | | 2026-11-22 | written
//! - tools on the servers of OpenAI and Anthropic; messages of Bedrock, Ollama, Microsoft.Extensions.AI, Strands Agents, Cline and Kimi CLI; rows of data sets | Strands Agents 1.x, Cline 3.x, Kimi CLI 1.x | 2026-11-26 | written
//! - requests of coding agents, results that are JSON, rows of tables, Harmony, Cohere | | 2026-11-29 | written
//! - `conversations` in the data of LLaMA-Factory and in the tests of moraine | 3075df15, 517b648 | 2026-11-28 | captured

use crate::{
    chat::SYSTEM,
    messages::{content_of, is_message},
    prelude::*,
    run::truth,
};

pub const FORMAT: Format =
    Format { name: "messages", domain: "general", fits, open: open::<Conversations> };

pub fn fits(value: Value, _kind: Option<&str>) -> bool {
    match value.as_array() {
        Some(elements) => {
            elements.iter().find(|element| element.is_object()).is_some_and(is_message)
        }
        None => is_whole(value) || is_message(value) || row(value).is_some(),
    }
}

/// Returns whether an object is a conversation, not a single message.
fn is_whole(object: Value) -> bool {
    let is_list = |name| object.list(name).is_some();
    let has_input = || is_list("input") || object.text("input").is_some();
    ["messages", "choices"].into_iter().any(is_list)
        // The content of a message has the same name.
        || (is_list("contents") && !object.has("role"))
        || (is_list("output") && (has_input() || object.text("object") == Some("response")))
        || (object.object("request").is_some() && object.object("response").is_some())
}

/// The members of a message in a table that have the id of its conversation.
const CONVERSATION: [&str; 4] = ["conversation_id", "session_id", "thread_id", "chat_id"];

/// Returns whether an array has the messages of several conversations.
fn is_table(value: Value) -> bool {
    let Some(mut rows) = value.as_array() else { return false };
    let id = |row: Value<'_>| row.first_name(&CONVERSATION).map(hash);
    let first = rows.first().and_then(id);
    first.is_some() && rows.clone().all(|row| id(row).is_some()) && rows.any(|row| id(row) != first)
}

/// Returns the messages in a row of a data set, in which they may be JSON in a string.
fn row(object: Value<'_>) -> Option<Array<'_>> {
    ["messages", "trajectory", "conversations"].into_iter().find_map(|name| {
        let messages = object.member(name)?.decoded().as_array()?;
        messages.first().filter(|first| is_message(*first)).map(|_| messages)
    })
}

/// The maximum number of conversations that may go on, and of bytes of their text.
const MAX_OPEN: usize = 8;
const MAX_OPEN_BYTES: usize = 64 << 20;

/// Reads values that are conversations, as in logs of requests, where each has all messages so far; and values that are
/// the messages of one conversation.
#[derive(Default)]
pub struct Conversations {
    /// The conversations that may go on, in the order in which they began.
    open: Vec<Open>,
    /// Those whose messages are values, by the ids in these; without one, it is empty.
    rows: Interleaved<()>,
    /// How many conversations began before the first of these messages.
    before: Option<u64>,
    begun: u64,
    clock: u64,
}

struct Open {
    run: Run,
    number: u64,
    /// When its last value was read.
    used: u64,
}

impl FormatReader for Conversations {
    fn read(&mut self, value: Value, out: &mut Sink) {
        let is_message =
            |object| !is_whole(object) && (row(object).is_none() || is_message(object));
        if is_table(value) {
            return value.as_array().into_iter().flatten().for_each(|row| self.read(row, out));
        }
        if !value.as_object().is_some_and(is_message) {
            return self.add(run(value, out), out);
        }
        self.before.get_or_insert(self.begun);
        let id = value.first_name(&CONVERSATION);
        let number = self.rows.ids.get(id.unwrap_or_default()).unwrap_or_else(|| {
            let number = self.rows.begin(id, out);
            self.rows.ids.insert(id.unwrap_or_default(), number);
            number
        });
        self.rows.add(number, out, |(), run, _| {
            run.record(time_of(value), |run| run.read_message(value));
        });
    }

    fn hand_over(&mut self, out: &mut Sink) {
        self.open.drain(..).for_each(|open| out.run(open.run));
    }

    fn finish(&mut self, out: &mut Sink) {
        let before = self.before.unwrap_or(u64::MAX);
        let after = self.open.split_off(self.open.partition_point(|open| open.number <= before));
        self.hand_over(out);
        self.rows.end_all(out);
        after.into_iter().for_each(|open| out.run(open.run));
    }
}

impl Conversations {
    /// Adds a conversation, in place of the one that it continues.
    fn add(&mut self, run: Run, out: &mut Sink) {
        // The traces of a stream wait for nothing.
        if out.is_stream {
            return out.run(run);
        }
        self.clock += 1;
        let used = self.clock;
        let continued = self.open.iter_mut().filter(|open| run.events.continues(&open.run.events));
        match continued.max_by_key(|open| (open.run.events.len(), open.used)) {
            Some(open) => {
                (open.run, open.used) = (run, used);
                out.skip("continued");
            }
            None => {
                self.begun += 1;
                self.open.push(Open { run, number: self.begun, used });
            }
        }
        while self.open.len() > MAX_OPEN
            || self.open.iter().map(|open| open.run.size()).sum::<usize>() > MAX_OPEN_BYTES
        {
            let places = 0..self.open.len();
            let Some(oldest) = places.min_by_key(|place| self.open[*place].used) else { return };
            out.run(self.open.remove(oldest).run);
        }
    }
}

/// Returns the time of a message, or beside the message in a wrapper: the first by name.
fn time_of(message: Value<'_>) -> Option<Value<'_>> {
    const NAMES: [&str; 4] = ["timestamp", "createdAt", "created_at", "ts"];
    let time = |name| message.get(name).filter(|time| time::utc(*time).is_some());
    NAMES.into_iter().find_map(time).or_else(|| time_of(message.object("message")?))
}

fn run(value: Value, out: &Sink) -> Run {
    let mut run = out.begin();
    let request = value.object("request").unwrap_or(value);
    run.tell_by(request.first(&SYSTEM));
    run.read_given(request);
    let input = match value.first(&["messages", "contents", "input"]) {
        _ if value.is_array() => messages_of(value, Side::Input),
        None => match value.member("request") {
            Some(request) => messages_of(request, Side::Input),
            None => row(value).map(Messages::Recorded),
        },
        Some(input) => {
            let messages = input.as_array().or_else(|| row(value)).map(Messages::Recorded);
            messages.or_else(|| content_of(Side::Input, input))
        }
    };
    let response = value.member("response");
    let choice = response.unwrap_or(value).list("choices").and_then(Array::first);
    let output = || value.member("output").filter(|output| output.is_array());
    let output = match response.or_else(output) {
        Some(answer) => messages_of(answer, Side::Output),
        None => choice.member("message").map(|message| Messages::Recorded(message.alone())),
    };
    let sides = [input, output];
    run.read_sides(&sides);
    let time = value.first(&["created_at", "timestamp", "created"]).and_then(time::utc);
    let messages = sides.iter().flatten().flat_map(Messages::iter);
    let mut times = messages.filter_map(|message| match message {
        Message::Whole(_, message) => time_of(message),
        Message::Content(..) | Message::Reasoning(_) | Message::Calls(_) => None,
    });
    run.created_at = time.or_else(|| times.next().and_then(time::utc));
    if value.has("instance_id") {
        let labels = ["resolved", "target"].iter().filter_map(|name| value.member(name));
        run.label = labels.filter_map(truth).next();
    }
    run.logprobs.add(choice.member("logprobs").member("content"));
    run
}
