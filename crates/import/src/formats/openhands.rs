//! Events of OpenHands (V1).
//!
//! | OpenHands (V1): events, as an array, as `items` or one a line | a conversation | an error at the end |
//!
//! - events in the tests of trajectory, compared with the source of OpenHands' SDK | V1; 21ae92d, 7e6774f7 | 2026-11-28 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("openhands", fits, || {
    sessions(Rules {
        takes: |(), event, _| {
            event.text("kind").and(event.name("id")).is_some() && event.has("timestamp")
        },
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(value: Value, kind: Option<&str>) -> bool {
    let is_event = |event: Value| {
        let has_own = event.has("llm_message") || event.has("tool_name") || event.has("action_id");
        match event.text("kind") {
            Some("MessageEvent" | "ActionEvent" | "ObservationEvent" | "AgentErrorEvent") => {
                has_own
            }
            Some("SystemPromptEvent" | "ConversationStateUpdateEvent") => event.has("id"),
            _ => false,
        }
    };
    kind.is_none() && value.list("items").unwrap_or(value.alone()).any(is_event)
}

fn read(value: Value, run: &mut Run) {
    if !value.has("items") {
        return read_event(value, run);
    }
    for event in run.skipped.objects(value.get("items")) {
        run.record(event.member("timestamp"), |run| read_event(event, run));
    }
}

fn read_event(event: Value, run: &mut Run) {
    let message = event.object("llm_message");
    let kind = event.text("kind").unwrap_or("?");
    match kind {
        "MessageEvent" if event.text("source") == Some("user") => {
            run.read_user(message.member("content"));
            run.skipped.add_many("context", event.elements("extended_content").count() as u64);
        }
        "MessageEvent" => {
            run.has_failed = false;
            run.end_turn();
            run.read_assistant(message, message.member("content"));
        }
        "ActionEvent" => read_call(event, run),
        "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation" => {
            read_result(event, run);
        }
        "SystemPromptEvent" => {
            run.read_given(event);
            run.read_system(event.member("system_prompt"));
        }
        kind => {
            run.facts.interruptions += u64::from(kind == "PauseEvent");
            run.has_failed |= kind == "ConversationErrorEvent";
            if event.text("key") == Some("full_state") {
                run.key = event.object("value").name("id").map(Into::into);
            }
            run.skipped.add_record(kind);
        }
    }
}

fn read_call(event: Value, run: &mut Run) {
    run.has_failed = false;
    let turn = run.turn_of(event.name("llm_response_id"));
    let thoughts = event.name("reasoning_content").map(Event::reasoned);
    run.events.extend(thoughts);
    for thought in event.elements("thought").filter_map(|part| part.name("text")) {
        run.events.push(Event::said(thought));
    }
    let call = event.object("tool_call");
    let arguments = call.member("arguments");
    let arguments = arguments.or_else(|| call.object("function")?.member("arguments"));
    let input = match (arguments, event.object("action")) {
        (None, Some(action)) => CallInput::of(action.members().filter(|(name, _)| *name != "kind")),
        (arguments, _) => CallInput::recorded(arguments),
    };
    let id = event.first_name(&["tool_call_id", "id"]);
    if let (Some(event), Some(id)) = (event.name("id"), id) {
        run.seen.ask(event, id);
    }
    run.call(Call::new(event.name("tool_name"), input, id, turn));
}

fn read_result(event: Value, run: &mut Run) {
    run.end_turn();
    let of_action = || run.seen.asked(event.name("action_id")?).cloned();
    let id = event.name("tool_call_id").map(Into::into).or_else(of_action);
    let observation = event.object("observation");
    let error = event.first(&["error", "rejection_reason"]);
    let value = error.or_else(|| observation.first(&["content", "output", "text"]));
    let Output { text, failed } = text_of(value, &mut run.skipped);
    let refused = event.text("kind") == Some("UserRejectObservation");
    let exit = || has_failed(observation.first(&["exit_code"]));
    let failed = failed.or_else(exit).or_else(|| observation.and_then(flag));
    let failed = (error.is_some() || refused).then_some(true).or(failed);
    let result = Output { text, failed }.into_result(None);
    run.events.push(Event::Result(ToolResult { id, refused, ..result }));
}
