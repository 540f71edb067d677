//! Lines that are traces, read as they are scored, against the reading of any value.

use knowledgepulse_test_support::importing::check_own;
use proptest::{collection::vec, prelude::*, sample::select, strategy::Union};

/// Pointers to what is there, to what is not, and to what is no name.
const GROUPS: [&str; 10] = [
    "",
    "/id",
    "/metadata/session",
    "/steps/0/type",
    "/steps/00/type",
    "/steps/-",
    "/a~1b/~0",
    "/extra/1",
    "/outcome/confidence",
    "/",
];

/// Names that count, one of them escaped, and names that do not.
const NAMES: [&str; 14] = [
    r#""@type""#,
    r#""id""#,
    r#""\u0069d""#,
    r#""type""#,
    r#""content""#,
    r#""steps""#,
    r#""tool""#,
    r#""name""#,
    r#""confidence""#,
    r#""session""#,
    r#""extra""#,
    r#""a/b""#,
    r#""~""#,
    r#""\ud800""#,
];

const TRACE: &str = r#"{"@type":"ReasoningTrace","id":"a","metadata":{"task_domain":"code","success":true,"session":1},"task":{"objective":"b"},"steps":[{"type":"thought"}],"outcome":{"confidence":0.5}}"#;

type Json = BoxedStrategy<String>;

fn text() -> Json {
    let piece = r#"[ a-zé😀]|\\[nbt"\\/]|\\u(d83d\\ude00|d83d|dc00|0041|0000|00E9)"#;
    format!("\"({piece}){{0,8}}\"").prop_map_regex()
}

fn number() -> Json {
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?".to_owned().prop_map_regex()
}

/// Makes a strategy of a pattern.
trait Pattern {
    fn prop_map_regex(self) -> Json;
}

impl Pattern for String {
    fn prop_map_regex(self) -> Json {
        proptest::string::string_regex(&self).expect("a pattern").boxed()
    }
}

fn name() -> Json {
    prop_oneof![4 => select(&NAMES[..]).prop_map(Into::into), 1 => text()].boxed()
}

fn list(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{name} :{value}")).collect();
    format!("{{{}}}", members.join(", "))
}

fn any_value() -> Json {
    let leaf =
        prop_oneof![select(vec!["null", "true", "false"]).prop_map(Into::into), number(), text()];
    let deep = (1..200_usize).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth));
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|elements| list(&elements)),
            vec((name(), inner), 0..3).prop_map(|members| object(&members)),
        ]
    });
    prop_oneof![20 => nested, 1 => deep].boxed()
}

/// The usual value, or seldom any.
fn mostly(usual: Json) -> Json {
    prop_oneof![30 => usual, 1 => any_value()].boxed()
}

/// An object with these members, mostly as they should be and all there, and with others.
fn record(members: Vec<(&'static str, Json)>) -> Json {
    let usual: Vec<_> = members
        .into_iter()
        .map(|(name, value)| (Just(format!("\"{name}\"")), mostly(value)))
        .collect();
    let more = prop_oneof![3 => Just(0..1), 1 => Just(0..3)]
        .prop_flat_map(|count| vec((name(), any_value()), count));
    (usual, more, prop::bool::weighted(0.02))
        .prop_map(|(mut members, more, lacks_one)| {
            members.extend(more);
            if lacks_one {
                members.remove(0);
            }
            members
        })
        .prop_shuffle()
        .prop_map(|members| object(&members))
        .boxed()
}

fn one_of(values: &'static [&'static str]) -> Json {
    select(values).prop_map(Into::into).boxed()
}

fn trace() -> Json {
    let tool = record(vec![("name", text())]);
    let kinds = &[r#""thought""#, r#""tool_call""#, r#""observation""#, r#""tool\u005fcall""#];
    let step = record(vec![("type", one_of(kinds)), ("content", text()), ("tool", tool)]);
    let thought = record(vec![("type", one_of(kinds))]);
    let steps = vec(Union::new([step, thought]), 1..4).prop_map(|steps| list(&steps)).boxed();
    record(vec![
        ("@type", one_of(&[r#""ReasoningTrace""#])),
        ("id", text()),
        ("metadata", {
            let domain = one_of(&[r#""code""#, r#""a\tb""#]);
            let success = one_of(&["true", "false"]);
            let time = one_of(&[r#""2026-01-01T00:00:00.000Z""#, "null"]);
            let session = Union::new([text(), number()]).boxed();
            record(vec![
                ("task_domain", domain),
                ("success", success),
                ("created_at", time),
                ("session", session),
            ])
        }),
        ("task", record(vec![("objective", text())])),
        ("steps", steps),
        ("outcome", record(vec![("confidence", one_of(&["0", "1", "0.25", "1e-9", "-0.0"]))])),
    ])
}

fn line() -> Json {
    prop_oneof![
        12 => trace(),
        1 => (trace(), one_of(&["  ", "\t\r", "x", "1", "{}", TRACE])).prop_map(|(one, more)| one + &more),
        1 => trace().prop_map(|trace| list(&[trace.clone(), trace])),
        1 => any_value(),
        1 => one_of(&["", " ", "{", r#"{"@type":"ReasoningTrace""#]),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn own_lines_give_what_any_value_gives(
        lines in vec(line(), 1..6),
        piece in 1..3000_usize,
        group in select(&GROUPS[..]),
        ends in any::<bool>(),
    ) {
        let mut log = lines.join("\n");
        if ends {
            log.push('\n');
        }
        check_own(log.as_bytes(), piece, group);
    }
}

#[test]
fn own_lines_are_read_as_such() {
    let log = format!("{TRACE}\n").repeat(2000);
    for group in GROUPS {
        // More than one thread reads the second one.
        assert_eq!(check_own(log.as_bytes(), 1000, group), 2000, "{group}");
        assert_eq!(check_own(log.as_bytes(), log.len(), group), 2000, "{group}");
    }
    let odd = "[1]\n{\"a\":\"ReasoningTrace\"}\n\u{e9}\n{\n";
    let mixed = log.replace("\"a\"", "\"\\u0061\"") + odd + &log;
    assert_eq!(check_own(mixed.as_bytes(), mixed.len(), "/id"), 4000);
}
