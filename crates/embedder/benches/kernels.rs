//! The arithmetic of the model: the time of each kernel, and the share that its products have of the most that the
//! registers can do, which is measured first: on one core, and on all at once. `fast` is measured for one layer of a block of
//! tokens, `exact` for one layer of a text. `npm run bench` reads these lines.
//!
//! `cargo bench -p knowledgepulse-embedder --bench kernels [-- best]`; with `best`, only the best registers of this
//! machine. Times are the least of many, which other processes change little.

#![expect(clippy::print_stdout, reason = "it is a report")]

use std::{
    any::type_name,
    arch::asm,
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use knowledgepulse_embedder::kernels::{
    Kernel, LayerNorm, Linear, LinearWeights, Norm, SelfAttention,
    int8::{
        Aligned, Int8Weights, Keys, Machine, Multiply, Normalize, Projection, Quantize, Quantized,
        Registers, WithRegisters, attend,
    },
};
use pulp::Simd;

const WIDTH: usize = 384;
const FFN: usize = 4 * WIDTH;
/// Depth and columns of the linear layers of a layer.
const LINEAR: [(&str, usize, usize); 4] = [
    ("query, key, value", WIDTH, 3 * WIDTH),
    ("output", WIDTH, WIDTH),
    ("up", WIDTH, FFN),
    ("down", FFN, WIDTH),
];
/// A block, and the whole text.
const ROWS: usize = 64;
const TOKENS: usize = 512;
const REPETITIONS: usize = 300;
/// Of what takes 5 ms.
const TRIES: usize = 40;
const HALF_A_SECOND: Duration = Duration::from_millis(500);

fn main() {
    let count = if std::env::args().any(|text| text == "best") { 1 } else { usize::MAX };
    let mut seen = HashSet::new();
    for machine in Machine::all().into_iter().take(count) {
        machine.run(Fast { name: format!("{machine:?}") });
        // Portable code computes it with other registers.
        if !matches!(machine, Machine::Plain(_)) {
            machine.run(Exact { seen: &mut seen });
        }
    }
}

/// Products in registers alone, with as many sums as keep all units busy: of float32 numbers, or of bytes.
#[derive(Clone, Copy)]
struct Peak<const FLOAT: bool>;

const SUMS: usize = 12;
const ROUNDS: usize = 2000;

impl<const FLOAT: bool> WithRegisters for Peak<FLOAT> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let simd = registers.simd();
        let (word, number) = (simd.splat_i32s(0x0101_0101), simd.splat_f32s(1.0));
        let (mut words, mut numbers) = ([word; SUMS], [number; SUMS]);
        for _ in 0..ROUNDS {
            for at in 0..SUMS {
                if FLOAT {
                    numbers[at] = simd.mul_add_e_f32s(number, number, numbers[at]);
                } else {
                    words[at] = registers.dot(words[at], words[at], word);
                }
            }
            // SAFETY: it does nothing; rounds are not merged across it.
            unsafe { asm!("", options(nostack, preserves_flags)) };
        }
        if FLOAT {
            divan::black_box(numbers);
        } else {
            divan::black_box(words);
        }
    }
}

impl<const FLOAT: bool> Peak<FLOAT> {
    /// Measures the products a second on one core, and on all. Prints both as `unit`, each of so many products.
    fn report<R: Registers>(
        self,
        registers: R,
        heading: &str,
        per_unit: f64,
        unit: &str,
    ) -> Report {
        let in_lane = if FLOAT { 1 } else { 4 };
        let products = (SUMS * ROUNDS * in_lane * R::Simd::F32_LANES) as f64;
        let one = products / seconds(|| registers.call(self));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // So many calls that starting the threads hardly counts.
        let calls = (one / products / 200.0) as usize + 1;
        let together = least(TRIES, || {
            thread::scope(|scope| {
                for _ in 0..cores {
                    scope.spawn(|| (0..calls).for_each(|_| registers.call(self)));
                }
            });
        });
        let all = products * (cores * calls) as f64 / together;
        let [most, on_all] = [one, all].map(|peak| format!("{:.0} {unit}", peak / per_unit));
        println!("{heading}, at most {most}, on {cores} cores {on_all}");
        Report { peak: one, per_unit, unit: unit.into(), seconds: 0.0, products: 0 }
    }
}

/// All tasks of a kernel on this thread.
struct Tasks<'a, K>(&'a K);

impl<K: Kernel> WithRegisters for Tasks<'_, K> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        for task in 0..self.0.tasks() {
            // SAFETY: no other thread runs tasks of this kernel.
            unsafe { self.0.run_task(registers.simd(), task) };
        }
    }
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 37 + at / 97) % 1009) as f32 / 168.0 - 3.0).collect()
}

fn weights(depth: usize, columns: usize) -> LinearWeights<'static> {
    let values: Vec<i16> = (0..depth * columns).map(|at| (at * 7919) as i16).collect();
    let numbers = vec![1e-5; columns];
    LinearWeights { values: values.into(), scale: numbers.clone().into(), bias: numbers.into() }
}

fn norm() -> Norm<'static> {
    Norm { gamma: numbers(WIDTH).into(), beta: numbers(WIDTH).into() }
}

