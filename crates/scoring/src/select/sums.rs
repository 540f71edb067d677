//! Sums over the similarities of many pairs of traces, on two threads.
//!
//! What a column adds to a line is how far its weighted similarity `x` reaches into the interval of the line, times the
//! `n` of the line: `n (min(x, high) − low)`, or 0 unless the difference exceeds [`LEAST`].
//!
//! # What is exact
//!
//! Products of float32 numbers are exact in float64, and [`Sum::Exact`] adds them in a fixed order, so it is the same on
//! every machine. The bounds are of float32: a dot product of chains of [`CHAIN`] numbers, whose sums are added, is off
//! by at most `γ |v| |w|`, where `γ = nu / (1 − nu)`, `u = 2⁻²⁴` and `n` is the length of a chain plus their number
//! (Higham, *Accuracy and Stability of Numerical Algorithms*, 3.1). All that follows never falls as it rises.

use std::iter;

use knowledgepulse_workers::share_out;
use pulp::{Arch, Simd, WithSimd, bytemuck::cast_slice};

use super::{Candidate, Check};
use crate::{
    cache::{is_unit, norm, normalize_into},
    error::Result,
};

/// The greatest difference of similarities that is taken for rounding.
const LEAST: f64 = 1e-12;
/// Numbers that are added before their sum goes to the total.
const CHAIN: usize = 64;
/// Columns that are compared at once.
const WIDTH: usize = 16;
/// Lines whose sum goes to the total.
const BLOCK: usize = 96;
/// Independent sums, because the latency of an addition is several times the interval between two.
const LANES: usize = 16;

/// A vector of length 1, or zeros, padded with zeros.
pub type Row = Box<[[f32; CHAIN]]>;

/// The index of a trace with a vector, and an interval.
pub type Line = (usize, [f64; 2]);

/// The sum, or a bound below or above it.
#[derive(Clone, Copy, PartialEq)]
pub enum Sum {
    Exact,
    Below,
    Above,
}

/// Returns a vector as a row, of the same bits if its length is 1.
pub fn row_of(vector: &[f32]) -> Row {
    let mut row = vec![0.0; vector.len()];
    match is_unit(norm(vector)) {
        true => row.copy_from_slice(vector),
        false => normalize_into(&mut row, vector),
    }
    row.resize(vector.len().next_multiple_of(CHAIN), 0.0);
    row.as_chunks().0.into()
}

/// Returns the dot product in float64; 0 if one has no numbers.
pub fn dot(a: &Row, b: &Row) -> f64 {
    Arch::new().dispatch(|| dot_here(a, b))
}

#[inline(always)]
fn dot_here(a: &[[f32; CHAIN]], b: &[[f32; CHAIN]]) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for start in (0..CHAIN).step_by(LANES) {
            for lane in 0..LANES {
                sums[lane] += f64::from(a[start + lane]) * f64::from(b[start + lane]);
            }
        }
    }
    sums.iter().sum()
}

/// Returns the similarity for a dot product.
#[inline(always)]
pub fn cube(dot: f64) -> f64 {
    let dot = dot.max(0.0);
    dot * dot * dot
}

/// Columns, number by number.
struct Panel<'a> {
    columns: &'a [usize],
    weights: [f64; WIDTH],
    numbers: Vec<[[f32; WIDTH]; CHAIN]>,
}

impl<'a> Panel<'a> {
    fn of(traces: &[Candidate], columns: &'a [usize]) -> Self {
        let mut weights = [0.0; WIDTH];
        let mut numbers = vec![[[0.0; WIDTH]; CHAIN]; traces[columns[0]].row.len()];
        for (at, index) in columns.iter().enumerate() {
            weights[at] = traces[*index].weight;
            let row = traces[*index].row.as_flattened();
            for (numbers, number) in numbers.as_flattened_mut().iter_mut().zip(row) {
                numbers[at] = *number;
            }
        }
        Self { columns, weights, numbers }
    }
}

