//! Trajectories of SWE-agent.
//!
//! | SWE-agent | a trajectory | an exit status other than `submitted`, also with why |
//!
//! - a trajectory in the tests of SWE-agent | 3ea751c0 | 2026-11-22 | captured

use crate::prelude::*;

pub const FORMAT: Format = Format::code("swe-agent", fits, || Box::new(read));

fn fits(value: Value, _kind: Option<&str>) -> bool {
    let Some(history) = value.list("history") else { return false };
    let first = history.iter().find_map(Value::as_object);
    value.list("trajectory").is_some() || first.has("agent")
}

fn read(value: Value, out: &mut Sink) {
    let mut run = out.begin();
    run.harness = Harness::SweAgent;
    run.has_failed = has_failed(value, "submitted");
    let usage = value.object("info").object("model_stats");
    run.facts.tokens = Tokens::of(usage, ["tokens_sent", "tokens_received", "", ""]);
    let config = value.member("replay_config").map(Value::decoded);
    run.facts.model(config.object("agent").object("model").name("name"));
    let entries = value.elements("history");
    let demonstrations = entries.clone().filter(|entry| is_demonstration(*entry)).count();
    run.skipped.add_many("demonstration", demonstrations as u64);
    let history = entries.filter(|entry| !is_demonstration(*entry));

    let has_calls = history.clone().any(|entry| entry.elements("tool_calls").next().is_some());
    match value.list("trajectory") {
        Some(trajectory) if !has_calls && !trajectory.is_empty() => {
            let of = |role| history.clone().filter(move |entry| entry.text("role") == Some(role));
            run.read_messages(of("system").chain(of("user").take(1)));
            trajectory.iter().for_each(|step| read_step(step, &mut run));
        }
        _ => run.read_messages(history),
    }
    out.run(run);
}

/// Returns whether SWE-agent or a relative logs another exit status than that it is done. Why it was, as in
/// `submitted (exit_cost)`, says nothing of the work.
pub fn has_failed(value: Value, done: &str) -> bool {
    let status = value.object("info").name("exit_status");
    status.is_some_and(|status| status.split(" (").next() != Some(done))
}

fn is_demonstration(entry: Value) -> bool {
    entry.flag("is_demo") == Some(true) || entry.text("message_type") == Some("demonstration")
}

/// Reads a thought, its command and the output.
fn read_step(step: Value, run: &mut Run) {
    if !step.is_object() {
        return run.skipped.add("malformed");
    }
    run.events.extend(step.name("thought").map(Event::said));
    let action = step.name("action");
    if let Some(action) = action {
        let command = json::trimmed(action).split(json::BLANK).next();
        run.end_turn();
        run.tool_call(command, CallInput::of_text("command", action), None);
    }
    let observation = text_of(step.member("observation"), &mut run.skipped);
    if action.is_some() || !json::is_blank(&observation.text) {
        run.tool_result(None, observation, None);
    }
}
