//! Runs of LangSmith, and of the tracers of LangChain.

use std::collections::HashSet;

use super::{
    messages::{self, Side, Sides, messages_of},
    runs::{Session, Traces},
    spans::{self, Span, SpanKind, Tool},
};
use crate::{
    events::{CallInput, Event, Origin, Run},
    format::{ReadRuns, Runs},
    json::{self, Array, Document, Members, Value, object_of},
    time,
};

pub fn fits(object: Value) -> bool {
    let first = object.list("runs").and_then(Array::first);
    is_run(object) || first.is_some_and(is_run)
}

fn is_run(value: Value) -> bool {
    value.text("run_type").is_some()
        && value.has("inputs")
        && (value.list("child_runs").is_some() || value.name("trace_id").is_some())
}

impl ReadRuns for Traces<Trace> {
    fn read(&mut self, value: Value, line: u64, out: &mut Runs) {
        if is_run(value) {
            return self.read_run(value, None, None, line, out);
        }
        for run in value.elements("runs") {
            if is_run(run) {
                self.read_run(run, None, None, line, out);
            } else {
                out.skip("unknown_record");
            }
        }
    }

    fn finish(&mut self, out: &mut Runs) {
        self.end_all(out);
    }
}

impl Traces<Trace> {
    /// Reads a run and all runs in it. `trace` and `parent` are the ids of its trace and of the run around it.
    fn read_run(
        &mut self,
        run: Value,
        trace: Option<&str>,
        parent: Option<&str>,
        line: u64,
        out: &mut Runs,
    ) {
        let trace = trace.or_else(|| run.first_name(&["trace_id", "id"]));
        let parent = run.name("parent_run_id").or(parent);
        match trace {
            Some(id) => self.add(id, line, out, |trace, out| trace.push(run, parent, out)),
            None => out.skip("malformed"),
        }
        for child in out.report.skipped.objects(run.get("child_runs")) {
            self.read_run(child, trace, run.name("id"), line, out);
        }
    }
}

#[derive(Default)]
pub struct Trace {
    runs: Vec<Recorded>,
    ids: HashSet<String>,
    size: usize,
}

struct Recorded {
    /// The span, whose kind is not known before [`Recorded::interpret`].
    span: Span,
    /// The members that are used, as JSON.
    json: String,
}

impl Session for Trace {
    fn size(&self) -> usize {
        self.size
    }

    fn end(mut self, mut run: Run, out: &mut Runs) {
        let spans: Vec<_> = self.runs.iter().map(|run| &run.span).collect();
        let root = spans::first_root(&spans);
        run.created_at = spans.iter().filter_map(|span| span.start).min().map(time::written);
        for (index, recorded) in self.runs.iter_mut().enumerate() {
            recorded.interpret(Some(index) == root);
        }
        if let Some(root) = root.map(|index| &self.runs[index]) {
            let name = &root.span.name;
            run.fallback = (!json::is_blank(name)).then(|| (name.clone(), Origin::Name));
            run.status = root.span.status;
            let document = Document::written(&*root.json);
            run.objective = document.root().member("inputs").and_then(messages::human);
            run.label = label(document.root());
        }
        let spans: Vec<_> = self.runs.iter().map(|run| &run.span).collect();
        let read_sides = |index: usize, run: &mut Run| {
            let Recorded { span, json } = &self.runs[index];
            let is_agent = matches!(span.kind, SpanKind::Agent);
            run.read_sides(sides(Document::written(&**json).root(), is_agent));
        };
        spans::read_spans(&spans, read_sides, &mut run);
        out.run(run);
    }
}

impl Trace {
    fn push(&mut self, run: Value, parent: Option<&str>, out: &mut Runs) {
        let id = run.name("id");
        if id.is_some_and(|id| !self.ids.insert(id.into())) {
            return out.skip("repeated");
        }
        // A run of another kind is read only if it is the root.
        let is_read = matches!(run.text("run_type"), Some("llm" | "tool"))
            || parent.is_none_or(|parent| !self.ids.contains(parent));
        let names = ["run_type", "inputs", "outputs", "error", "feedback_stats"];
        let members = names.iter().filter_map(|name| Some((*name, run.member(name)?)));
        let json = object_of(members.filter(|_| is_read));
        let span = Span {
            id: id.map(Into::into),
            parent: parent.map(Into::into),
            name: run.text("name").unwrap_or_default().into(),
            start: run.member("start_time").and_then(time::instant),
            ..Span::default()
        };
        self.size += span.size() + json.len();
        self.runs.push(Recorded { span, json });
    }
}

impl Recorded {
    /// Sets the kind of the span and what follows from its members. The root is the agent, unless it is a model
    /// call or a tool.
    fn interpret(&mut self, is_root: bool) {
        let span = &mut self.span;
        let document = Document::written(&*self.json);
        let run = document.root();
        // A graph that waits for a person has not failed.
        let error = run.name("error").filter(|error| !error.contains("GraphInterrupt"));
        (span.status, span.message) = (error.map(|_| false), error.map(Into::into));
        let kind = run.text("run_type");
        if kind == Some("tool") {
            span.kind = SpanKind::Tool(tool(run, &span.name));
        } else if kind == Some("llm") || is_root {
            let recorded = |side| run.member(["inputs", "outputs"][side as usize]);
            let has_messages = sides(run, false).map(|messages| messages.is_some());
            let is_agent = is_root && !(kind == Some("llm") && has_messages.contains(&true));
            let is_empty = |side| recorded(side).is_none_or(spans::is_empty);
            span.set_sides(is_agent, has_messages, is_empty);
        }
    }
}

/// Returns the messages of both sides. The output of an agent may be the whole conversation.
fn sides(run: Value<'_>, is_agent: bool) -> Sides<'_> {
    let inputs = run.member("inputs");
    let prompts = || {
        let prompts = inputs.elements("prompts").filter(|prompt| prompt.is_string());
        let content = |prompt| messages::with_role("user", [("content", prompt)]);
        messages::made(inputs?, prompts.map(content)).filter(|messages| !messages.is_empty())
    };
    let input = inputs.and_then(|inputs| messages_of(inputs, Side::Input)).or_else(prompts);
    let output =
        run.member("outputs").and_then(|outputs| messages_of(answer(outputs), Side::Output));
    let is_human = |event: &Event| event.human().is_some();
    match output {
        Some(all) if is_agent && Run::of(all).events.iter().any(is_human) => [output, None],
        _ => [input, output],
    }
}

fn answer(outputs: Value<'_>) -> Value<'_> {
    let mut generation = outputs.get("generations");
    while let Some(list) = generation.and_then(Value::as_array) {
        generation = list.first();
    }
    generation
        .first(&["message", "text"])
        .or_else(|| spans::only_member(outputs, "output"))
        .unwrap_or(outputs)
}

fn label(run: Value) -> Option<bool> {
    run.object("feedback_stats")?
        .members()
        .find_map(|(name, feedback)| spans::label(name, feedback.get("avg")?))
}

fn tool(run: Value, name: &str) -> Tool {
    let inner = |side, name| {
        let value = run.member(side)?;
        Some(spans::only_member(value, name).unwrap_or(value))
    };
    let output = inner("outputs", "output").filter(|output| !output.is_null());
    let output = output.map(|output| match messages::unwrapped(output) {
        Some((_, message)) if message.has("tool_call_id") => message,
        _ => output,
    });
    Tool {
        name: name.into(),
        id: output.name("tool_call_id").map(Into::into),
        input: CallInput::recorded(inner("inputs", "input")),
        output: output.map(spans::recorded_output).into(),
    }
}