/// Returns what each column adds to all lines. Unless `greatest` is empty, it takes for each line the greatest weighted
/// similarity, if that is greater, and the index of its column.
pub fn sums(
    traces: &[Candidate],
    (lines, columns): (&[Line], &[usize]),
    sum: Sum,
    greatest: &mut [(f64, usize)],
    check: Check,
) -> Result<Vec<f64>> {
    let panels: Vec<_> = columns.chunks(WIDTH).map(|some| Panel::of(traces, some)).collect();
    let width = WIDTH * panels.len().max(1);
    let mut sums = vec![0.0; lines.len().div_ceil(BLOCK) * width];
    let greatest = greatest.chunks_mut(BLOCK).chain(iter::repeat_with(Default::default));
    let parts = lines.chunks(BLOCK).zip(sums.chunks_mut(width)).zip(greatest);
    share_out(parts, |((lines, sums), greatest)| {
        check()?;
        Arch::new().dispatch(Part { traces, lines, panels: &panels, sum, sums, greatest });
        Ok(())
    })?;
    let total = |column| sums.iter().skip(column).step_by(width).sum();
    Ok((0..columns.len()).map(total).collect())
}

/// Some lines with all columns.
struct Part<'a> {
    traces: &'a [Candidate],
    lines: &'a [Line],
    panels: &'a [Panel<'a>],
    sum: Sum,
    sums: &'a mut [f64],
    greatest: &'a mut [(f64, usize)],
}

impl WithSimd for Part<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.run::<S, 1, 12>(simd),
            8 => self.run::<S, 2, 6>(simd),
            4 => self.run::<S, 4, 4>(simd),
            _ => self.run::<S, WIDTH, 1>(simd),
        }
    }
}

