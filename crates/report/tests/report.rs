//! The report: escaping, no external references, a valid document for any rows.

use std::{sync::mpsc, thread, time::Duration};

use knowledgepulse_calibrate::{Options, Row, Target};
use knowledgepulse_report::{self as report, Context};
use knowledgepulse_scoring::weights::Dimensions;
use proptest::prelude::*;

#[path = "../../calibrate/tests/calibration/rows.rs"]
mod rows;

use rows::calibrate;

const HOSTILE: &str =
    r#"</title><script>alert('1')</script>" onload="x"><img src=//e.x>'&\u{202e}"#;

fn row(number: usize, domain: &str, label: Option<bool>) -> Row {
    let base = rows::row(number);
    let outcome_confidence = if base.success { 0.9 } else { 0.27 };
    let mut row = Row {
        group: Some(format!("g{}", number / 3)),
        domain: domain.to_owned(),
        dimensions: Dimensions { outcome_confidence, ..base.dimensions },
        nearest: Some("t0".to_owned()),
        confidence: 0.9,
        is_cut: number.is_multiple_of(9),
        label,
        ..base
    };
    row.score = rows::scored(&row);
    row
}

fn rows(n: usize, label: impl Fn(usize, &Row) -> Option<bool>) -> Vec<Row> {
    let labelled = |number: usize| {
        let row = row(number, ["code", "finance", "airline"][number % 3], None);
        Row { label: label(number, &row), ..row }
    };
    (1..=n).map(labelled).collect()
}

fn render(rows: &[Row], target: Option<Target>, fit: bool) -> String {
    let options = Options { target, fit, replicates: 100, ..Options::default() };
    let found = calibrate(rows, &options).unwrap();
    let html = report::html(&found, rows, &Context::default()).unwrap();
    check(&html);
    html
}

