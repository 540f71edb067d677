//! Parts of Bedrock's Converse API, which have no type: the name of their one member tells them apart.

use crate::{
    json::{Array, Members, Value},
    skipped::Skipped,
};

/// Members of results that are no text.
const MEDIA: [&str; 4] = ["image", "document", "video", "searchResult"];

/// Returns the text of a part with reasoning or citations.
pub fn text_of_part(part: Value) -> Option<String> {
    let reasoning = part.object("reasoningContent").object("reasoningText").text("text");
    reasoning.map(Into::into).or_else(|| {
        let cited = part.object("citationsContent")?.elements("content");
        Some(cited.filter_map(|part| part.text("text")).collect())
    })
}

/// Returns the text of the content of a result; `None` if it is other content.
pub fn text_of_content(parts: Array, skipped: &mut Skipped) -> Option<String> {
    if !parts.iter().all(|part| content(part).is_some()) {
        return None;
    }
    let mut texts = Vec::new();
    for (name, value) in parts.filter_map(content) {
        match name {
            "json" => texts.push(value.canonical()),
            name => match value.as_str() {
                Some(text) => texts.push(text.into()),
                None => skipped.add_part(name),
            },
        }
    }
    Some(texts.join("\n"))
}

/// Returns the one member of content.
fn content(part: Value<'_>) -> Option<(&str, Value<'_>)> {
    let mut members = part.members();
    let (name, value) = members.next().filter(|_| members.next().is_none())?;
    let is_content = match name {
        "text" => value.is_string(),
        "json" => true,
        name => MEDIA.contains(&name) && value.is_object(),
    };
    is_content.then_some((name, value))
}
