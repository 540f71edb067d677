//! The events of tools' spans.

use std::collections::HashSet;

use super::{
    history::History,
    span::{Span, Tool},
};
use crate::{
    answers::Waiting,
    call::Call,
    events::Event,
    failure::flag,
    run::Run,
    skipped::Skipped,
    text::{self, Output},
};

/// Returns the events of tools' spans that are not in the history, each with the place of its span and that of the call in
/// the history after which it was told.
pub(super) fn read_tools(
    tools: Vec<(usize, &Span, &Tool)>,
    history: &mut History,
    run: &mut Run,
) -> Vec<(usize, Option<usize>, Event)> {
    let call = |(.., tool): &(_, _, &Tool)| Call { turn: run.next_turn(), ..tool.call.clone() };
    let calls: Vec<_> = tools.iter().map(call).collect();
    let matches = match_tools(&calls, history);
    let mut ids: HashSet<_> = history.calls().filter_map(|(_, call)| call.id.clone()).collect();

    let mut events = Vec::new();
    for (((order, span, tool), call), place) in tools.into_iter().zip(calls).zip(matches) {
        let is_known = call.id.clone().is_some_and(|id| !ids.insert(id));
        let (is_said, is_answered) = match place {
            Some(place) => (true, history.answers.contains_key(&place)),
            None => (is_known, is_known),
        };
        let has_result = tool.output.is_some() || span.has_failed;
        run.skipped.add_many("repeated", u64::from(is_said) + u64::from(has_result && is_answered));
        let said = place.and_then(|place| history.events[place].call()).unwrap_or(&call);
        let result =
            (has_result && !is_answered).then(|| result(span, tool, said, &mut run.skipped));
        let call = (!is_said).then_some(Event::Call(call));
        // A failure without an output is nothing that was told to the model after its call.
        let told = place.filter(|_| tool.output.is_some());
        events.extend(call.into_iter().chain(result).map(|event| (order, told, event)));
        if let Some(place) = place.filter(|_| span.has_failed) {
            history.fail(place);
        }
    }
    events
}

fn result(span: &Span, tool: &Tool, call: &Call, skipped: &mut Skipped) -> Event {
    let output = match tool.output {
        Some(value) => {
            let output = text::recorded(value, skipped);
            Output { failed: flag(value.decoded()).or(output.failed), ..output }
        }
        None => Output { text: span.message.unwrap_or_default().into(), failed: None },
    };
    Event::Result(call.answer(output.into_result(span.has_failed.then_some(true))))
}

/// Returns the tool names that the name of a span may mean: itself, and each part after a space or a `.`.
pub fn tool_names(name: &str) -> impl Iterator<Item = &str> {
    // Bounded, as a name may be as long as a document.
    let ends = name.rmatch_indices([' ', '.']).map(|(at, _)| &name[at + 1..]).take(32);
    std::iter::once(name).chain(ends)
}

/// Returns for each tool the place of its call in the history.
fn match_tools(tools: &[Call], history: &History) -> Vec<Option<usize>> {
    let mut waiting = Waiting::default();
    for (place, Call { name, input, id, .. }) in history.calls() {
        waiting.add(place, id.as_deref().map(|id| ("id", id, None)));
        waiting.add(place, [Some(input.hash()), None].map(|input| ("name", &**name, input)));
    }
    let mut matches = vec![None; tools.len()];
    let mut others = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        match tool.id.as_deref().map(|id| ("id", id, None)).filter(|id| waiting.has(id)) {
            Some(id) => matches[index] = waiting.take([id]),
            // Others have no input to compare.
            None if tool_names(&tool.name).any(|name| waiting.has(&("name", name, None))) => {
                others.push(index);
            }
            None => {}
        }
    }
    for has_input in [true, false] {
        others.retain(|&index| {
            let Call { name, input, .. } = &tools[index];
            let input = has_input.then(|| input.hash());
            matches[index] = waiting.take(tool_names(name).map(|name| ("name", name, input)));
            matches[index].is_none()
        });
    }
    matches
}
