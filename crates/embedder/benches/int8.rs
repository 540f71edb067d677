//! The arithmetic in integers on one core: the time of each kernel for one layer of a block of tokens, and the
//! share that its products have of the most that the registers can do, which is measured first: on one core,
//! and on all at once. `npm run bench` reads these lines.
//!
//! `cargo bench -p knowledgepulse-embedder --bench int8 [-- best]`; with `best`, only the best registers of this
//! machine. Times are the least of many, which other processes change little.

#![expect(clippy::print_stdout, reason = "it is a report")]

use std::{arch::asm, thread, time::Instant};

use knowledgepulse_embedder::kernels::{
    LinearWeights, Norm,
    int8::{
        Aligned, Int8Weights, Keys, Machine, Multiply, Normalize, Projection, Quantize, Quantized,
        Registers, WithRegisters, attend,
    },
};
use pulp::Simd;

const WIDTH: usize = 384;
const FFN: usize = 4 * WIDTH;
/// A block, and the whole text.
const ROWS: usize = 64;
const TOKENS: usize = 512;
const REPETITIONS: usize = 300;
/// Of what takes 5 ms.
const TRIES: usize = 40;

fn main() {
    let count = if std::env::args().any(|text| text == "best") { 1 } else { usize::MAX };
    for machine in Machine::all().into_iter().take(count) {
        machine.run(Layer { name: format!("{machine:?}") });
    }
}

/// Products of numbers in registers alone, with as many sums as keep all units busy.
struct Peak;

const SUMS: usize = 12;
const ROUNDS: usize = 2000;

impl WithRegisters for Peak {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let factor = registers.simd().splat_i32s(0x0101_0101);
        let mut sums = [factor; SUMS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = registers.dot(*sum, *sum, factor);
            }
            // SAFETY: it does nothing; rounds are not merged across it.
            unsafe { asm!("", options(nostack, preserves_flags)) };
        }
        divan::black_box(sums);
    }
}

struct Layer {
    name: String,
}

impl WithRegisters for Layer {
    fn with_registers<R: Registers>(self, registers: R) {
        let name = self.name.split('(').next().unwrap_or_default();
        let lanes = R::Simd::F32_LANES;
        let products = (SUMS * ROUNDS * 4 * lanes) as f64;
        let peak = products / seconds(|| registers.call(Peak));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // So many calls that starting the threads hardly counts.
        let calls = (peak / products / 200.0) as usize + 1;
        let together = least(TRIES, || {
            thread::scope(|scope| {
                for _ in 0..cores {
                    scope.spawn(|| (0..calls).for_each(|_| registers.call(Peak)));
                }
            });
        });
        let all = products * (cores * calls) as f64 / together;
        let mut report = Report { peak, seconds: 0.0, products: 0 };
        let [one, all] = [peak, all].map(|peak| format!("{:.0} GMAC/s", peak / 1e9));
        println!("{name}, {ROWS} of {TOKENS} tokens, at most {one}, on {cores} cores {all}");

        let numbers = |count: usize| {
            let number = |at: usize| ((at * 37 + at / 97) % 1009) as f32 / 168.0 - 3.0;
            Aligned::copy(&(0..count).map(number).collect::<Vec<f32>>())
        };
        let projected = numbers(TOKENS * 3 * WIDTH);
        let mut keys = Keys::new(TOKENS);
        let (mut bytes, mut scale) = (Aligned::zeros(TOKENS * WIDTH), vec![0.0; TOKENS]);
        let shared = keys.split();
        let mut project = |count: usize| {
            let queries =
                Quantized { bytes: &mut bytes[..count * WIDTH], scale: &mut scale[..count] };
            let projected = &projected[..count * 3 * WIDTH];
            // SAFETY: no other thread has these keys.
            registers.call(unsafe { Projection::new(projected, 0, queries, &shared) });
        };
        report.add("queries, keys, values", 0, seconds(|| project(ROWS)));
        project(TOKENS);
        let (mut scores, mut weights) = (Aligned::zeros(8 * TOKENS), Aligned::zeros(8 * TOKENS));
        let mut y = Aligned::zeros(ROWS * WIDTH);
        let queries = &Quantized { bytes: &mut bytes[..ROWS * WIDTH], scale: &mut scale[..ROWS] };
        let attention = seconds(|| {
            attend(registers, queries, 0, &keys, &mut scores, &mut weights, &mut y);
        });
        report.add("attention", 2 * ROWS * TOKENS * WIDTH, attention);

        for depth in [WIDTH, FFN] {
            let (source, mut x) = (numbers(ROWS * depth), numbers(ROWS * depth));
            let (mut bytes, mut scale) = (Aligned::zeros(ROWS * depth), vec![0.0; ROWS]);
            let turn = seconds(|| {
                x.copy_from_slice(&source);
                let quantized = &mut Quantized { bytes: &mut bytes, scale: &mut scale };
                registers.call(Quantize { x: &mut x, gelu: depth == FFN, quantized });
            });
            let gelu = if depth == FFN { ", GELU" } else { "" };
            report.add(&format!("rotation, {depth}{gelu}"), 0, turn);
        }
        let numbers_of = |count| numbers(count).to_vec().into();
        let norm = &Norm { gamma: numbers_of(WIDTH), beta: numbers_of(WIDTH) };
        let mut x = numbers(ROWS * WIDTH);
        let (mut bytes, mut scale) = (Aligned::zeros(ROWS * WIDTH), vec![0.0; ROWS]);
        let normalize = seconds(|| {
            let quantized = Some(&mut Quantized { bytes: &mut bytes, scale: &mut scale });
            registers.call(Normalize { x: &mut x, norm, quantized });
        });
        report.add("both normalisations", 0, 2.0 * normalize);

        report.multiply::<R, false>(registers, "query, key, value", WIDTH, 3 * WIDTH);
        report.multiply::<R, true>(registers, "output", WIDTH, WIDTH);
        report.multiply::<R, false>(registers, "up", WIDTH, FFN);
        report.multiply::<R, true>(registers, "down", FFN, WIDTH);
        let (all, products) = (report.seconds, report.products);
        report.add("layer", products, all);
    }
}

