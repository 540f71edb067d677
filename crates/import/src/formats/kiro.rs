//! Sessions of the Kiro CLI.
//!
//! | Kiro CLI: `sessions/cli/*.jsonl` | a session | |
//!
//! - sessions in the tests of moraine and codeburn | `version` v1; 517b648, ed8fa3af | 2026-11-28 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("kiro", fits, || {
    sessions(Rules {
        takes: |(), record, _| {
            record.text("kind").and(record.object("data")).is_some() && record.has("version")
        },
        time: |record| record.object("data").object("meta").member("timestamp"),
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    let own = || record.text("kind").filter(|_| record.object("data").has("content"));
    kind.is_none() && matches!(own(), Some("Prompt" | "AssistantMessage" | "ToolResults"))
}

fn read(record: Value, run: &mut Run) {
    let kind = record.text("kind").unwrap_or("?");
    run.end_turn();
    match kind {
        "Prompt" | "AssistantMessage" | "ToolResults" => {
            let content = record.object("data").get("content");
            let mut texts = Vec::new();
            for part in run.skipped.objects(content) {
                let (Some(name), Some(data)) = (part.text("kind"), part.member("data")) else {
                    run.skipped.add("malformed");
                    continue;
                };
                let text = data.as_str().or_else(|| data.text("text")).unwrap_or_default();
                match name {
                    "text" if kind == "Prompt" => texts.push(text),
                    "text" if kind == "AssistantMessage" => run.events.push(Event::said(text)),
                    "thinking" => run.events.push(Event::reasoned(text)),
                    "toolUse" => {
                        run.facts.model(data.name("modelId"));
                        let input = CallInput::recorded(data.member("input"));
                        run.tool_call(data.name("name"), input, data.name("toolUseId"));
                    }
                    "toolResult" => read_result(data, run),
                    name => run.skipped.add_part(name),
                }
            }
            run.say_human(&texts);
        }
        "Compaction" => run.skipped.add("compact_summary"),
        kind => run.skipped.add_record(kind),
    }
}

fn read_result(data: Value, run: &mut Run) {
    let failed = data.text("status").map(|status| !status.eq_ignore_ascii_case("success"));
    let mut texts = Vec::new();
    for part in data.elements("content") {
        match (part.text("kind"), part.get("data")) {
            (Some("text" | "json"), data) => texts.push(text_of(data, &mut run.skipped).text),
            (kind, _) => run.skipped.add_part(kind.unwrap_or("?")),
        }
    }
    let output = Output { text: texts.join("\n"), failed: Some(false) };
    run.tool_result(data.name("toolUseId"), output, failed);
}
