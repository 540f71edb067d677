//! Reading traces out of JSON: what is refused, and what is not.

use std::cell::Cell;

use knowledgepulse_scoring::{
    embedder::{LongText, Text},
    trace::{ReadError, StepKind, Trace, Type, View, quote, read, shorten},
};
use serde_json::{Value, json};

fn valid() -> Value {
    json!({
        "metadata": { "task_domain": "code", "success": true },
        "task": { "objective": "Find the leak" },
        "steps": [
            { "type": "thought", "content": "Look at the allocator" },
            { "type": "tool_call", "tool": { "name": "heaptrack" }, "content": null },
        ],
        "outcome": { "confidence": 0.5 },
    })
}

/// The valid trace with the value at a JSON pointer replaced.
#[track_caller]
fn with(pointer: &str, value: Value) -> Value {
    let mut trace = valid();
    *trace.pointer_mut(pointer).expect("the valid trace has this place") = value;
    trace
}

#[track_caller]
fn refused(trace: &Value, path: &str, message: &str) {
    let error = Trace::from_json(trace).map(drop).expect_err(message);
    assert_eq!(error.code(), "INVALID_TRACE", "{message}");
    assert_eq!(error.path(), Some(path), "{message}");
    assert_eq!(error.to_string(), message);
}

#[test]
fn names_the_place_what_was_expected_and_what_was_found() {
    let long = "x".repeat(41);
    for (trace, path, expected) in [
        (json!(null), "trace", "an object, got null"),
        (with("/metadata", json!("m")), "metadata", "an object, got \"m\""),
        (with("/metadata/task_domain", json!(7)), "metadata.task_domain", "a string, got 7"),
        (with("/metadata/success", json!("yes")), "metadata.success", "a boolean, got \"yes\""),
        (with("/task", json!(false)), "task", "an object, got false"),
        (with("/task/objective", json!({})), "task.objective", "a string, got an object"),
        (with("/steps", json!({"length": 0})), "steps", "an array, got an object"),
        (with("/steps", json!("abc")), "steps", "an array, got \"abc\""),
        (with("/steps/0", json!([])), "steps[0].type", "a string, got undefined"),
        (with("/steps/1", json!(3)), "steps[1]", "an object, got 3"),
        (with("/steps/0/type", json!(null)), "steps[0].type", "a string, got null"),
        (
            with("/steps/0/content", json!([])),
            "steps[0].content",
            "a string, null or nothing, got an array",
        ),
        (
            with("/steps/1/tool", json!(long)),
            "steps[1].tool",
            &format!("an object, null or nothing, got {:?}…", &long[..40]),
        ),
        (with("/steps/1/tool/name", json!(42)), "steps[1].tool.name", "a string, got 42"),
        (with("/steps/1/tool/name", json!(null)), "steps[1].tool.name", "a string, got null"),
        (
            with("/outcome/confidence", json!(1.5)),
            "outcome.confidence",
            "a finite number in [0, 1], got 1.5",
        ),
        (
            with("/outcome/confidence", json!("1")),
            "outcome.confidence",
            "a finite number in [0, 1], got \"1\"",
        ),
    ] {
        refused(&trace, path, &format!("{path}: expected {expected}"));
    }
}

#[test]
fn takes_what_a_trace_may_leave_out() {
    for (what, trace) in [
        ("no steps", with("/steps", json!([]))),
        ("no content", with("/steps/0", json!({ "type": "thought" }))),
        ("no tool", with("/steps/1/tool", json!(null))),
        ("a nameless tool", with("/steps/1/tool", json!({}))),
        ("an unknown type", with("/steps/0/type", json!("daydream"))),
        ("the least confidence", with("/outcome/confidence", json!(0))),
        ("the greatest confidence", with("/outcome/confidence", json!(1))),
    ] {
        assert!(Trace::from_json(&trace).is_ok(), "{what}");
    }
}

#[test]
fn any_string_is_an_id_and_nothing_else_is() {
    let id = |id: Value| {
        let mut trace = valid();
        trace["id"] = id;
        Trace::from_json(&trace).expect("a valid trace").id().map(ToString::to_string)
    };
    for text in ["kp:trace:1", "", "👩‍🔬 e\u{301}\0"] {
        assert_eq!(id(json!(text)).as_deref(), Some(text));
    }
    for other in [json!(null), json!(5), json!(true), json!(["a"]), json!({ "a": 1 })] {
        assert_eq!(id(other.clone()), None, "{other}");
    }
    assert_eq!(Trace::from_json(&valid()).expect("a valid trace").id(), None);
    assert!(id(json!("i".repeat(1024))).is_some());
    assert_eq!(id(json!("i".repeat(1025))), None);
}

#[test]
fn counts_types_and_tools_once() {
    let trace = with(
        "/steps",
        json!([
            { "type": "thought" },
            { "type": "thought", "tool": {} },
            { "type": "daydream", "tool": { "name": "a" } },
            { "type": "error_recovery", "tool": {} },
            { "type": "nightmare", "tool": { "name": "a" } },
            { "type": "error_recovery", "tool": { "name": "" } },
        ]),
    );
    let trace = Trace::from_json(&trace).unwrap();
    assert_eq!(trace.unique_types(), 4);
    assert_eq!(trace.unique_tools(), 3, "nameless, \"a\" and the empty name");
    assert_eq!(trace.error_recoveries(), 2);
}

