//! Results of tau-bench and tau2-bench.

use crate::{
    event::Run,
    format::{Format, Output, ReadRuns},
    json::{Array, Members, Value},
    messages::{Conversation, Message, Messages},
    time,
};

/// Conversations of an agent with a simulated customer.
pub(crate) const FORMAT: Format = Format {
    name: "tau",
    domain: "customer_service",
    fits,
    adopts: false,
    open: || Box::new(Reader),
};

fn fits(value: Value) -> bool {
    value.list("traj").is_some() && value.has("reward") || value.list("simulations").is_some()
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        if let Some(messages) = value.list("traj") {
            let mut conversation = Conversation::default();
            conversation.read_all(Messages::Array(messages));
            out.run(Run {
                line,
                label: label(value.member("reward")),
                events: conversation.events,
                skipped: conversation.skipped,
                ..Run::default()
            });
        }
        for simulation in value.list("simulations").into_iter().flat_map(Array::iter) {
            if simulation.is_object() {
                out.run(run(simulation, line));
            } else {
                out.skip("malformed");
            }
        }
    }
}

/// Reads a simulation of tau2-bench.
fn run(simulation: Value, line: u64) -> Run {
    let mut conversation = Conversation::default();
    for message in simulation.list("messages").into_iter().flat_map(Array::iter) {
        match message.list("tool_messages") {
            Some(messages) => messages.iter().for_each(|message| read(message, &mut conversation)),
            None => read(message, &mut conversation),
        }
    }
    let mut skipped = conversation.skipped;
    let ticks = simulation.list("ticks").map_or(0, Array::len);
    skipped.add_many("voice_ticks", ticks as u64);
    Run {
        line,
        key: simulation.name("id").map(str::to_owned),
        label: label(simulation.object("reward_info").and_then(|info| info.member("reward"))),
        created_at: simulation.first(&["start_time", "timestamp"]).and_then(time::utc),
        events: conversation.events,
        skipped,
        ..Run::default()
    }
}

/// Reads a message, without the tools that the simulated user has.
fn read(message: Value, conversation: &mut Conversation) {
    match message.text("role") {
        Some("tool") if message.text("requestor") == Some("user") => {
            conversation.skipped.add("user_tool");
        }
        Some("user") => {
            let calls = message.list("tool_calls").map_or(0, Array::len);
            conversation.skipped.add_many("user_tool", calls as u64);
            conversation.read(Message::Recorded(message));
        }
        _ => conversation.read(Message::Recorded(message)),
    }
}

fn label(reward: Option<Value>) -> Option<bool> {
    Some(reward?.as_f64()? == 1.0)
}