/// The least time of what is short.
fn seconds(run: impl FnMut()) -> f64 {
    least(REPETITIONS, run)
}

/// The least time of so many.
fn least(repetitions: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64()
    };
    (0..repetitions).map(time).fold(f64::INFINITY, f64::min)
}

struct Report {
    /// Products a second.
    peak: f64,
    seconds: f64,
    products: usize,
}

impl Report {
    fn add(&mut self, name: &str, products: usize, seconds: f64) {
        let rate = products as f64 / seconds;
        let (giga, percent) = (rate / 1e9, 100.0 * rate / self.peak);
        let share = if products > 0 {
            format!(" {giga:7.0} GMAC/s {percent:5.0} %")
        } else {
            String::new()
        };
        println!("  {name:22} {:8.1} µs{share}", seconds * 1e6);
        self.seconds += seconds;
        self.products += products;
    }

    fn multiply<R: Registers, const ADD: bool>(
        &mut self,
        registers: R,
        name: &str,
        depth: usize,
        columns: usize,
    ) {
        let values: Vec<i16> = (0..depth * columns).map(|at| (at * 7919) as i16).collect();
        let numbers = vec![1e-5; columns];
        let (scale, bias) = (numbers.clone().into(), numbers.into());
        let weights = LinearWeights { values: values.into(), scale, bias };
        let weights = Int8Weights::new(registers, &weights);
        let bytes: Vec<u8> = (0..ROWS * depth).map(|at| (at * 31) as u8).collect();
        let (mut bytes, mut scale) = (Aligned::copy(&bytes), vec![1e-2; ROWS]);
        let mut y = Aligned::zeros(ROWS * columns);
        let time = seconds(|| {
            let rows = &Quantized { bytes: &mut bytes, scale: &mut scale };
            registers.call(Multiply::<ADD>::new(rows, &weights, &mut y));
        });
        self.add(name, ROWS * depth * columns, time);
        assert!(y.iter().all(|y| y.is_finite()) && y.iter().any(|y| *y != 0.0));
    }
}
