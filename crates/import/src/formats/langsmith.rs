//! Runs of LangSmith, and of the tracers of LangChain.
//!
//! | LangSmith: exports, answers of `/runs/query`; the runs of LangChain's tracers | a trace | feedback such as `success`, if its average is 0 or 1; an error of the root |
//!
//! - runs of LangChain's tracer | `@langchain/core` 1.4.0 | 2026-11-22 | captured
//! - answers of `/runs/query` | | 2026-11-22 | written

use crate::{
    prelude::*,
    spans::{self, Recorded, Span, SpanKind, Spans},
};

pub const FORMAT: Format =
    Format { name: "langsmith", domain: "general", fits, open: open::<Interleaved<Trace>> };

fn fits(object: Value, _kind: Option<&str>) -> bool {
    let first = object.list("runs").and_then(Array::first);
    is_run(object) || first.is_some_and(is_run)
}

fn is_run(value: Value) -> bool {
    value.text("run_type").is_some()
        && value.has("inputs")
        && (value.list("child_runs").is_some() || value.name("trace_id").is_some())
}

impl FormatReader for Interleaved<Trace> {
    fn read(&mut self, value: Value, out: &mut Sink) {
        let runs = value.list("runs").filter(|_| !is_run(value)).unwrap_or(value.alone());
        for run in runs {
            if is_run(run) {
                self.read_run(run, None, None, out);
            } else {
                out.skip("unknown_record");
            }
        }
    }

    fn finish(&mut self, out: &mut Sink) {
        self.end_all(out);
    }
}

impl Interleaved<Trace> {
    /// Reads a run and all runs in it. `trace` and `parent` are the ids of its trace and of the run around it.
    fn read_run(&mut self, run: Value, trace: Option<&str>, parent: Option<&str>, out: &mut Sink) {
        let trace = trace.or_else(|| run.first_name(&["trace_id", "id"]));
        let parent = run.name("parent_run_id").or(parent);
        match trace {
            Some(id) => self.add_to(id, out, |trace, out| trace.push(run, parent, out)),
            None => out.skip("malformed"),
        }
        for child in out.report.skipped.objects(run.get("child_runs")) {
            self.read_run(child, trace, run.name("id"), out);
        }
    }
}

#[derive(Default)]
pub struct Trace(Spans);

impl State for Trace {
    fn size(&self) -> usize {
        self.0.size
    }

    fn end(self, run: Run, out: &mut Sink) {
        let mut spans: Vec<_> = self.0.all.iter().map(Recorded::span).collect();
        let all = Vec::from_iter(&spans);
        let root = spans::first_root(&all, &spans::forest(&all));
        let label = root.and_then(|root| label(self.0.all[root].attributes.root()));
        for (index, (span, recorded)) in spans.iter_mut().zip(&self.0.all).enumerate() {
            interpret(span, recorded.attributes.root(), Some(index) == root);
        }
        let run = spans::run(&Vec::from_iter(&spans), run.key, out);
        out.run(Run { label, ..run });
    }
}

impl Trace {
    fn push(&mut self, run: Value, parent: Option<&str>, out: &mut Sink) {
        // A run of another kind is read only if it is the root.
        let is_read = matches!(run.text("run_type"), Some("llm" | "tool"))
            || parent.is_none_or(|parent| self.0.get(parent).is_none());
        let names = ["run_type", "inputs", "outputs", "error", "feedback_stats", "extra"];
        let kept = names.len() - usize::from(!out.options.messages);
        let members = names[..kept].iter().filter_map(|name| Some((*name, run.member(name)?)));
        let members = members.filter(|_| is_read);
        let attributes = Document::build(|index| index.object(members, Index::copy));
        let span = Recorded {
            id: run.name("id").map(Into::into),
            parent: parent.map(Into::into),
            name: run.text("name").unwrap_or_default().into(),
            start: run.member("start_time").and_then(time::instant),
            attributes: attributes.unwrap_or_default(),
            ..Recorded::default()
        };
        self.0.push(span, out);
    }
}

/// Sets the kind of a span and what follows from its run. The root is the agent, unless it is a model call or a tool.
fn interpret<'d>(span: &mut Span<'d>, run: Value<'d>, is_root: bool) {
    // A graph that waits for a person has not failed.
    let error = run.name("error").filter(|error| !error.contains("GraphInterrupt"));
    (span.has_failed, span.message) = (error.is_some(), error);
    span.given.extend(run.object("extra").member("invocation_params"));
    let recorded = ["inputs", "outputs"].map(|name| run.member(name));
    span.asked.extend(recorded[0]);
    let is_model = run.text("run_type") == Some("llm");
    if run.text("run_type") == Some("tool") {
        span.kind = tool(span.name, recorded);
    } else if is_model || is_root {
        let sides = sides(recorded);
        let is_agent = is_root && !(is_model && sides.iter().any(Option::is_some));
        let is_empty = |side| recorded[side as usize].is_none_or(spans::is_empty);
        span.set_sides(is_agent, sides, is_empty);
        let is_human = |event: &Event| event.human().is_some();
        // The output of an agent may be the whole conversation.
        let [input, output] = &mut span.sides;
        if is_agent
            && let Some(all) =
                output.take_if(|all| Conversation::of(all).events.iter().any(is_human))
        {
            *input = Some(all);
        }
    }
}

fn sides([inputs, outputs]: [Option<Value<'_>>; 2]) -> Sides<'_> {
    let prompts = || {
        let prompts = inputs.elements("prompts").filter(|prompt| prompt.is_string());
        Messages::listed(prompts.map(|prompt| Message::Content(Side::Input, prompt)))
    };
    let input = inputs.and_then(|inputs| messages_of(inputs, Side::Input)).or_else(prompts);
    [input, outputs.and_then(|outputs| messages_of(answer(outputs), Side::Output))]
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

fn tool<'d>(name: &str, [inputs, outputs]: [Option<Value<'d>>; 2]) -> SpanKind<'d> {
    let inner = |name| move |value| spans::only_member(value, name).unwrap_or(value);
    let output = outputs.map(inner("output")).filter(|output| !output.is_null());
    let output = output.map(|output| match messages::unwrapped(output) {
        Some((_, message)) if message.has("tool_call_id") => message,
        _ => output,
    });
    SpanKind::tool(name, output.name("tool_call_id"), inputs.map(inner("input")), output)
}
