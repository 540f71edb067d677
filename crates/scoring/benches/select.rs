//! The choice of 100 of many traces of 300 tasks, after embedding, on two threads; one number of traces alone:
//! `cargo bench -p knowledgepulse-scoring --bench select -- 10000`.

use std::iter;

use divan::Bencher;
use knowledgepulse_scoring::{
    Profiles,
    embed::Embedded,
    select::{Candidate, Limits, Selection},
};
use knowledgepulse_test_support::{input, trace};
use serde_json::json;

/// That of `novelty: "run"`.
const VECTOR_LEN: usize = 768;
const TASKS: usize = 300;

fn main() {
    divan::main();
}

/// Traces whose vectors have a common part, one of their task, and one of their own.
fn selection(size: usize) -> Selection {
    let mut draws = 5_u64;
    let mut numbers = iter::repeat_with(move || {
        draws =
            draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draws >> 40) as f32 / (1 << 23) as f32 - 1.0
    });
    let mut vector = || numbers.by_ref().take(VECTOR_LEN).collect::<Vec<_>>();
    let (common, tasks) =
        (vector(), iter::repeat_with(&mut vector).take(TASKS).collect::<Vec<_>>());
    let limits = Limits { count: 100, coverage: f64::INFINITY, per_group: usize::MAX };
    let mut selection = Selection::new(limits, Profiles::default());
    for index in 0..size {
        let parts = common.iter().zip(&tasks[index * index % TASKS]).zip(vector());
        let embedding = parts.map(|((common, task), own)| common + task + 0.7 * own).collect();
        let embedded = Embedded { embedding, ..Embedded::default() };
        let trace = input(&trace(json!({ "id": index.to_string() }))).trace;
        selection.add(Candidate::new(trace, Ok(embedded), None));
    }
    selection
}

#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 1, sample_size = 1)]
fn select(bencher: Bencher, size: usize) {
    bencher.with_inputs(|| selection(size)).bench_local_values(|mut selection| {
        loop {
            selection.advance(&|| Ok(())).expect("nothing ends it");
            if let Some(selected) = selection.selected() {
                assert_eq!(selected.len(), 100);
                return selected;
            }
        }
    });
}
