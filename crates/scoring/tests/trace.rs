//! What is counted in a trace, and which ids it keeps.

use knowledgepulse_scoring::{
    Trace,
    trace::{Confidence, Step, quote},
};

fn trace(steps: Vec<Step>, id: Option<String>) -> Trace {
    Trace::new("code".into(), true, Confidence::new(0.5).unwrap(), steps, id)
}

#[test]
fn id_has_at_most_1024_bytes() {
    let id = |id: &str| trace(Vec::new(), Some(id.into())).id().map(ToString::to_string);
    for text in ["kp:trace:1", "", "👩‍🔬 e\u{301}\0", &"i".repeat(1024)] {
        assert_eq!(id(text).as_deref(), Some(text));
    }
    assert_eq!(id(&"i".repeat(1025)), None);
    assert_eq!(trace(Vec::new(), None).id(), None);
}

#[test]
fn unique_types_and_unique_tools_count_each_once() {
    let named = |name: &str| Some(Some(name.into()));
    let steps = [
        ("thought", None),
        ("thought", Some(None)),
        ("daydream", named("a")),
        ("error_recovery", Some(None)),
        ("nightmare", named("a")),
        ("error_recovery", named("")),
    ];
    let trace = trace(steps.map(|(kind, tool)| Step::new(kind, tool)).into(), None);
    assert_eq!(trace.unique_types(), 4);
    assert_eq!(trace.unique_tools(), 3, "nameless, \"a\" and the empty name");
    assert_eq!(trace.error_recoveries(), 2);
}

#[test]
fn quote_shows_forty_characters() {
    for (length, more) in [(0, false), (39, false), (40, false), (41, true), (4000, true)] {
        for letter in ["x", "é", "👩"] {
            let (text, shown) = (letter.repeat(length), letter.repeat(length.min(40)));
            let mark = if more { "…" } else { "" };
            assert_eq!(quote(&text), format!("\"{shown}\"{mark}"), "{length} × {letter}");
        }
    }
    assert_eq!(quote("a\n\""), r#""a\n\"""#);
}
