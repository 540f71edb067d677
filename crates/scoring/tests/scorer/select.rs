//! Sets of traces against a choice that computes all scores again.

use std::{sync::Arc, time::Duration};

use knowledgepulse_scoring::{
    Novelty, Profiles, VectorCache,
    cache::CacheOptions,
    embed::Embedded,
    select::{Candidate, Selected, select},
};
use knowledgepulse_test_support::{input, oracle, trace};
use knowledgepulse_workers::CancelToken;
use proptest::prelude::*;
use serde_json::{Value, json};

const VECTOR_LEN: usize = 5;

/// A trace, and its vector unless it has none. There are few of each, so that many scores are equal.
type Given = (Value, Option<[f32; VECTOR_LEN]>);

fn given(number: u32) -> Given {
    let of = |divisor: u32, count: u32| number / divisor % count;
    let steps = vec![json!({ "type": "thought" }); of(7, 4) as usize];
    let domain = ["code", "novelty"][of(3, 2) as usize];
    let trace = trace(json!({
        "id": format!("{number}"),
        "metadata": { "task_domain": domain, "success": true },
        "outcome": { "confidence": f64::from(of(11, 3)) / 2.0 },
        "steps": steps,
    }));
    let axis = of(5, 5) as usize;
    let vector = [0, 1, 2, 3, 4].map(|at| match at {
        _ if at == axis => 1.0,
        _ if at == (axis + 1) % 5 => of(29, 40) as f32 / 40.0,
        _ => 0.0,
    });
    (trace, (of(13, 20) > 0).then_some(vector))
}

fn selected(all: &[Given], limits: (usize, f64)) -> Vec<Selected> {
    let candidate = |(trace, vector): &Given| {
        let embedding =
            vector.map(|vector| Embedded { embedding: vector.into(), ..Embedded::default() });
        Arc::new(Candidate::new(input(trace).trace, embedding.ok_or_else(|| "none".into())))
    };
    let candidates: Vec<_> = all.iter().map(candidate).collect();
    select(&candidates, &Profiles::default(), limits, &CancelToken::default()).expect("not aborted")
}

/// Selects by scoring all that are left, each time.
fn naive(all: &[Given], (count, threshold): (usize, f64)) -> Vec<(usize, f64, Novelty)> {
    let options = CacheOptions { vector_len: VECTOR_LEN, max_elements: 1000, ttl: None };
    let mut set = VectorCache::new(options);
    let mut chosen: Vec<(usize, f64, Novelty)> = Vec::new();
    while chosen.len() < count {
        let mut best = None;
        for (index, (trace, vector)) in all.iter().enumerate() {
            if chosen.iter().any(|(other, ..)| *other == index) {
                continue;
            }
            let nearest = |vector| set.nearest(vector, Duration::ZERO).expect("a vector");
            let novelty = match vector {
                None => Novelty::NoEmbedder("none".into()),
                Some(vector) => nearest(vector).map_or(Novelty::EmptyCache, Novelty::Cache),
            };
            let score = oracle::score(trace, novelty.value(), &[]).value;
            if best.as_ref().is_none_or(|(_, greatest, _)| score > *greatest) {
                best = Some((index, score, novelty));
            }
        }
        let Some(best) = best.filter(|(_, score, _)| *score >= threshold) else { break };
        if let (trace, Some(vector)) = &all[best.0] {
            let id = input(trace).trace.id().cloned();
            set.add(vector, id, Duration::ZERO).expect("a vector");
        }
        chosen.push(best);
    }
    chosen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn select_chooses_as_if_all_scores_were_computed_again(
        numbers in prop::collection::vec(any::<u32>(), 0..=300),
        count in 0_usize..20,
        threshold in prop::sample::select(&[0.0, 0.3, 0.5][..]),
    ) {
        let all: Vec<_> = numbers.into_iter().map(given).collect();
        let limits = (count, threshold);
        let found: Vec<_> = selected(&all, limits)
            .into_iter()
            .map(|it| {
                prop_assert_eq!(it.id.as_deref(), all[it.index].0["id"].as_str());
                Ok((it.index, it.report.score.value, it.report.score.novelty))
            })
            .collect::<Result<_, _>>()?;
        prop_assert_eq!(found, naive(&all, limits));
    }
}

#[test]
fn select_is_aborted() {
    let (cancel, candidate) = (
        CancelToken::default(),
        Candidate::new(input(&trace(json!({}))).trace, Err("none".into())),
    );
    cancel.cancel();
    let error = select(&[candidate.into()], &Profiles::default(), (1, 0.0), &cancel).unwrap_err();
    assert_eq!(error.code(), "ABORTED");
}