/// Checks what holds for every report.
fn check(html: &str) {
    assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"));
    for never in
        ["http:", "https:", "<script", "<link", "<img", "@import", "url(", "src=", "NaN", "inf "]
    {
        // The one `src` is in the name of a directive.
        assert!(!html.contains(never), "{never}");
    }
    let mut open = Vec::new();
    for tag in html.split('<').skip(2).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.split([' ', '\n']).next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if name == "meta" || tag.ends_with('/') => {}
            None => open.push(name),
        }
        let is_labelled = tag.contains("aria-label");
        match name {
            "svg" => assert!(is_labelled || tag.contains(r#"aria-hidden="true""#), "{tag}"),
            "th" => assert!(tag.contains("scope="), "{tag}"),
            "section" => assert!(is_labelled, "{tag}"),
            _ if tag.contains("tabindex") => assert!(is_labelled && tag.contains("role="), "{tag}"),
            _ => {}
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert_eq!(html.matches("<table").count(), html.matches("<caption>").count());
    assert_eq!(html.matches("<h1>").count(), 1);
    let ids: Vec<&str> = values(html, " id=\"");
    for (index, id) in ids.iter().enumerate() {
        assert!(!ids[..index].contains(id), "{id} twice");
    }
    for link in values(html, "href=\"") {
        assert!(ids.contains(&link.strip_prefix('#').unwrap()), "{link}");
    }
}

fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    html.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn report_has_every_section() {
    let rows = rows(180, |number, row| Some(row.score + (number % 5) as f64 / 10.0 > 0.7));
    let html = render(&rows, Some(Target::Share(0.2)), true);
    for section in
        ["threshold", "scores", "domains", "dimensions", "labels", "fit", "traces", "settings"]
    {
        assert!(html.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    for chart in [
        "Histogram of score, All domains", "Histogram of score, finance",
        "Histogram of outcome confidence", "Cumulative distribution of the score",
        "Score and novelty over time", "Receiver operating characteristic", "Precision and recall",
        "Label rate by decile",
    ] {
        assert!(html.contains(&format!("role=\"img\" aria-label=\"{chart}")), "{chart}");
    }
    for (id, n) in [("borderline", 10), ("highest", 10), ("lowest", 10)] {
        let table = html.split(&format!("id=\"{id}\"")).nth(1).unwrap();
        let table = table.split("</table>").next().unwrap();
        assert_eq!(table.matches("<th scope=\"row\">").count(), n, "{id}");
    }
    assert!(html.contains("chosen to accept 20\u{a0}%"));
}

#[test]
fn report_does_not_call_an_assumed_success_a_success() {
    let mut rows = rows(30, |_, _| None);
    for (number, row) in rows.iter_mut().enumerate() {
        row.success_from = Some("assumed".to_owned());
        row.success = number > 0;
    }
    let html = render(&rows, None, false);
    assert!(html.contains("<td>assumed</td>") && html.contains("<td>failure assumed</td>"));
    assert!(!html.contains("<td>yes") && !html.contains("<td>no"));
}

#[test]
fn text_is_escaped_everywhere() {
    let mut rows = rows(90, |number, _| Some(number.is_multiple_of(2)));
    for row in &mut rows {
        row.id = Some(HOSTILE.to_owned());
        row.objective = Some(HOSTILE.to_owned());
        row.domain = format!("{HOSTILE}{}", row.domain);
        row.nearest = Some(HOSTILE.to_owned());
        row.model_fingerprint = Some(HOSTILE.to_owned());
        row.precision = Some(HOSTILE.to_owned());
        row.version = HOSTILE.to_owned();
    }
    // Where the rows were compared with nothing, the source of novelty is shown.
    rows[80].similarity = None;
    rows[80].novelty_source = HOSTILE.to_owned();
    let context = Context {
        title: HOSTILE.to_owned(),
        language: HOSTILE.to_owned(),
        settings: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
    };
    let options = Options { replicates: 100, fit: true, ..Options::default() };
    let html = report::html(&calibrate(&rows, &options).unwrap(), &rows, &context).unwrap();
    // What was `src=` is text now; nothing of it is a tag or an attribute.
    check(&html.replace("img src=", "img"));
    assert!(html.contains("&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#34; onload"));
    assert!(!html.contains("onload=\"x") && !html.contains("<img"));
}

#[test]
fn texts_are_cut_and_lose_controls() {
    let mut rows = rows(1, |_, _| None);
    rows[0].objective = Some(format!("a\nb\u{0}\u{1b}[31mc{}", "x".repeat(5000)));
    let html = render(&rows, None, false);
    assert!(html.contains(&format!(">a\nb[31mc{}…</p>", "x".repeat(992))));
}

#[test]
fn report_of_rows_without_labels_says_so() {
    let html = render(&rows(40, |_, _| None), Some(Target::Threshold(0.75)), false);
    assert!(html.contains("The rows have no labels"));
    assert!(!html.contains("id=\"fit\"") && !html.contains("Receiver operating"));
    assert!(html.contains("which was given, accepts"));
}

#[test]
fn report_of_equal_labels_says_so() {
    let html = render(&rows(40, |_, _| Some(true)), None, true);
    assert!(html.contains("All labels are equal") && html.contains("Not fitted: expected 30 rows"));
    assert!(html.contains("No target was set"));
}

#[test]
fn threshold_that_is_not_found_is_reported() {
    let alternate = rows(60, |number, _| Some(number.is_multiple_of(2)));
    let html = render(&alternate, Some(Target::Precision(0.99)), false);
    assert!(html.contains("No threshold was found for a precision of 99\u{a0}%."));
    assert!(html.contains("<b>none</b>"));
}

#[test]
fn single_row_and_nameless_domain_make_a_report() {
    let mut only = vec![row(1, "", None)];
    let html = render(&only, Some(Target::Share(1.0)), false);
    assert!(html.contains("1 of 1 trace used, in 1 domain, in 1 group."));
    only[0].id = None;
    only[0].label = Some(false);
    render(&only, None, false);
}

#[test]
fn domain_whose_rows_are_all_excluded_is_in_the_tables() {
    let mut rows = rows(60, |_, _| None);
    rows.push(Row { similarity: None, ..row(61, "empty", None) });
    let html = render(&rows, Some(Target::Share(0.5)), false);
    assert!(html.contains("<bdi>empty</bdi>"));
    assert!(!html.contains("Histogram of score, empty"));
}

#[test]
fn many_domains_have_twelve_charts() {
    let rows: Vec<Row> =
        (1..=80).map(|number| row(number, &format!("d{}", number % 20), None)).collect();
    let html = render(&rows, None, false);
    assert_eq!(html.matches("aria-label=\"Histogram of score, d").count(), 12);
    assert!(html.contains("8 more domains"));
}

#[test]
fn better_weights_can_be_pasted() {
    // Complexity alone decides, among labels that are not `success`.
    let rows: Vec<Row> = (1..=300)
        .map(|number| {
            let row = row(number, "code", None);
            Row { group: None, label: Some(row.dimensions.complexity > 0.5), ..row }
        })
        .collect();
    let html = render(&rows, None, true);
    let paste = html.split("<pre").nth(1).unwrap().split("</pre>").next().unwrap();
    let (_, weights) = paste.split_once("&#34;code&#34;: {").unwrap();
    let weights = weights.split('}').next().unwrap().split(", ");
    let weights: Vec<f64> =
        weights.map(|part| part.split(": ").nth(1).unwrap().trim().parse().unwrap()).collect();
    assert_eq!(weights.len(), 4);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{weights:?}");
    assert!(weights[0] > 0.3, "{weights:?}");
}

#[test]
fn weights_without_the_outcome_leave_its_weight() {
    // Labels are `success`; where they are, novelty goes with them.
    let rows: Vec<Row> = (1..=300)
        .map(|number| {
            let mut row = row(number, "code", None);
            row.dimensions.novelty = if row.success { 0.6 } else { 0.4 };
            row.score = rows::scored(&row);
            Row { group: None, label: Some(row.success), ..row }
        })
        .collect();
    let html = render(&rows, None, true);
    assert!(html.contains("The labels equal success, or nearly"));
    assert!(html.contains("outcome confidence was left out"));
    assert!(html.contains("outcomeConfidence: 0.2 }"));
}

#[test]
fn calibration_of_very_many_bins_makes_a_report() {
    let rows = rows(30, |_, _| None);
    let mut found = calibrate(&rows, &Options { replicates: 100, ..Options::default() }).unwrap();
    found.overall.score.as_mut().unwrap().histogram = vec![1; 500_000];
    // It takes seconds, but minutes if the bins are added for each of them.
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(report::html(&found, &[], &Context::default())));
    let html = receiver.recv_timeout(Duration::from_secs(60)).expect("a report soon");
    assert!(html.is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn report_is_sound_for_any_rows(
        given in proptest::collection::vec((0.0..=1.0_f64, ".{0,12}", any::<Option<bool>>(), any::<bool>()), 1..40),
    ) {
        let rows: Vec<Row> = (1..)
            .zip(&given)
            .map(|(number, (score, text, label, is_compared))| Row {
                id: Some(text.clone()),
                domain: text.chars().take(1).collect(),
                score: *score,
                similarity: (*is_compared || number == given.len()).then_some(0.5),
                ..row(number, "code", *label)
            })
            .collect();
        let options = Options { first: Some(0), replicates: 100, target: Some(Target::Share(0.3)), ..Options::default() };
        check(&report::html(&calibrate(&rows, &options).unwrap(), &rows, &Context::default()).unwrap());
    }
}
