//! Attention against its definition in `f64`.

use super::*;

/// The numbers of the query, key and value of a token.
const PROJECTED: usize = 3 * WIDTH;
use crate::kernels::testing::{attention, bits, every_width, noise, run_on_threads};

/// Moves the numbers of a head side by side: \[tokens, 3, heads, 32\] to \[3, heads, tokens, 32\].
fn by_head(projected: &[f32]) -> Vec<f32> {
    let heads = (0..3 * HEADS).flat_map(|head| {
        projected.chunks_exact(PROJECTED).flat_map(move |row| &row[head * HEAD..][..HEAD])
    });
    heads.copied().collect()
}

/// Computes some tasks of a text in every width. Numbers of other tasks are left NaN.
fn attended(projected: &[f32], tasks: &[usize]) -> Vec<(&'static str, Vec<f32>)> {
    let projected = by_head(projected);
    every_width(|width| {
        let mut output = vec![f32::NAN; projected.len() / 3];
        let kernel = SelfAttention::new(&projected, &mut output);
        width.run(&kernel, tasks.iter().copied());
        output
    })
}

/// Runs `tasks` in all registers. Compares their numbers with the definition, and all others with NaN.
fn check(projected: &[f32], tasks: &[usize], tolerance: f64) {
    let tokens = projected.len() / PROJECTED;
    let blocks = tokens.div_ceil(QUERIES);
    let expected = (0..tokens * HEADS).map(|at| (at / HEADS, at % HEADS)).map(|(query, head)| {
        let is_run = tasks.contains(&(head * blocks + query / QUERIES));
        is_run.then(|| attention(projected, head, query))
    });
    let expected = expected.collect::<Vec<_>>();
    for (width, found) in attended(projected, tasks) {
        for (at, (found, expected)) in found.chunks_exact(HEAD).zip(&expected).enumerate() {
            let close = match expected {
                Some(expected) => found
                    .iter()
                    .zip(expected)
                    .all(|(found, expected)| (f64::from(*found) - expected).abs() <= tolerance),
                None => found.iter().all(|found| found.is_nan()),
            };
            let (query, head) = (at / HEADS, at % HEADS);
            assert!(close, "{width}, {query} of {tokens}, {head}: {found:?} for {expected:?}");
        }
    }
}

fn text(tokens: usize) -> Vec<f32> {
    noise(tokens).take(tokens * PROJECTED).collect()
}

/// Returns a text of zeros, except for the first number of the query, key and value of head 0, which `set` sets.
fn single(tokens: usize, set: impl Fn(usize, &mut [f32; 3])) -> Vec<f32> {
    let mut projected = vec![0.0; tokens * PROJECTED];
    for (token, row) in projected.chunks_exact_mut(PROJECTED).enumerate() {
        let mut first = [0.0; 3];
        set(token, &mut first);
        for (which, number) in first.into_iter().enumerate() {
            row[which * WIDTH] = number;
        }
    }
    projected
}

#[test]
fn attention_agrees_with_the_definition_at_every_length() {
    // Every short length, and those around the sizes of blocks and chunks.
    for tokens in (1..=70_usize).chain([127, 128, 129, 130, 511, 512, 513]) {
        let blocks = tokens.div_ceil(QUERIES);
        // Each length tests another head and its last block, which may be short.
        check(&text(tokens), &[(tokens % HEADS) * blocks + blocks - 1], 1e-6);
    }
}

#[test]
fn attention_agrees_with_the_definition_in_every_head() {
    let tokens = QUERIES + 1;
    check(&text(tokens), &(0..2 * HEADS).collect::<Vec<_>>(), 1e-6);
}

#[test]
fn attention_of_strong_scores_is_as_exact_as_their_products() {
    let mut projected = text(100);
    projected.iter_mut().for_each(|number| *number *= 8.0);
    check(&projected, &[0, 23], 4e-4);
}

#[test]
fn attention_of_equal_scores_is_the_mean_whatever_their_size() {
    for key in [0.0, 1.0, -1.0, 1e18, -1e18] {
        let projected = single(130, |token, first| *first = [1e18, key, token as f32]);
        check(&projected, &[0, 1, 2], 64.5 * 1e-6);
    }
}

#[test]
fn attention_goes_to_a_score_far_above_the_others() {
    for dominant in [0, 63, 64, 129] {
        for far in [1e3, 1e18] {
            let key = |token| if token == dominant { far } else { -far };
            let projected = single(130, |token, first| *first = [1e18, key(token), token as f32]);
            check(&projected, &[0, 1, 2], 0.0);
        }
    }
}

#[test]
fn attention_lets_scores_rise_and_fall_from_chunk_to_chunk() {
    for slope in [0.5, -0.5, 8.0, -8.0] {
        let projected = single(300, |token, first| *first = [slope, token as f32, token as f32]);
        check(&projected, &[0, 6], 2e-3);
    }
}

#[test]
fn attention_has_the_same_bits_on_any_threads_in_any_order() {
    let projected = text(100);
    let tasks = (0..3 * HEADS).collect::<Vec<_>>();
    let mut output = vec![f32::NAN; 100 * WIDTH];
    let side_by_side = by_head(&projected);
    let kernel = SelfAttention::new(&side_by_side, &mut output);
    assert_eq!(kernel.tasks(), tasks.len());
    run_on_threads(&kernel, 8);
    let found = attended(&projected, &tasks);
    // The scalar kernel rounds products separately; all others agree bit for bit.
    for (width, found) in found.iter().filter(|(width, _)| *width != "scalar") {
        assert!(bits(found) == bits(&output), "{width}");
    }
}

#[test]
fn attention_of_an_empty_text_has_no_tasks() {
    assert_eq!(SelfAttention::new(&[], &mut []).tasks(), 0);
}
