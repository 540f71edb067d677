//! The exact arithmetic of the model on one core: the items are floating-point operations.

use divan::{Bencher, counter::ItemsCount};
use knowledgepulse_embedder::kernels::{
    Kernel, Linear, LinearWeights, SelfAttention, SharedSlice, run_task,
};

const TOKENS: [usize; 3] = [20, 128, 512];
const LAYERS: usize = 6;
const WIDTH: usize = 384;

fn main() {
    divan::main();
}

/// Does all tasks of a kernel on this thread.
fn run(kernel: &impl Kernel) {
    // SAFETY: there is no other thread.
    (0..kernel.tasks()).for_each(|task| unsafe { run_task(kernel, task) });
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + i / 97) % 1009) as f32 / 168.0 - 3.0).collect()
}

/// The attention of all layers.
#[divan::bench(args = TOKENS)]
fn attention(bencher: Bencher, tokens: usize) {
    let (input, mut output) = (numbers(tokens * 3 * WIDTH), vec![0.0; tokens * WIDTH]);
    let operations = ItemsCount::new(LAYERS * 4 * tokens * tokens * WIDTH);
    bencher.counter(operations).bench_local(|| {
        for _ in 0..LAYERS {
            run(&SelfAttention::new(&input, SharedSlice::new(&mut output)));
        }
    });
    // The first number of the first head, by the definition.
    let product = |token: usize| -> f32 {
        let (query, key) = (&input[..32], &input[token * 3 * WIDTH + WIDTH..][..32]);
        query.iter().zip(key).map(|(x, y)| x * y).sum()
    };
    let weights = (0..tokens).map(|token| f64::from(product(token) / 32_f32.sqrt()).exp());
    let (mut mixed, mut sum) = (0.0, 0.0);
    for (token, weight) in weights.enumerate() {
        mixed += weight * f64::from(input[token * 3 * WIDTH + 2 * WIDTH]);
        sum += weight;
    }
    assert_close(output[0], mixed / sum);
}

#[track_caller]
fn assert_close(found: f32, expected: f64) {
    let error = (f64::from(found) - expected).abs();
    assert!(error <= 1e-4 * expected.abs().max(1.0), "{found} instead of {expected}");
}

/// The linear layers of all encoder layers.
#[divan::bench(args = TOKENS)]
fn linear(bencher: Bencher, tokens: usize) {
    let shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)];
    let operations: usize =
        shapes.iter().map(|(depth, columns)| 2 * tokens * depth * columns).sum();
    let mut layers = shapes.map(|(depth, columns)| {
        let weight: Vec<i16> = (0..depth * columns).map(|i| (i * 7919) as i16).collect();
        (weight, vec![1e-5; columns], numbers(tokens * depth), vec![0.0; tokens * columns])
    });
    bencher.counter(ItemsCount::new(LAYERS * operations)).bench_local(|| {
        for _ in 0..LAYERS {
            for (weight, scale, input, output) in &mut layers {
                let gelu = scale.len() == 4 * WIDTH;
                let weights = LinearWeights { values: weight, scale, bias: scale };
                run(&Linear::new(weights, input, None, gelu, SharedSlice::new(output)));
            }
        }
    });
    let (weight, scale, input, output) = &layers[0];
    let products = (0..WIDTH).map(|k| f64::from(weight[k * 16]) * f64::from(input[k]));
    assert_close(output[0], (products.sum::<f64>() + 1.0) * f64::from(scale[0]));
}
