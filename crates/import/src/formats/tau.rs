//! Results of tau-bench and tau2-bench: conversations of an agent with a simulated customer.
//!
//! | τ-bench and τ²-bench: results, and single simulations | a simulation | the reward, if it is 1 |
//!
//! - trajectories published with τ-bench | 59a200c6 | 2026-11-22 | captured
//! - results of τ²-bench | | 2026-11-22 | written
//! - single simulations | | 2026-11-26 | written

use crate::prelude::*;

pub const FORMAT: Format =
    Format { name: "tau", domain: "customer_service", fits, open: || Box::new(read) };

fn fits(value: Value, _kind: Option<&str>) -> bool {
    value.list("traj").is_some() && value.has("reward")
        || value.list("simulations").is_some()
        || is_simulation(value)
}

/// Returns whether a value is a file of the folder `simulations` of tau2-bench.
fn is_simulation(value: Value) -> bool {
    let is_list = |name| value.list(name).is_some();
    value.name("task_id").and(value.name("termination_reason")).is_some()
        && (is_list("messages") || is_list("ticks"))
}

fn read(value: Value, out: &mut Sink) {
    if let Some(messages) = value.list("traj") {
        let mut run = Run { label: label(value.member("reward")), ..out.begin() };
        run.read_messages(messages);
        out.run(run);
    }
    let simulations = value.get("simulations").filter(|simulations| simulations.is_array());
    if simulations.is_none() && is_simulation(value) {
        out.run(simulated(value, None, out));
    }
    let info = value.object("info");
    let model = info.object("agent_info").name("llm");
    let policy = info.object("environment_info").member("policy");
    for simulation in out.report.skipped.objects(simulations) {
        let mut run = simulated(simulation, policy, out);
        run.facts.model(model);
        out.run(run);
    }
}

fn simulated<'d>(simulation: Value<'d>, policy: Option<Value>, out: &Sink) -> Run {
    let mut run = Run {
        key: simulation.name("id").map(str::to_owned),
        label: label(simulation.object("reward_info").member("reward")),
        created_at: simulation.first(&["start_time", "timestamp"]).and_then(time::utc),
        ..out.begin()
    };
    run.instruct(policy);
    for name in ["start_time", "end_time"] {
        run.facts.time(simulation.member(name).and_then(time::instant));
    }
    let messages = simulation.elements("messages");
    let inside = |message: Value<'d>| message.list("tool_messages").unwrap_or(message.alone());
    messages.flat_map(inside).for_each(|message| read_message(message, &mut run));
    run.skipped.add_many("voice_ticks", simulation.elements("ticks").count() as u64);
    run
}

/// Reads a message, without the tools of the simulated user.
fn read_message(message: Value, run: &mut Run) {
    match message.text("role") {
        Some("tool") if message.text("requestor") == Some("user") => {
            return run.skipped.add("user_tool");
        }
        Some("user") => {
            run.skipped.add_many("user_tool", message.elements("tool_calls").count() as u64);
        }
        _ => {}
    }
    run.read_message(message);
}

fn label(reward: Option<Value>) -> Option<bool> {
    Some(reward?.as_f64()? == 1.0)
}
