//! Calibrations: errors, cold start, leakage, refusals, warnings.

use knowledgepulse_calibrate::{
    Calibration, Options, Row, Target,
    calibration::{Dimension, FitResult, Summary, WarningCode},
    read_json,
};
use knowledgepulse_scoring::Invalid;
use proptest::prelude::*;
use serde_json::json;

use crate::rows::{calibrate, row, scored};

/// A change to valid rows.
type Change = fn(usize, &mut Row);

fn rows(n: usize, change: impl Fn(usize, &mut Row)) -> Vec<Row> {
    let changed = |number| {
        let mut row = row(number);
        change(number, &mut row);
        row
    };
    (1..=n).map(changed).collect()
}

fn quick() -> Options {
    Options { replicates: 100, ..Options::default() }
}

fn codes(found: &Calibration) -> Vec<WarningCode> {
    found.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn row_is_read_as_it_is_written() {
    let original = row(3);
    let json = serde_json::to_string(&original).unwrap();
    assert!(json.contains(r#""noveltySource":"cache""#) && json.contains(r#""isCut":false"#));
    let read = Row::from_json(&json, 1).unwrap();
    assert_eq!(
        (read.id, read.label, read.success),
        (original.id, original.label, original.success)
    );
}

#[test]
fn rows_are_read_with_the_line_of_an_error() {
    let mut good = serde_json::to_value(row(1)).unwrap();
    // As rounded by float32.
    good["similarity"] = json!(1.000_005);
    let rule = "one of single-thought, error-recovery, low-tool-diversity, got \"none\"";
    let changed = [
        ("/score", json!("high"), "a number, got string \"high\""),
        ("/score", json!(1.5), "a number in [0, 1], got 1.5"),
        ("/dimensions/novelty", json!(-0.1), "a number in [0, 1], got -0.1"),
        ("/dimensions/novelty", json!(null), "a number, got null"),
        ("/similarity", json!(1.1), "a number in [-1, 1] or null, got 1.1"),
        ("/success", json!(1), "a boolean, got integer `1`"),
        ("/tokens", json!(-1), "a whole number, 0 or more, got integer `-1`"),
        ("/overrides", json!(["none"]), rule),
    ]
    .map(|(pointer, value, message)| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        (changed.to_string(), pointer.replace('/', "."), message)
    });
    let mut without = good.clone();
    without["dimensions"].as_object_mut().unwrap().remove("novelty");
    let others = [
        (without.to_string(), ".dimensions.novelty", "a value, got nothing"),
        ("[]".to_owned(), "", "an object, got "),
        ("{".to_owned(), "", "JSON, got EOF while parsing an object"),
        (format!("{good} x"), "", "JSON, got trailing characters"),
    ]
    .map(|(line, path, message)| (line, path.to_owned(), message));
    for (line, path, message) in changed.into_iter().chain(others) {
        let error = Row::from_json_lines(&format!("{good}\n\n{line}\n")).unwrap_err();
        let path = format!("rows[2]{path}");
        assert_eq!((error.code(), error.path()), ("INVALID_ROW", Some(&*path)), "{line}");
        assert!(error.to_string().starts_with(&format!("{path}: expected {message}")), "{error}");
    }
}

#[test]
fn calibrate_refuses_rows_that_it_cannot_use() {
    let cold = rows(20, |_, row| row.similarity = None);
    let after = "a row after the first 2 that was compared with an earlier trace";
    for (rows, expected, found) in [(vec![], "rows", "none"), (cold, after, "none among 20")] {
        let error = calibrate(&rows, &quick()).unwrap_err();
        assert_eq!(error.code(), "NO_ROWS");
        assert_eq!(error.to_string(), format!("rows: expected {expected}, got {found}"));
    }
}

#[test]
fn calibrate_refuses_options_without_labels_for_them() {
    let target = Some(Target::Precision(0.9));
    let unlabelled = rows(50, |_, row| row.label = None);
    for (options, path) in [
        (Options { target, ..quick() }, "target.precision"),
        (Options { fit: true, ..quick() }, "fit"),
    ] {
        let error = calibrate(&unlabelled, &options).unwrap_err();
        assert_eq!((error.code(), error.path()), ("NO_LABELS", Some(path)));
        assert_eq!(error.to_string(), format!("{path}: expected rows with labels, got none"));
    }
    let error = read_json::<Options>("[", Invalid::Option, "").unwrap_err();
    assert_eq!(error.to_string(), "options: expected JSON, got EOF while parsing a list");
}

#[test]
fn calibrate_tells_assumed_success_from_known() {
    let assumed = |number: usize| number.is_multiple_of(2).then(|| "assumed".to_owned());
    let labelled = |wrong: Option<usize>| {
        rows(50, |number, row| {
            row.success = number % 4 < 2;
            row.success_from = assumed(number);
            row.label = Some(row.success ^ (wrong == Some(number)));
        })
    };
    let error = calibrate(&labelled(None), &quick()).unwrap_err();
    assert_eq!((error.code(), error.path()), ("NO_LABELS", Some("labels")));
    assert!(error.to_string().contains("success, which is assumed in 2"), "{error}");
    assert!(calibrate(&labelled(Some(49)), &quick()).unwrap().overall.success_share.is_some());
    let unknown = rows(50, |_, row| row.success_from = assumed(0));
    assert_eq!(calibrate(&unknown, &quick()).unwrap().overall.success_share, None);
}

#[test]
fn calibration_repeats_and_survives_json() {
    let rows = rows(400, |_, _| ());
    let options = Options { fit: true, target: Some(Target::Share(0.2)), ..quick() };
    let found = calibrate(&rows, &options).unwrap();
    assert_eq!(found, calibrate(&rows, &options).unwrap());
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["fits"][0]["result"]["outcome"], "no-better-than-current");
    assert_eq!(json["overall"]["dimensions"][2]["dimension"], "toolDiversity");
    // Whatever JSON has no number for would be null, and not be read as one.
    let read: Calibration = serde_json::from_value(json).unwrap();
    assert_eq!(read.rows, found.rows);
    assert_eq!(read.labels.unwrap().roc.len(), found.labels.unwrap().roc.len());
}

#[test]
fn cold_start_is_excluded_and_counted() {
    let cold = |number: usize, row: &mut Row| {
        if number == 1 || number == 50 {
            row.similarity = None;
            row.novelty_source = "empty-cache".to_owned();
        }
    };
    for (n, first, expected) in [
        (200, None, (189, 2, 9, 10)),
        (60, None, (53, 2, 5, 6)),
        (60, Some(0), (58, 2, 0, 0)),
        (60, Some(30), (29, 2, 29, 30)),
        (9, None, (8, 1, 0, 0)),
    ] {
        let found = calibrate(&rows(n, cold), &Options { first, ..quick() }).unwrap();
        let counts = found.rows;
        assert_eq!(
            (counts.used, counts.uncompared, counts.first, counts.first_limit),
            expected,
            "{n} {first:?}"
        );
        let counts = |summary: &Summary| (summary.n, summary.excluded);
        let add = |(a, b), (c, d)| (a + c, b + d);
        let of_domains = found.domains.iter().map(|domain| counts(&domain.summary)).reduce(add);
        let expected = (expected.0, n - expected.0);
        assert_eq!((counts(&found.overall), of_domains), (expected, Some(expected)));
    }
    // A memory that was there before: nothing is cold.
    assert_eq!(calibrate(&rows(200, |_, _| ()), &quick()).unwrap().rows.used, 200);
}

#[test]
fn labels_that_are_success_are_left_out_of_the_fit() {
    let leaking = rows(400, |number, row| {
        row.domain = "medical".to_owned();
        row.overrides =
            if row.success && number % 7 == 0 { vec!["error-recovery".to_owned()] } else { vec![] };
        row.score = scored(row);
        row.label = Some(row.success != (number % 50 == 0));
    });
    let options = Options { fit: true, ..quick() };
    let found = calibrate(&leaking, &options).unwrap();
    let labels = found.labels.as_ref().unwrap();
    assert!(labels.leakage.is_leak && labels.leakage.agreement == 0.98);
    let share = |is: fn(&&Row) -> bool| leaking.iter().filter(is).count() as f64 / 400.0;
    let [labelled, successful] = [share(|row| row.label == Some(true)), share(|row| row.success)];
    let by_chance = labelled * successful + (1.0 - labelled) * (1.0 - successful);
    assert!((labels.leakage.agreement_by_chance - by_chance).abs() < 1e-12);
    let without = labels.leakage.auc_without_outcome.unwrap();
    assert!(labels.auc.value > 0.8 && without.value < 0.6, "{:?} {without:?}", labels.auc);
    assert!(codes(&found).contains(&WarningCode::LabelIsSuccess));
    let fit = &found.fits[0];
    assert!(fit.without_outcome && fit.profile == "medical");
    assert!((fit.current.complexity - 0.15 / 0.45).abs() < 1e-12);
    let FitResult::NoBetterThanCurrent(fitted) = &fit.result else { panic!("{:?}", fit.result) };
    assert_eq!((fitted.weights.outcome_confidence, fitted.best.outcome_confidence), (0.0, 0.0));
}

#[test]
fn fit_takes_the_rows_of_a_profile_together_and_refuses_few() {
    let found = calibrate(
        &rows(400, |number, row| {
            row.domain = ["finance", "airline", "shop", "code"][number % 4].to_owned();
            row.score = scored(row);
            if row.domain == "code" {
                row.label = Some(number % 64 == 3);
            }
        }),
        &Options { fit: true, ..quick() },
    )
    .unwrap();
    let served: Vec<_> =
        found.fits.iter().map(|fit| (&*fit.profile, fit.domains.len(), fit.n)).collect();
    assert_eq!(served, [("default", 2, 200), ("code", 1, 100), ("finance", 1, 100)]);
    let FitResult::Refused { expected, found } = &found.fits[1].result else { panic!() };
    assert_eq!(expected, "30 rows or more of each label, in 10 groups or more");
    assert_eq!(found, "7 positive and 93 negative in 100 groups");
}

#[test]
fn warnings_name_what_is_doubtful() {
    assert_eq!(codes(&calibrate(&rows(400, |_, _| ()), &quick()).unwrap()), []);
    let cases: [(&str, Change, &[WarningCode]); 11] = [
        ("one class", |_, row| row.label = Some(true), &[WarningCode::OneClass]),
        ("few", |number, row| row.label = Some(number < 20), &[WarningCode::FewLabels]),
        ("confidence", |_, row| row.confidence = 0.9, &[WarningCode::ConstantConfidence]),
        ("ids", |_, row| row.id = Some("a".to_owned()), &[WarningCode::DuplicateIds]),
        (
            "texts",
            |number, row| row.similarity = Some(if number == 9 { 1.0 } else { 0.5 }),
            &[WarningCode::DuplicateTexts],
        ),
        (
            "domain",
            |_, row| {
                row.domain = "code".to_owned();
                row.score = scored(row);
            },
            &[WarningCode::OneDomain],
        ),
        (
            "groups",
            |number, row| row.group = Some(format!("{}", number % 19)),
            &[WarningCode::FewGroups],
        ),
        ("no groups", |_, row| row.group = None, &[WarningCode::NoGroups]),
        ("cut", |number, row| row.is_cut = number % 10 == 0, &[WarningCode::CutTexts]),
        (
            "sources",
            |number, row| row.precision = Some(format!("{}", number % 2)),
            &[WarningCode::MixedSources],
        ),
        (
            "degraded and others",
            |number, row| {
                row.score = 0.5;
                if number % 4 == 0 {
                    row.similarity = None;
                    row.novelty_source = "no-embedder".to_owned();
                }
            },
            &[WarningCode::OtherProfiles, WarningCode::Degraded],
        ),
    ];
    for (what, change, expected) in cases {
        assert_eq!(codes(&calibrate(&rows(400, change), &quick()).unwrap()), expected, "{what}");
    }
}

#[test]
fn constant_dimensions_are_named_by_domain() {
    let found = calibrate(
        &rows(100, |_, row| {
            if row.domain == "code" {
                row.dimensions.tool_diversity = 0.25;
            }
        }),
        &quick(),
    )
    .unwrap();
    assert!(found.overall.constant_dimensions.is_empty());
    let constant: Vec<_> = found
        .domains
        .iter()
        .map(|domain| (&*domain.domain, &domain.summary.constant_dimensions[..]))
        .collect();
    assert_eq!(constant, [("finance", &[][..]), ("code", &[Dimension::ToolDiversity][..])]);
}

#[test]
fn one_row_and_equal_rows_are_described() {
    for n in [1, 2, 40] {
        let same = rows(n, |_, row| *row = self::row(1));
        let target = Some(Target::Share(0.1));
        let found = calibrate(&same, &Options { target, fit: true, ..quick() }).unwrap();
        let threshold = found.threshold.unwrap();
        assert_eq!((threshold.accepted, threshold.tied, threshold.interval), (n, n, None));
        assert!(found.labels.is_none());
        assert_eq!(found.overall.score.unwrap().histogram.iter().sum::<usize>(), n);
    }
}

/// Rows of few values, so that ties, constants and empty classes are common.
fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let value = || prop::sample::select(vec![0.0, 0.1, 0.5, 0.5, 1.0, f64::MIN_POSITIVE]);
    let one = (value(), value(), value(), any::<[bool; 3]>(), 0..4_usize, any::<Option<bool>>());
    prop::collection::vec(one, 0..90).prop_map(|all| {
        let rows = all.into_iter().enumerate();
        let rows = rows.map(|(number, (score, novelty, tools, flags, group, label))| {
            let mut row = row(number);
            row.score = score;
            row.dimensions.novelty = novelty;
            row.dimensions.tool_diversity = tools;
            row.similarity = Some(1.0 - novelty).filter(|_| flags[0] || number.is_multiple_of(2));
            row.group = [None, Some("a".to_owned()), row.group.clone()][group.min(2)].clone();
            row.overrides = if flags[1] { vec!["error-recovery".to_owned()] } else { vec![] };
            row.domain = if flags[2] { "code" } else { "" }.to_owned();
            row.label = label;
            row
        });
        rows.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn calibrate_gives_numbers_or_an_error_for_any_rows(
        rows in any_rows(),
        target in prop::sample::select(vec![
            None,
            Some(Target::Threshold(0.5)),
            Some(Target::Share(0.3)),
            Some(Target::Share(1.0)),
            Some(Target::Precision(0.5)),
        ]),
        fit in any::<bool>(),
        first in prop::option::of(0..20_usize),
    ) {
        match calibrate(&rows, &Options { target, fit, first, ..quick() }) {
            Err(error) => prop_assert!(["NO_ROWS", "NO_LABELS"].contains(&error.code())),
            Ok(found) => {
                let read = serde_json::from_str::<Calibration>(&serde_json::to_string(&found).unwrap());
                prop_assert!(read.is_ok(), "{:?}", read);
                let counts = found.rows;
                prop_assert_eq!(counts.used + counts.uncompared + counts.first, counts.total);
                if let Some(threshold) = found.threshold {
                    let used = rows.iter().skip(counts.first_limit).filter(|row| row.is_compared());
                    let accepts = |row: &&Row| threshold.value.is_some_and(|value| row.score >= value);
                    prop_assert_eq!(used.filter(accepts).count(), threshold.accepted);
                }
            }
        }
    }
}