#[test]
fn joins_objective_and_contents_with_spaces() {
    let trace = Trace::from_json(&valid()).unwrap();
    assert_eq!(trace.text().as_str(), "Find the leak Look at the allocator ");
}

#[test]
fn steps_keep_their_kind_and_their_tool() {
    let kinds = ["thought", "tool_call", "observation", "error_recovery", "Thought", ""];
    let mut steps: Vec<_> = kinds.iter().map(|kind| json!({ "type": kind })).collect();
    steps[1]["tool"] = json!({ "name": "heaptrack" });
    steps[2]["tool"] = json!({});
    let trace = Trace::from_json(&with("/steps", json!(steps))).unwrap();
    let found: Vec<_> = trace.steps().iter().map(|step| step.kind.clone()).collect();
    let expected = [
        StepKind::Thought,
        StepKind::ToolCall,
        StepKind::Observation,
        StepKind::ErrorRecovery,
        StepKind::Other("Thought".into()),
        StepKind::Other("".into()),
    ];
    assert_eq!(found, expected);
    let tools: Vec<_> = trace.steps().iter().map(|step| step.tool.as_ref()).collect();
    assert_eq!(tools[0], None);
    assert_eq!(tools[1].unwrap().name.as_deref(), Some("heaptrack"));
    assert_eq!(tools[2].unwrap().name, None);
}

#[test]
fn messages_show_forty_characters_of_a_value() {
    for (length, more) in [(0, false), (39, false), (40, false), (41, true), (4000, true)] {
        for letter in ["x", "é", "👩"] {
            let (text, shown) = (letter.repeat(length), letter.repeat(length.min(40)));
            let mark = if more { "…" } else { "" };
            assert_eq!(shorten(&text), format!("{shown}{mark}"), "{length} × {letter}");
            assert_eq!(quote(&text), format!("\"{shown}\"{mark}"), "{length} × {letter}");
        }
    }
    assert_eq!((shorten("a\n\""), quote("a\n\"")), ("a\n\"".into(), r#""a\n\"""#.into()));
}

/// A host that fails when it is asked the `allowed + 1`st time.
#[derive(Clone, Copy)]
struct Failing<'a> {
    value: Option<&'a Value>,
    asked: &'a Cell<usize>,
    allowed: usize,
}

#[derive(Debug, PartialEq)]
struct Failure;

impl Failing<'_> {
    fn ask<T>(&self, answer: Result<T, std::convert::Infallible>) -> Result<T, Failure> {
        let asked = self.asked.replace(self.asked.get() + 1);
        let Ok(answer) = answer;
        if asked == self.allowed { Err(Failure) } else { Ok(answer) }
    }
}

impl View for Failing<'_> {
    type Fault = Failure;

    fn type_of(&self) -> Type {
        self.value.type_of()
    }

    fn is_array(&self) -> Result<bool, Failure> {
        self.ask(self.value.is_array())
    }

    fn property(&self, name: &'static str) -> Result<Self, Failure> {
        let value = self.ask(self.value.property(name))?;
        Ok(Self { value, ..*self })
    }

    fn length(&self) -> Result<u32, Failure> {
        self.ask(self.value.length())
    }

    fn element(&self, index: u32) -> Result<Self, Failure> {
        let value = self.ask(self.value.element(index))?;
        Ok(Self { value, ..*self })
    }

    fn boolean(&self) -> Result<bool, Failure> {
        self.ask(self.value.boolean())
    }

    fn number(&self) -> Result<f64, Failure> {
        self.ask(self.value.number())
    }

    fn string(&self) -> Result<String, Failure> {
        self.ask(self.value.string())
    }

    fn append_to(&self, text: &mut Text) -> Result<(), Failure> {
        self.ask(self.value.append_to(text))
    }

    fn describe(&self) -> String {
        self.value.describe()
    }
}

#[test]
fn a_host_that_fails_anywhere_ends_the_reading_there() {
    let mut whole = valid();
    whole["id"] = json!("an id");
    let asked = Cell::new(0);
    let attempt = |allowed| {
        asked.set(0);
        read(&Failing { value: Some(&whole), asked: &asked, allowed }, LongText::Window)
    };
    assert_eq!(attempt(usize::MAX).unwrap().id().map(|id| &**id), Some("an id"));
    let needed = asked.get();
    assert!(needed > 20, "each field is asked for: {needed}");
    for allowed in 0..needed {
        assert_eq!(attempt(allowed).map(drop), Err(ReadError::Fault(Failure)), "{allowed}");
        assert_eq!(asked.get(), allowed + 1, "nothing is asked after a failure");
    }
}

#[test]
fn keeps_all_of_a_long_text_only_where_it_is_wanted() {
    let long = "word ".repeat(2000);
    let trace = with("/task/objective", json!(long));
    let window = Trace::from_json(&trace).unwrap();
    assert!(window.text().is_full() && long.starts_with(window.text().as_str()));
    let whole = Trace::from_json_with(&trace, LongText::Whole).unwrap();
    assert!(!whole.text().is_full());
    assert_eq!(whole.text().as_str(), format!("{long} Look at the allocator "));
}
