//! The messages of a run, in OpenAI's chat format.

use std::{borrow::Cow, collections::HashSet, mem};

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::{
    call::{ToolResult, Turn},
    error::{Code, Failure},
    events::Event,
    failure::is_failure,
    json::{self, Document, MAX_TEXT, Members, Value, written},
    limits::NO_MEMORY,
};

const TOO_LONG: &str = "expected at most 256 MiB of JSON in the messages of a run, found more";

/// The status of a message in place of a result that the log does not have.
pub const UNANSWERED: &str = "unanswered";

/// The members of requests and spans that have the text of the program to the model, and those that have the tools.
pub const SYSTEM: [&str; 5] = [
    "system", "instructions", "systemInstruction", "system_instruction",
    "gen_ai.system_instructions",
];
const TOOLS: [&str; 6] = [
    "tools", "toolConfig", "tool_definitions", "functions", "gen_ai.tool.definitions",
    "ai.prompt.tools",
];

/// The beginning of those in which OpenInference has a tool each.
const TOOL: &str = "llm.tools.";

/// The members of a tool that have the schema of its input.
const SCHEMAS: [&str; 5] =
    ["parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"];

/// Returns whether an attribute of a span is one of these.
pub fn is_given(name: &str) -> bool {
    SYSTEM.contains(&name) || TOOLS.contains(&name) || name.starts_with(TOOL)
}

/// What a model was given beside the conversation.
#[derive(Debug, Default)]
pub struct Given {
    /// Whether it is kept: only messages need it.
    pub is_kept: bool,
    names: HashSet<String>,
    tools: Vec<Document<'static>>,
    size: usize,
}

impl Given {
    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Adds the tools of a request whose names are new.
    pub fn add_tools(&mut self, request: Value) {
        for (name, value) in request.members() {
            if TOOLS.contains(&name) {
                let list = value.decoded();
                let list = list.member("tools").unwrap_or(list).as_array();
                list.into_iter().flatten().for_each(|tool| self.add(tool));
            } else if name.starts_with(TOOL) {
                self.add(value);
            }
        }
    }

    fn add(&mut self, tool: Value) {
        let tool = tool.decoded();
        // Gemini has several in one.
        let lists = ["functionDeclarations", "function_declarations"].into_iter();
        lists.flat_map(|name| tool.elements(name)).for_each(|tool| self.add(tool));
        let tool = tool.first(&["function", "toolSpec"]).unwrap_or(tool);
        if let Some(name) = tool.name("name")
            && self.names.insert(name.into())
        {
            let tool = Document::copy(tool).unwrap_or_default();
            self.size += tool.size();
            self.tools.push(tool);
        }
    }
}

#[derive(Serialize)]
struct Chat<'a> {
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Json>,
    unanswered: usize,
}

#[derive(Default, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// The turn whose calls it takes, and the results of its calls.
    #[serde(skip)]
    turn: Option<Turn>,
    #[serde(skip)]
    results: Vec<Self>,
}

impl<'a> Message<'a> {
    fn of(role: &'static str, content: &'a str) -> Self {
        Self { role, content: content.into(), ..Self::default() }
    }

    /// Returns the message with the result of a call; `None`: the log has none.
    fn answering(id: &'a str, result: Option<&'a ToolResult>) -> Self {
        let status = match result {
            None => Some(UNANSWERED),
            Some(result) if result.failed => Some("error"),
            // Its text alone would be taken for a failure.
            Some(result) => is_failure(&result.text).then_some("success"),
        };
        let text = result.map_or("(no result)", |result| &result.text);
        Self { tool_call_id: Some(id), status, ..Self::of("tool", text) }
    }

    fn takes(&self, event: &Event) -> bool {
        let has_calls = !self.tool_calls.is_empty();
        match event {
            Event::System(_) => self.role == "system",
            Event::Thought { said, .. } => {
                *said && self.reasoning_content.is_some() && self.content.is_empty() && !has_calls
            }
            Event::Call(call) => {
                self.role == "assistant" && (!has_calls || self.turn == Some(call.turn))
            }
            Event::Human(_) | Event::Result(_) => false,
        }
    }
}

/// Returns the messages of these events, whose results answer these calls, and the tools, as JSON. `objective` comes
/// with its place among the events, if it is there.
pub fn chat(
    events: &[Event],
    answered: &[Option<usize>],
    objective: (&str, Option<usize>),
    given: &Given,
) -> Result<String, Failure> {
    let ids = ids(events);
    let messages = messages(events, answered, objective, &ids);
    let unanswered = messages.iter().filter(|message| message.status == Some(UNANSWERED)).count();
    let tools = given.tools.iter().map(|tool| definition(tool.root())).collect();
    let json = written(|out| serde_json::to_writer(out, &Chat { messages, tools, unanswered }));
    match json {
        Ok(json) if json.len() <= MAX_TEXT => Ok(json),
        Ok(_) => Err((Code::TooLarge, TOO_LONG.into())),
        Err::<_, serde_json::Error>(_) => Err((Code::TooLarge, NO_MEMORY.into())),
    }
}