/// The exact arithmetic, once for registers that differ in float32.
struct Exact<'a> {
    seen: &'a mut HashSet<&'static str>,
}

impl WithRegisters for Exact<'_> {
    fn with_registers<R: Registers>(self, registers: R) {
        let name = type_name::<R::Simd>().rsplit("::").next().unwrap_or_default();
        if !self.seen.insert(name) {
            return;
        }
        for tokens in [TOKENS, 128, 20] {
            let heading = format!("{name} exact, {tokens} tokens");
            let mut report = Peak::<true>.report(registers, &heading, 5e8, "GFLOP/s");
            let (projected, mut output) = (numbers(tokens * 3 * WIDTH), vec![0.0; tokens * WIDTH]);
            let attention = SelfAttention::new(&projected, &mut output);
            let time = seconds(|| registers.call(Tasks(&attention)));
            report.add("attention", 2 * tokens * tokens * WIDTH, time);
            let (norm, x, mut y) = (norm(), numbers(tokens * WIDTH), vec![0.0; tokens * WIDTH]);
            let layer = LayerNorm::new(&norm, &x, &mut y);
            report.add("both normalisations", 0, 2.0 * seconds(|| registers.call(Tasks(&layer))));
            for (name, depth, columns) in LINEAR {
                let (weights, x) = (weights(depth, columns), numbers(tokens * depth));
                let mut y = vec![0.0; tokens * columns];
                let layer = Linear::new(&weights, &x, None, columns == FFN, &mut y);
                let time = seconds(|| registers.call(Tasks(&layer)));
                report.add(name, tokens * depth * columns, time);
                assert_computed(&y);
            }
            report.add_all();
        }
    }
}

fn assert_computed(y: &[f32]) {
    assert!(y.iter().all(|y| y.is_finite()) && y.iter().any(|y| *y != 0.0));
}

struct Fast {
    name: String,
}

impl WithRegisters for Fast {
    fn with_registers<R: Registers>(self, registers: R) {
        let name = self.name.split('(').next().unwrap_or_default();
        let heading = format!("{name} fast, {ROWS} of {TOKENS} tokens");
        let mut report = Peak::<false>.report(registers, &heading, 1e9, "GMAC/s");
        let numbers = |count: usize| Aligned::copy(&numbers(count));
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
        let norm = &norm();
        let mut x = numbers(ROWS * WIDTH);
        let (mut bytes, mut scale) = (Aligned::zeros(ROWS * WIDTH), vec![0.0; ROWS]);
        let normalize = seconds(|| {
            let quantized = Some(&mut Quantized { bytes: &mut bytes, scale: &mut scale });
            registers.call(Normalize { x: &mut x, norm, quantized });
        });
        report.add("both normalisations", 0, 2.0 * normalize);

        for (name, depth, columns) in LINEAR {
            match name {
                "output" | "down" => report.multiply::<R, true>(registers, name, depth, columns),
                _ => report.multiply::<R, false>(registers, name, depth, columns),
            }
        }
        report.add_all();
    }
}

/// The least time of what is short.
fn seconds(run: impl FnMut()) -> f64 {
    least(REPETITIONS, run)
}

/// The least time of so many, or of half a second.
fn least(repetitions: usize, mut run: impl FnMut()) -> f64 {
    let all = Instant::now();
    let mut least = f64::INFINITY;
    for _ in 0..repetitions {
        let begun = Instant::now();
        run();
        least = least.min(begun.elapsed().as_secs_f64());
        if all.elapsed() > HALF_A_SECOND {
            break;
        }
    }
    least
}

struct Report {
    /// Products a second.
    peak: f64,
    /// Products a second of a unit, and its name.
    per_unit: f64,
    unit: String,
    seconds: f64,
    products: usize,
}

impl Report {
    fn add(&mut self, name: &str, products: usize, seconds: f64) {
        let rate = products as f64 / seconds;
        let (units, percent) = (rate / self.per_unit, 100.0 * rate / self.peak);
        let share = if products > 0 {
            format!(" {units:7.0} {} {percent:5.0} %", self.unit)
        } else {
            String::new()
        };
        println!("  {name:22} {:8.1} µs{share}", seconds * 1e6);
        self.seconds += seconds;
        self.products += products;
    }

    fn add_all(&mut self) {
        self.add("layer", self.products, self.seconds);
    }

    fn multiply<R: Registers, const ADD: bool>(
        &mut self,
        registers: R,
        name: &str,
        depth: usize,
        columns: usize,
    ) {
        let weights = Int8Weights::new(registers, &weights(depth, columns));
        let bytes: Vec<u8> = (0..ROWS * depth).map(|at| (at * 31) as u8).collect();
        let (mut bytes, mut scale) = (Aligned::copy(&bytes), vec![1e-2; ROWS]);
        let mut y = Aligned::zeros(ROWS * columns);
        let time = seconds(|| {
            let rows = &Quantized { bytes: &mut bytes, scale: &mut scale };
            registers.call(Multiply::<ADD>::new(rows, &weights, &mut y));
        });
        self.add(name, ROWS * depth * columns, time);
        assert_computed(&y);
    }
}
