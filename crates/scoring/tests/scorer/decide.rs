//! Calls in flight answer as one after another, and a decision is what comparing, scoring and adding if
//! accepted is.

use std::sync::{Arc, mpsc::Receiver};

use knowledgepulse_scoring::{
    Id, Profiles, Score, Scorer,
    cache::CacheOptions,
    scorer::{CallHandle, Input, Outcome, ScorerOptions, Work},
    weights::Weights,
};
use knowledgepulse_test_support::{FakeEmbedder, input, repeats, trace};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Answer, receive, says};

const DOMAINS: [&str; 5] = ["code", "finance", "medical", "legal", "own"];
const KINDS: [&str; 4] = ["thought", "tool_call", "observation", "error_recovery"];

fn scorer(novelty: f64) -> Arc<Scorer> {
    let weights = Weights {
        complexity: 1.0 - novelty,
        novelty,
        tool_diversity: 0.0,
        outcome_confidence: 0.0,
    };
    let profiles = Profiles::with([("own".into(), weights)]);
    let cache = CacheOptions { max_elements: 20, ..CacheOptions::default() };
    Scorer::new(ScorerOptions { profiles, cache, concurrency: 3, ..ScorerOptions::default() })
}

/// A trace of one of a few texts, of which some take longer and some have no embedding.
fn any_trace() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        8 => (0..40_usize).prop_map(|number| number.to_string()),
        1 => (0..40_usize).prop_map(|number| format!("slow {number}")),
        1 => Just("fail".to_owned()),
    ];
    let steps = prop::collection::vec((0..KINDS.len(), 0..4_usize), 0..12);
    (text, steps, prop::sample::select(&DOMAINS[..]), any::<bool>(), 0.0..=1.0).prop_map(
        |(text, steps, domain, success, confidence): (_, _, _, _, f64)| {
            let step = |(kind, tool): (usize, usize)| {
                let tool = (tool > 0).then(|| json!({ "name": tool.to_string() }));
                json!({ "type": KINDS[kind], "tool": tool })
            };
            trace(json!({
                "id": text,
                "metadata": { "task_domain": domain, "success": success },
                "task": { "objective": text },
                "steps": steps.into_iter().map(step).collect::<Vec<_>>(),
                "outcome": { "confidence": confidence },
            }))
        },
    )
}

/// A call, and what it is about.
#[derive(Debug, Clone)]
enum Call {
    Decide(Value, bool),
    Score(Value, bool),
    Peek(Value),
    Remember(Value),
    Forget(String),
    Clear,
    /// A score that is ended before it has an embedding, and what then comes of it.
    End(fn(&CallHandle) -> bool, &'static str),
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => (any_trace(), any::<bool>()).prop_map(|(json, once)| Call::Decide(json, once)),
        4 => (any_trace(), any::<bool>()).prop_map(|(json, once)| Call::Score(json, once)),
        2 => any_trace().prop_map(Call::Peek),
        2 => any_trace().prop_map(Call::Remember),
        2 => (0..40_usize).prop_map(|number| Call::Forget(number.to_string())),
        1 => Just(Call::Clear),
        1 => Just(Call::End(CallHandle::abort, "ABORTED")),
        1 => Just(Call::End(CallHandle::end_budget, "over-budget")),
    ]
}

fn submit(scorer: &Arc<Scorer>, work: Work) -> (CallHandle, Receiver<Answer>) {
    crate::submit(scorer, &FakeEmbedder::new(), work)
}

/// The score and the number of removed traces, which do not depend on the time.
type Essence = knowledgepulse_scoring::Result<(Option<Score>, usize)>;

fn answer((_, answer): (CallHandle, Receiver<Answer>)) -> Essence {
    match receive(&answer)? {
        Outcome::Scored(report) => Ok((Some(report.score), 0)),
        Outcome::Removed(count) => Ok((None, count)),
        Outcome::Remembered | Outcome::WarmedUp(_) => Ok((None, 0)),
        other => panic!("{other:?}"),
    }
}

/// What a call asks for, except for a decision.
fn work(call: &Call) -> Work {
    match call {
        Call::Decide(..) => panic!("{call:?} may need no work"),
        Call::Score(json, once) => Work::Score(Input { before_own: *once, ..input(json) }),
        Call::Peek(json) => Work::Peek(input(json)),
        Call::Remember(json) => Work::Remember(input(json)),
        Call::Forget(id) => Work::Forget(Id::new(id.as_str())),
        Call::Clear => Work::Clear,
        Call::End(..) => Work::Score(says("hang")),
    }
}

/// A call in flight; a decision has bounds, and no call if they reject it.
struct Started {
    bounds: [f64; 2],
    call: Option<(CallHandle, Receiver<Answer>)>,
}

fn start(scorer: &Arc<Scorer>, call: &Call, threshold: f64) -> Started {
    let Call::Decide(json, once) = call else {
        let call = Some(submit(scorer, work(call)));
        return Started { bounds: [0.0, 1.0], call };
    };
    let input = Input { before_own: *once, ..input(json) };
    let judged = scorer.judge(&input.trace, threshold, false);
    let (bounds, is_rejected) = judged.expect("an open scorer");
    let call = (!is_rejected).then(|| submit(scorer, Work::Decide(input, threshold)));
    Started { bounds, call }
}