/// Returns the ids of the calls, each different from the others.
fn ids(events: &[Event]) -> Vec<String> {
    let mut known = HashSet::new();
    let own = events.iter().filter_map(Event::call).map(|call| call.id.clone());
    let own: Vec<_> = own.map(|id| id.filter(|id| known.insert(id.clone()))).collect();
    let mut made = (1..).map(|number| format!("call_{number}")).filter(|id| !known.contains(id));
    own.into_iter().map(|id| id.or_else(|| made.next()).unwrap_or_default()).collect()
}

fn definition(tool: Value) -> Json {
    let schema = tool.first(&SCHEMAS);
    let schema = schema.first(&["jsonSchema", "json"]).or(schema);
    let members = [("description", tool.member("description")), ("parameters", schema)];
    let mut function = json!({ "name": tool.name("name") });
    for (name, member) in members.into_iter().filter(|(_, member)| member.is_some()) {
        function[name] = json!(member);
    }
    json!({ "type": "function", "function": function })
}

fn messages<'a>(
    events: &'a [Event],
    answered: &[Option<usize>],
    (objective, said): (&'a str, Option<usize>),
    ids: &'a [String],
) -> Vec<Message<'a>> {
    // The first message of the user is the objective, which may stand elsewhere among the events, or nowhere.
    let first = events.iter().position(|event| event.human().is_some());
    let is_first = said.is_some() && said == first;
    let user = |text: &'a str| Message::of("user", text);
    let mut missing = Some(objective);
    let mut answered = answered.iter().copied();
    let mut all: Vec<Message> = Vec::new();
    // The place of the message of each call, and whether its result has come.
    let mut calls: Vec<(usize, bool)> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        if !is_first && !matches!(event, Event::System(_)) {
            all.extend(missing.take().map(user));
        }
        let last = all.last_mut().filter(|last| last.takes(event));
        match (event, last) {
            (Event::System(text), Some(last)) => {
                // Spans may have it twice.
                if last.content != *text {
                    last.content.to_mut().extend(["\n\n", text]);
                }
            }
            (Event::System(text), None) => all.push(Message::of("system", text)),
            (Event::Human(_), _) if said == Some(place) && missing.is_none() => {}
            (Event::Human(text), _) => {
                missing = None;
                all.push(user(text));
            }
            (Event::Thought { text, .. }, Some(last)) => last.content = text.into(),
            (Event::Thought { text, said: true }, None) => all.push(Message::of("assistant", text)),
            (Event::Thought { text, said: false }, None) => {
                let reasoning_content = Some(&**text);
                all.push(Message { reasoning_content, ..Message::of("assistant", "") });
            }
            (Event::Call(call), last) => {
                if last.is_none() {
                    all.push(Message::of("assistant", ""));
                }
                let (id, place) = (&ids[calls.len()], all.len() - 1);
                calls.push((place, false));
                let arguments = call.input.json();
                let function = json!({ "name": call.name, "arguments": arguments });
                let made = json!({ "id": id, "type": "function", "function": function });
                all[place].tool_calls.push(made);
                all[place].turn = Some(call.turn);
            }
            (Event::Result(result), _) => match answered.next().flatten() {
                Some(call) if !calls[call].1 => {
                    calls[call].1 = true;
                    let answer = &mut all[calls[call].0];
                    answer.turn = answer.turn.filter(|_| !result.is_within);
                    answer.results.push(Message::answering(&ids[call], Some(result)));
                }
                _ if json::is_blank(&result.text) => {}
                // No call has two.
                _ => {
                    all.extend(missing.take().map(user));
                    let id = result.id.as_deref().unwrap_or("unknown");
                    all.push(match id {
                        // What a program reports.
                        "" => user(&result.text),
                        id => Message::answering(id, Some(result)),
                    });
                }
            },
        }
    }
    let mut calls = calls.iter().zip(ids);
    let each = all.into_iter().flat_map(|mut message| {
        let mut results = mem::take(&mut message.results);
        let own = calls.by_ref().take(message.tool_calls.len());
        let missing = own.filter(|((_, has_come), _)| !has_come);
        results.extend(missing.map(|(_, id)| Message::answering(id, None)));
        [message].into_iter().chain(results)
    });
    each.collect()
}
