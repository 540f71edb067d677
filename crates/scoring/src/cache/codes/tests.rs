//! Every kernel against the definition, the bound where it is tightest, the search against the flat one.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::cache::{
    CacheOptions, VectorCache,
    similarity::{dot_of, normalize_into, offer_dots, row_length},
};

/// Gives `$kernel` every value that this machine can run, and its name.
macro_rules! for_every_kernel {
    (|$name:ident, $kernel:ident| $do:expr) => {{
        let ($name, $kernel) = ("plain", Plain);
        $do;
        #[cfg(target_arch = "x86_64")]
        {
            if let ($name, Some($kernel)) = ("AVX2", V3::try_new()) {
                $do;
            }
            if let ($name, Some($kernel)) = ("AVX-512", V4::try_new()) {
                $do;
            }
        }
    }};
}

fn row(numbers: &[f32]) -> Vec<f32> {
    let mut row = vec![f32::NAN; row_length(numbers.len())];
    normalize_into(&mut row, numbers);
    row
}

fn encoded(rows: &[Vec<f32>]) -> Codes {
    let mut codes = Codes::new(rows.len(), rows[0].len(), &[]).expect("memory");
    rows.iter().enumerate().for_each(|(slot, row)| codes.set(slot, row));
    codes
}

/// The decoded codes of a slot: without `l`, and with it.
fn decoded(codes: &Codes, slot: usize) -> [Vec<f64>; 2] {
    let step = f64::from(codes.errors[slot][0]);
    let row = |plane: usize| codes.planes[plane][slot * codes.row..][..codes.row].iter();
    let half = |plane, shift: u8| row(plane).map(move |code| code >> shift & 15);
    let numbers = |plane| half(plane, 0).chain(half(plane, 4)).map(f64::from);
    let high = numbers(0).map(|h| step * (16.0 * h - 128.0)).collect();
    let all = numbers(0).zip(numbers(1)).map(|(h, l)| step * (16.0 * h + l - 136.0));
    [high, all.collect()]
}

/// Whether the row of a slot can have a value of at least `least`, by its codes.
fn reaches(codes: &Codes, query: &Query, slot: usize, least: f64) -> bool {
    let (best, slots) = (&mut Best::new(1, -1.0), [0..0, 0..0]);
    Search { kernel: Plain, codes, query, slots, best, value: |_| 0.0 }.reaches(slot, least)
}

#[test]
fn dot_is_exact_in_every_kernel_at_every_length_and_offset() {
    let number = |i: usize| (i * 2_654_435_761) >> 7;
    for length in 0..=300 {
        for (offset, codes_of, factors_of) in [
            (0, None, None),
            (1, None, None),
            (31, None, None),
            // Pairs of products are the greatest here.
            (3, Some(255), Some(-128)),
            (0, Some(255), Some(127)),
        ] {
            let codes: Vec<u8> =
                (0..offset + length).map(|i| codes_of.unwrap_or(number(i) as u8)).collect();
            let factors: Vec<i8> = (0..offset + 2 * length)
                .map(|i| factors_of.unwrap_or(number(i + 999) as i8))
                .collect();
            let (codes, factors) = (&codes[offset..], factors[offset..].split_at(length));
            let both = codes.iter().map(|code| code & 15).chain(codes.iter().map(|code| code >> 4));
            let products = both
                .zip(factors.0.iter().chain(factors.1))
                .map(|(code, factor)| i32::from(code) * i32::from(*factor));
            let expected: i32 = products.sum();
            for_every_kernel!(|name, kernel| {
                let found = kernel.dot(codes, factors);
                assert_eq!(found, expected, "{name}, {length} bytes at {offset}");
            });
        }
    }
}