/// The ids in the memory, the oldest first.
fn ids(scorer: &Arc<Scorer>) -> Vec<Option<Id>> {
    answer(submit(scorer, Work::WarmUp)).expect("the turn of all before");
    scorer
        .own_memory()
        .expect("its own memory")
        .with_cache(|cache, now| cache.entries(now).map(|(entry, _)| entry.id).collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        // Each try with a lost answer takes the time limit.
        max_shrink_time: 60_000,
        ..ProptestConfig::with_cases(repeats(50) as u32)
    })]

    /// A decision is what peeking, comparing and remembering is.
    #[test]
    fn calls_in_flight_answer_as_one_after_another(
        calls in prop::collection::vec(any_call(), 1..60),
        // Some at which a single thought and nothing new are on the border.
        threshold in prop_oneof![0.0..=1.0, Just(0.75), Just(0.1), Just(0.0), Just(1.0)],
        novelty in prop_oneof![0.0..=1.0, Just(0.0), Just(1.0)],
        in_flight in prop::sample::select(&[1_usize, 16][..]),
    ) {
        let (one_by_one, many) = (scorer(novelty), scorer(novelty));
        for chunk in calls.chunks(in_flight) {
            let started: Vec<_> = chunk.iter().map(|call| start(&many, call, threshold)).collect();
            for (call, Started { call: submitted, .. }) in chunk.iter().zip(&started) {
                if let (Call::End(end, _), Some((handle, _))) = (call, submitted) {
                    prop_assert!(end(handle), "it hangs");
                }
            }
            for (call, Started { bounds: [least, greatest], call: submitted }) in
                chunk.iter().zip(started)
            {
                let found = submitted.map(answer);
                match call {
                    Call::Decide(json, once) => {
                        let input = || Input { before_own: *once, ..input(json) };
                        let peek = submit(&one_by_one, Work::Peek(input()));
                        let expected = answer(peek).expect("a score").0.expect("a score");
                        let is_accepted = expected.value >= threshold;
                        if is_accepted {
                            // Rejects where there is no embedding.
                            let _ = answer(submit(&one_by_one, Work::Score(input())));
                        }
                        prop_assert!((least..=greatest).contains(&expected.value), "{expected:?}");
                        match found {
                            Some(found) => prop_assert_eq!(found, Ok((Some(expected), 0))),
                            None => prop_assert!(!is_accepted, "{expected:?}"),
                        }
                    }
                    Call::End(_, expected) => {
                        let found = match found.expect("an answer") {
                            Ok((score, _)) => score.expect("a score").novelty.source(),
                            Err(error) => error.code(),
                        };
                        prop_assert_eq!(found, *expected);
                    }
                    other => {
                        let expected = answer(submit(&one_by_one, work(other)));
                        prop_assert_eq!(found, Some(expected), "{:?}", other);
                    }
                }
            }
        }
        prop_assert_eq!(ids(&many), ids(&one_by_one));
        prop_assert_eq!(many.statistics().pending(), 0);
    }
}

#[test]
fn judge_rejects_where_both_bounds_are_below() {
    let scorer = scorer(0.5);
    // Of the code domain: novelty counts 0.3, the rest 0.1.
    let trace = input(&trace(json!({}))).trace;
    let bounds @ [least, greatest] = Score::bounds(&trace, &Profiles::default());
    for (threshold, expected) in
        [(0.0, false), (least, false), (greatest, false), (greatest.next_up(), true), (1.0, true)]
    {
        assert_eq!(scorer.judge(&trace, threshold, false), Ok((bounds, expected)), "{threshold}");
        assert_eq!(scorer.judge(&trace, threshold, true), Ok((bounds, false)), "{threshold}");
    }
    let statistics = scorer.statistics();
    assert_eq!((statistics.answered, statistics.pending()), (2, 0));
    scorer.close();
    assert_eq!(scorer.judge(&trace, 0.5, false).expect_err("closed").code(), "CLOSED");
}

#[test]
fn decide_leaves_no_mark_where_it_is_ended_or_cannot_embed() {
    let scorer = scorer(0.5);
    let ended = |text, end: fn(&CallHandle) -> bool| {
        let (handle, answers) = submit(&scorer, Work::Decide(says(text), 0.2));
        end(&handle);
        receive(&answers)
    };
    assert_eq!(ended("hang", CallHandle::abort).expect_err("aborted").code(), "ABORTED");
    let neutral = [ended("hang", CallHandle::end_budget), ended("fail", |_| false)];
    for (answer, source) in neutral.into_iter().zip(["over-budget", "no-embedder"]) {
        let Ok(Outcome::Scored(report)) = answer else { panic!("{answer:?}") };
        assert_eq!((report.score.value, report.score.novelty.source()), (0.25, source));
    }
    assert_eq!(scorer.cache_len(), 0);
    assert!(ended("1", |_| false).is_ok());
    assert_eq!(scorer.cache_len(), 1);
}
