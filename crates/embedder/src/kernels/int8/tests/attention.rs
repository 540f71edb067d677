//! Attention.

use super::*;
use crate::{
    kernels::testing,
    shape::{HEADS, WIDTH},
};

/// Returns the attention of a text, computed in blocks of `rows` tokens. Fails if registers give different bits.
fn attended(projected: &[f32], rows: usize) -> Vec<f32> {
    let tokens = projected.len() / (3 * WIDTH);
    same_bits(&format!("{tokens} tokens in blocks of {rows}"), |machine| {
        let mut keys = Keys::new(tokens);
        let mut y = Aligned::zeros(tokens * WIDTH);
        let (mut bytes, mut scale) = (vec![0; tokens * WIDTH], vec![0.0; tokens]);
        let (mut scores, mut weights) = (Aligned::zeros(8 * 512), Aligned::zeros(8 * 512));
        with_registers!(machine, registers => {
            let shared = keys.split();
            for first in (0..tokens).step_by(rows).rev() {
                let end = tokens.min(first + rows);
                let projected = &projected[first * 3 * WIDTH..end * 3 * WIDTH];
                let bytes = &mut bytes[first * WIDTH..end * WIDTH];
                let queries = Quantized { bytes, scale: &mut scale[first..end] };
                // SAFETY: no other thread has these keys.
                registers.call(unsafe { Projection::new(projected, first, queries, &shared) });
            }
            for first in (0..tokens).step_by(rows) {
                let (end, y) = (tokens.min(first + rows), &mut y[..]);
                let range = first * WIDTH..end * WIDTH;
                let (bytes, scale) = (&mut bytes[range.clone()], &mut scale[first..end]);
                let (queries, y) = (&Quantized { bytes, scale }, &mut y[range]);
                attend(registers, queries, first, &keys, &mut scores, &mut weights, y);
            }
        });
        y.to_vec()
    })
}

/// Queries, keys and values within ±`size`, the values of each token of another magnitude.
fn text(tokens: usize, size: f32) -> Vec<f32> {
    let mut text = numbers(tokens, tokens * 3 * WIDTH, size);
    for (token, row) in text.chunks_mut(3 * WIDTH).enumerate() {
        row[2 * WIDTH..].iter_mut().for_each(|x| *x *= 0.5 + (token % 5) as f32);
    }
    text
}

fn check(projected: &[f32], tolerance: f64) {
    let tokens = projected.len() / (3 * WIDTH);
    let expected =
        (0..tokens * HEADS).flat_map(|at| testing::attention(projected, at % HEADS, at / HEADS));
    let greatest = wide(projected).iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    for (at, (found, expected)) in attended(projected, 64).iter().zip(expected).enumerate() {
        let error = (f64::from(*found) - expected).abs();
        assert!(error <= tolerance * greatest, "{at}: {found} for {expected}");
    }
}

#[test]
fn attend_approximates_the_definition_for_all_short_texts() {
    for tokens in (1..=20).chain([31, 33, 63, 64, 65]) {
        check(&text(tokens, 1.0), 0.02);
        check(&text(tokens, 3.0), 0.12);
    }
}

#[test]
fn attend_approximates_the_definition_for_long_texts() {
    for tokens in [129, 511, 512] {
        check(&text(tokens, 1.0), 0.02);
    }
}

#[test]
fn attend_gives_the_same_bits_in_blocks_of_any_size() {
    for tokens in [1, 6, 21, 70] {
        let projected = text(tokens, 2.0);
        let whole = bits(&attended(&projected, 72));
        for rows in [1, 4, 7, 10, 64] {
            assert!(bits(&attended(&projected, rows)) == whole, "{tokens} in blocks of {rows}");
        }
    }
}