impl Part<'_> {
    /// A number of all columns takes `REGISTERS`; `ROWS` lines are compared at once.
    #[inline(always)]
    fn run<S: Simd, const REGISTERS: usize, const ROWS: usize>(self, simd: S) {
        let Self { traces, lines, panels, sum, sums, greatest } = self;
        for (panel, sums) in panels.iter().zip(sums.chunks_mut(WIDTH)) {
            let gamma = 1.01 * (CHAIN + panel.numbers.len()) as f64 / f64::from(1 << 24);
            let error = if sum == Sum::Below { -gamma } else { gamma };
            for start in (0..lines.len()).step_by(ROWS) {
                let mut rows = [&*traces[lines[start].0].row; ROWS];
                for (row, line) in rows.iter_mut().zip(&lines[start..]) {
                    *row = &traces[line.0].row;
                }
                let dots = tile::<S, REGISTERS, ROWS>(simd, &panel.numbers, rows);
                for (at, (line, [low, high])) in lines[start..].iter().take(ROWS).enumerate() {
                    let times = traces[*line].covers;
                    let mut values = [0.0; WIDTH];
                    for column in 0..WIDTH {
                        let dot = f64::from(dots[at][column]) + error;
                        values[column] = cube(dot) * panel.weights[column];
                    }
                    if sum == Sum::Exact {
                        for (value, index) in values.iter_mut().zip(panel.columns) {
                            if *value > *low {
                                let column = &traces[*index];
                                *value = cube(dot_here(rows[at], &column.row)) * column.weight;
                            }
                        }
                    }
                    for column in 0..WIDTH {
                        let more = values[column].min(*high) - low;
                        sums[column] += if more > LEAST { times * more } else { 0.0 };
                    }
                    if let Some(greatest) = greatest.get_mut(start + at) {
                        for (value, index) in values.iter().zip(panel.columns) {
                            if *value > greatest.0 {
                                *greatest = (*value, *index);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the dot products of rows with the columns of a panel.
#[inline(always)]
fn tile<S: Simd, const REGISTERS: usize, const ROWS: usize>(
    simd: S,
    panel: &[[[f32; WIDTH]; CHAIN]],
    rows: [&[[f32; CHAIN]]; ROWS],
) -> [[f32; WIDTH]; ROWS] {
    let zero = [[simd.splat_f32s(0.0); REGISTERS]; ROWS];
    let mut totals = zero;
    for (at, columns) in panel.iter().enumerate() {
        let (mut sums, mut chains) = (zero, [&[0.0; CHAIN]; ROWS]);
        for row in 0..ROWS {
            chains[row] = &rows[row][at];
        }
        for number in 0..CHAIN {
            let (columns, _) = S::as_simd_f32s(&columns[number]);
            for row in 0..ROWS {
                let number = simd.splat_f32s(chains[row][number]);
                for at in 0..REGISTERS {
                    sums[row][at] = simd.mul_add_e_f32s(number, columns[at], sums[row][at]);
                }
            }
        }
        for row in 0..ROWS {
            for at in 0..REGISTERS {
                totals[row][at] = simd.add_f32s(totals[row][at], sums[row][at]);
            }
        }
    }
    let mut dots = [[0.0; WIDTH]; ROWS];
    for row in 0..ROWS {
        dots[row].copy_from_slice(cast_slice(&totals[row]));
    }
    dots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Trace,
        embed::Embedded,
        trace::{Confidence, Steps},
    };

    /// The name of a width, the sums, and the greatest values.
    type Found = (&'static str, Vec<f64>, Vec<(f64, usize)>);

    /// What a part does in every width that this machine has, the scalar one included.
    fn every_width(
        traces: &[Candidate],
        lines: &[Line],
        columns: &[usize],
        sum: Sum,
    ) -> Vec<Found> {
        let panels: Vec<_> = columns.chunks(WIDTH).map(|some| Panel::of(traces, some)).collect();
        let panels = &panels[..];
        let mut all = Vec::new();
        let mut add = |name, run: &dyn Fn(Part)| {
            let mut sums = vec![0.0; panels.len() * WIDTH];
            let mut greatest = vec![(0.0, usize::MAX); lines.len()];
            let (sums_of, greatest_of) = (&mut sums, &mut greatest);
            run(Part { traces, lines, panels, sum, sums: sums_of, greatest: greatest_of });
            sums.truncate(columns.len());
            all.push((name, sums, greatest));
        };
        add("scalar", &|part| part.with_simd(pulp::Scalar::new()));
        add("dispatched", &|part| Arch::new().dispatch(part));
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = pulp::x86::V3::try_new() {
                add("AVX2", &|part| Simd::vectorize(simd, part));
            }
            if let Some(simd) = pulp::x86::V4::try_new() {
                add("AVX-512", &|part| Simd::vectorize(simd, part));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(simd) = pulp::aarch64::Neon::try_new() {
            add("NEON", &|part| Simd::vectorize(simd, part));
        }
        all
    }

    fn candidate(length: usize, seed: usize) -> Candidate {
        let numbers = (0..length).map(|i| ((i * 37 + seed * 61) % 101) as f32 / 50.0 - 0.8);
        let embedded = Embedded { embedding: numbers.collect(), ..Embedded::default() };
        let confidence = Confidence::new(0.5).expect("a number in [0, 1]");
        let trace = Trace::new("code".into(), true, confidence, Steps::default(), None);
        let covers = 1.0 + (seed % 3) as f64;
        Candidate::new(trace, Ok(embedded), None).with(None, seed % 2 == 1, 1, covers)
    }

    #[test]
    fn sums_are_exact_or_bounds_in_every_width() {
        for (length, lines, columns) in [(1, 1, 1), (63, 7, 3), (64, 13, 17), (768, 30, 40)] {
            let all: Vec<_> = (0..lines + columns).map(|seed| candidate(length, seed)).collect();
            let line = |at: usize| (at, [[0.0, 0.1, 0.3][at % 3], [0.4, 9.0][at % 2]]);
            let columns: Vec<_> = (lines..all.len()).collect();
            let lines: Vec<_> = (0..lines).map(line).collect();
            let value = |line: usize, column: usize| {
                let [a, b] = [line, column].map(|at| all[at].row.as_flattened().iter());
                let products = a.zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y));
                products.sum::<f64>().max(0.0).powi(3) * all[column].weight
            };
            let [exact, above, below] = [Sum::Exact, Sum::Above, Sum::Below]
                .map(|sum| every_width(&all, &lines, &columns, sum));
            for (((width, sums, _), (_, above, greatest)), (_, below, _)) in
                exact.iter().zip(&above).zip(&below)
            {
                assert_eq!(sums, &exact[0].1, "{width}: the same bits as in scalar code");
                for (at, column) in columns.iter().enumerate() {
                    let part = |(line, [low, high]): &Line| {
                        all[*line].covers * (value(*line, *column).clamp(*low, *high) - low)
                    };
                    let expected: f64 = lines.iter().map(part).sum();
                    let [low, found, high] = [below[at], sums[at], above[at]];
                    assert!((found - expected).abs() < 1e-12, "{width}: {found} for {expected}");
                    assert!(low <= found && found <= high, "{width}: {low} to {high} for {found}");
                    assert!(high - low < 1e-3, "{width}: {low} to {high}");
                }
                for ((line, _), (found, by)) in lines.iter().zip(greatest) {
                    let most =
                        columns.iter().map(|column| value(*line, *column)).fold(0.0, f64::max);
                    assert!((found - most).abs() < 1e-4, "{width}: {found} by {by} for {most}");
                }
            }
        }
    }
}