#[test]
fn set_keeps_zero_exactly_and_measures_what_is_missing() {
    let numbers = |length: usize| (0..length).map(|i| ((i * i * 31) % 97) as f32 - 40.0);
    let mut spike = vec![0.0; 384];
    spike[100] = -3.0;
    for numbers in [vec![0.0; 384], spike, numbers(384).collect(), numbers(5).collect()] {
        let row = row(&numbers);
        let codes = encoded(std::slice::from_ref(&row));
        // Half a step of each plane, and the addition for an odd number of steps.
        let [step, errors @ ..] = codes.errors[0];
        let most = [8.6, 0.6].map(|steps| steps * step * (row.len() as f32).sqrt());
        for ((decoded, missing), most) in decoded(&codes, 0).iter().zip(errors).zip(most) {
            let squares = row.iter().zip(decoded).map(|(x, c)| (f64::from(*x) - c).powi(2));
            let length = squares.sum::<f64>().sqrt();
            assert!((length..=length * 1.000_002).contains(&f64::from(missing)), "{numbers:?}");
            assert!(missing <= most, "{missing}, {numbers:?}");
            let zeros = row.iter().zip(decoded).filter(|(x, _)| **x == 0.0);
            zeros.for_each(|(_, code)| assert_eq!(*code, 0.0));
        }
    }
}

#[test]
fn reaches_allows_for_what_the_float32_search_rounds_off() {
    // The codes of such rows are nearly exact, and rounding adds up because most numbers are equal.
    for dimensions in 1..1500 {
        let row = row(&vec![1.0; dimensions]);
        let codes = encoded(std::slice::from_ref(&row));
        let mut query = row.clone();
        query[..dimensions / 4].iter_mut().for_each(|x| *x = -*x);
        let value = f64::from(dot_of(&query, &row));
        assert!(reaches(&codes, &Query::new(&query), 0, value), "{dimensions}: {value}");
    }
}

#[test]
fn reaches_ends_near_the_value_of_a_query_in_the_direction_of_what_is_missing() {
    for dimensions in [1, 16, 100, 384, 1536] {
        let numbers: Vec<f32> =
            (0..dimensions).map(|i| ((i * 7919 + 13) % 1009) as f32 / 504.0 - 1.0).collect();
        let row = row(&numbers);
        let codes = encoded(std::slice::from_ref(&row));
        for decoded in decoded(&codes, 0) {
            let missing: Vec<f32> =
                row.iter().zip(decoded).map(|(x, c)| (f64::from(*x) - c) as f32).collect();
            let mut query = vec![0.0; row.len()];
            normalize_into(&mut query, &missing);
            let (value, query) = (f64::from(dot_of(&query, &row)), Query::new(&query));
            assert!(reaches(&codes, &query, 0, value), "{dimensions}: {value}");
            let far = value + 3.0 * query.missing + dimensions as f64 * 5e-7 + 1e-4;
            assert!(!reaches(&codes, &query, 0, far), "{dimensions}: {far} is far above {value}");
        }
    }
}

