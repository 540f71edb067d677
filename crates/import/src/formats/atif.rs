//! ATIF, the trajectories of Harbor.
//!
//! | Harbor and others: ATIF 1.x | a trajectory | |
//!
//! - trajectories in the tests of Phoenix | ATIF 1.8; 9478f954 | 2026-11-22 | captured

use crate::prelude::*;

pub const FORMAT: Format =
    Format { name: "atif", domain: "general", fits, open: || Box::new(read) };

fn fits(value: Value, _kind: Option<&str>) -> bool {
    version(value).is_some() && value.list("steps").is_some()
}

/// Returns the version, such as `v1.8`.
fn version(value: Value<'_>) -> Option<&str> {
    value.text("schema_version")?.strip_prefix("ATIF-")
}

fn read(value: Value, out: &mut Sink) {
    let major = version(value).and_then(|version| version.strip_prefix('v')?.split('.').next());
    if major != Some("1") {
        return out.skip("unsupported_version");
    }
    let ids = ["session_id", "trajectory_id"].iter().filter_map(|name| value.name(name));
    let key = ids.map(str::to_owned).reduce(|ids, id| ids + "/" + &id);
    let mut run = Run { key, ..out.begin() };
    run.skipped.add_many("subagent", value.elements("subagent_trajectories").count() as u64);
    value.object("agent").into_iter().for_each(|agent| run.read_given(agent));
    value.elements("steps").for_each(|step| read_step(step, &mut run));
    let total = Tokens::of(
        value.object("final_metrics"),
        ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", ""],
    );
    run.facts.tokens = total.map(Tokens::without_cache).or(run.facts.tokens);
    // The trajectory that continues this one is a run of its own.
    if value.text("continued_trajectory_ref").is_some() {
        run.skipped.add("continuation");
    }
    out.run(run);
}

fn read_step(step: Value, run: &mut Run) {
    let Some(source) = step.text("source") else { return run.skipped.add("malformed") };
    let (time, content) = (step.member("timestamp"), step.member("message"));
    if step.flag("is_copied_context") == Some(true) {
        run.skipped.add("copied_context");
        run.created_at = run.created_at.take().or_else(|| time.and_then(time::utc));
        if source == "user" && run.fallback.is_none() {
            let said = Conversation::asked(Harness::Unknown, content);
            run.fallback = said.map(|text| (text, Origin::Copied));
        }
        return;
    }
    run.record(time, |run| read_source(step, source, content, run));
    const USAGE: [&str; 4] = ["prompt_tokens", "completion_tokens", "cached_tokens", ""];
    let tokens = Tokens::of(step.object("metrics"), USAGE);
    run.facts.add(tokens.map(Tokens::without_cache));
    run.facts.model(step.name("model_name"));
}

fn read_source(step: Value, source: &str, content: Option<Value>, run: &mut Run) {
    match source {
        "user" => run.read_user(content),
        "agent" => {
            run.logprobs.add(step.get("metrics").get("logprobs"));
            run.end_turn();
            run.read_assistant(Some(step), content);
        }
        "system" => run.read_system(content),
        _ => return run.skipped.add_role(Some(source)),
    }
    let is_compaction = step.object("extra").member("context_management").is_some();
    for result in step.object("observation").elements("results") {
        let content = result.member("content");
        if !result.is_object() {
            run.skipped.add("malformed");
        } else if is_compaction {
            run.skipped.add("compaction");
        } else if content.is_none() && result.member("subagent_trajectory_ref").is_some() {
            run.skipped.add("subagent_ref");
        } else {
            let output = text_of(content, &mut run.skipped);
            run.tool_result(result.name("source_call_id"), output, flag(result));
        }
    }
}
