//! Whether a tool failed.

use crate::{
    json::{Document, Kind, Members, Value},
    pattern::{Pattern, regex},
};

/// Returns whether the AI SDK gave this value to the model in place of a result, because a person refused the call.
pub fn is_denial(value: Value) -> bool {
    value.text("type") == Some("execution-denied")
}

/// Returns whether a result, or its value, says by a flag that the tool failed.
pub fn flag<'d>(value: impl Members<'d>) -> Option<bool> {
    value.flag("isError").or_else(|| value.flag("is_error")).or_else(|| {
        let is_error = match value.text("status")? {
            "error" => true,
            "success" => false,
            _ => return None,
        };
        let is_of_tool = value.text("type") == Some("tool")
            || value.has("tool_call_id")
            // As in Bedrock's Converse API.
            || value.has("toolUseId");
        is_of_tool.then_some(is_error)
    })
}

/// Returns whether an exit code says that the tool failed; `None` if it is no number.
pub fn has_failed(code: Option<Value>) -> Option<bool> {
    code?.as_f64().map(|code| code != 0.0)
}

/// Returns whether the text of a result reads like a failure.
pub fn is_failure(text: &str) -> bool {
    static BEGINNING: Pattern = Pattern::new(|| {
        // The OpenAI Agents SDK and Mastra say nowhere else that a tool failed or was refused.
        let failed = r"An error occurred while running the tool\.";
        let refused = r"Tool (?:execution was not approved\.|call was not approved by the user)";
        let doing = "calling|editing|executing|fetching|invoking|parsing|reading|running|writing";
        let error = format!(
            r"ERROR(?:\s|\z)|(?i:error(?:\[[a-z0-9]+\])?(?::(?:\s|\z)|\s*\z)|error (?:{doing}) )"
        );
        let other = r"<tool_use_error>|<system>ERROR:|Traceback \(most recent call last\)";
        regex(&format!(r"^[ \t\r\n]*(?:{failed}|{refused}|{error}|{other})"))
    });
    static EXIT: Pattern = Pattern::new(|| {
        let program = "(?:the )?(?:(?:command|process|script|program) )?";
        let verb = "(?:(?:exited|completed|finished|failed|terminated|returned) with )?";
        let code = "(?:exit code|exit status|return code|returncode)";
        let number = r"[:=]? *(-?(?:0|[1-9][0-9]*))[.:\])]*[ \t\r]*$";
        let tag = "<returncode>(-?(?:0|[1-9][0-9]*))</returncode>";
        regex(&format!(
            r"(?im)^[\[(]*(?:{program}{verb}{code}{number}|{program}exited with code{number}|{tag})"
        ))
    });
    // What is in each of these, and found faster. (`s` has another form beyond ASCII.)
    static MAY_EXIT: Pattern = Pattern::new(|| regex("(?i-u:code|tatu)"));
    static HEADER: Pattern = Pattern::new(|| regex(r"^\s*(?:[A-Z][A-Za-z ]*: [^\n]*\n)*$"));
    static TRAILER: Pattern =
        Pattern::new(|| regex(r"^[^\n]*(?:\n(?:\[[^\n]*\]|[A-Z][A-Za-z ]*: [^\n]*|)\r?)*\s*$"));
    let is_exit = MAY_EXIT.is_match(text);
    let mut last = None;
    for found in is_exit.then(|| EXIT.captures_iter(text)).into_iter().flatten() {
        let code = found.iter().skip(1).flatten().next();
        let has_failed = code.is_some_and(|code| code.as_str() != "0");
        let place = found.get_match().start();
        // What the output says between is no exit code.
        if last.is_none() && HEADER.is_match(&text[..place]) {
            return has_failed;
        }
        last = Some((place, has_failed));
    }
    match last.filter(|(place, _)| TRAILER.is_match(&text[*place..])) {
        Some((_, has_failed)) => has_failed,
        None => BEGINNING.is_match(text) || is_error_object(text),
    }
}

fn is_error_object(text: &str) -> bool {
    // Few outputs have one of these, and most are not read again.
    static NAME: Pattern = Pattern::new(|| {
        regex(r#""(?:error|isError|is_error|success|status|exit_code|returncode|metadata)""#)
    });
    let is_object = text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{');
    if !is_object || !NAME.is_match(text) {
        return false;
    }
    let Ok(document) = Document::parse(text) else { return false };
    let value = document.root();
    let error = match value.member("error").map(Value::kind) {
        None | Some(Kind::Null) => false,
        Some(Kind::Bool(error)) => error,
        Some(Kind::Number(number)) => number.as_f64() != Some(0.0),
        Some(Kind::String(text)) => !text.is_empty(),
        Some(Kind::Array(elements)) => !elements.is_empty(),
        Some(Kind::Object(object)) => object.members().next().is_some(),
    };
    // As Codex wrote it until 2025.
    let code = value
        .first(&["exit_code", "returncode"])
        .or_else(|| value.object("metadata").get("exit_code"));
    if let Some(has_failed) = has_failed(code) {
        return has_failed;
    }
    error
        || flag(value) == Some(true)
        || value.flag("success") == Some(false)
        || value.text("status") == Some("error")
}