/// Vectors of one length that are hard to tell apart, or hard to encode.
fn vectors() -> impl Strategy<Value = Vec<Vec<f32>>> {
    let length = prop::sample::select(&[1_usize, 5, 16, 33, 128, 384, 400][..]);
    (length, prop::collection::vec((0_u8..7, any::<u32>(), -1.0_f32..1.0), 1..60)).prop_map(
        |(length, kinds)| {
            let mut vectors: Vec<Vec<f32>> = Vec::new();
            for (kind, seed, scale) in kinds {
                let at = seed as usize;
                let noise = |i: usize| {
                    let hash = (i as u32 + 1).wrapping_mul(seed | 1).wrapping_mul(2_654_435_761);
                    (hash >> 8) as f32 / (1 << 23) as f32 - 1.0
                };
                let before = vectors.get(at % (vectors.len() + 1)).cloned();
                let before = before.unwrap_or_else(|| (0..length).map(noise).collect());
                let mut vector: Vec<f32> = match kind {
                    0 => vec![0.0; length],
                    // The same up to rounding, and the opposite.
                    1 => before.iter().map(|x| x * scale).collect(),
                    // Neighbours, down to a few bits away.
                    2 => {
                        let distance = 10_f32.powf(scale * 4.0 - 3.5);
                        before.iter().enumerate().map(|(i, x)| x + distance * noise(i)).collect()
                    }
                    3 => {
                        (0..length).map(|i| if i % 7 == at % 7 { noise(i) } else { 0.0 }).collect()
                    }
                    4 => (0..length).map(|i| noise(i) * 10_f32.powf(noise(i + 5) * 30.0)).collect(),
                    _ => (0..length).map(noise).collect(),
                };
                if kind == 5 {
                    vector[at % length] = 1e30 * scale;
                }
                vectors.push(vector);
            }
            vectors
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn reaches_holds_for_the_value_of_every_row(vectors in vectors()) {
        let rows: Vec<_> = vectors.iter().map(|vector| row(vector)).collect();
        let codes = encoded(&rows);
        for query in &rows {
            let encoded = Query::new(query);
            for (slot, row) in rows.iter().enumerate() {
                let value = f64::from(dot_of(query, row));
                prop_assert!(reaches(&codes, &encoded, slot, value), "{value}, {row:?}, {query:?}");
            }
        }
    }

    #[test]
    fn search_finds_what_the_flat_one_does_in_every_kernel(
        vectors in vectors(),
        turn in 0_usize..60,
        k in prop::sample::select(&[1_usize, 2, 7, 100][..]),
        at_least in prop_oneof![Just(-1.0), -1.0..=1.0, Just(0.0)],
    ) {
        let rows: Vec<_> = vectors.iter().map(|vector| row(vector)).collect();
        let codes = encoded(&rows);
        // The ring starts somewhere; its oldest row is the first.
        let start = turn % rows.len();
        let order: Vec<usize> = (start..rows.len()).chain(0..start).collect();
        for query in &rows {
            let value = |slot: usize| dot_of(query, &rows[slot]);
            let in_order: Vec<f32> = order.iter().flat_map(|slot| rows[*slot].clone()).collect();
            let mut flat = Best::new(k, at_least);
            offer_dots(query, &in_order, 0, &mut flat);
            let flat = flat.into_rows().map(|(at, dot)| (order[at], dot.to_bits()));
            let expected: Vec<_> = flat.collect();
            let bits = |best: Best| -> Vec<_> {
                best.into_rows().map(|(slot, dot)| (slot, dot.to_bits())).collect()
            };
            let slots = [start..rows.len(), 0..start];
            let mut best = Best::new(k, at_least);
            codes.search(query, slots.clone(), &mut best, value);
            prop_assert_eq!(bits(best), &expected[..], "dispatched");
            let query = &Query::new(query);
            for_every_kernel!(|name, kernel| {
                let (slots, mut best) = (slots.clone(), Best::new(k, at_least));
                Search { kernel, codes: &codes, query, slots, best: &mut best, value }.call();
                prop_assert_eq!(bits(best), &expected[..], "{}", name);
            });
        }
    }
}

#[test]
fn copy_carries_a_row_to_another_slot() {
    let rows = [[1.0, 2.0, 3.0], [-3.0, 0.5, 0.0]].map(|numbers| row(&numbers));
    let mut codes = encoded(&rows);
    codes.copy(1, 0);
    assert_eq!(decoded(&codes, 0), decoded(&codes, 1));
    assert_eq!(codes.errors[0], codes.errors[1]);
}

#[test]
fn codes_of_a_ring_that_has_grown_are_those_of_its_rows() {
    let options = CacheOptions { vector_len: 3, max_elements: 12_000, ttl: None };
    let mut cache = VectorCache::new(options);
    for index in 0..9_000_u16 {
        let vector = [1.0, f32::from(index), f32::from(index % 7)];
        // The ring is turned before it grows.
        cache.add(&vector, None, Duration::from_secs(index.into())).unwrap();
        cache.options.ttl = (index == 8_000).then_some(Duration::from_secs(7_900));
    }
    assert_eq!(cache.slots, 12_000);
    let expected = Codes::new(cache.slots, cache.row, cache.rows(0..cache.slots)).unwrap();
    let found = cache.codes.unwrap();
    assert!(found.planes.iter().zip(&expected.planes).all(|(a, b)| a[..] == b[..]));
    assert_eq!(found.errors, expected.errors);
}
