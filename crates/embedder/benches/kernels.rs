//! The exact arithmetic of the model on one core: the items are floating-point operations.

use divan::{Bencher, counter::ItemsCount};
use knowledgepulse_embedder::kernels::{Linear, LinearWeights, SelfAttention, run};

const TOKENS: [usize; 3] = [20, 128, 512];
const LAYERS: usize = 6;
const WIDTH: usize = 384;

fn main() {
    divan::main();
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
            run(SelfAttention::new(&input, &mut output));
        }
    });
    assert_computed(&output);
}

fn assert_computed(numbers: &[f32]) {
    assert!(numbers.iter().all(|x| x.is_finite()) && numbers.iter().any(|x| *x != 0.0));
}

/// The linear layers of all encoder layers.
#[divan::bench(args = TOKENS)]
fn linear(bencher: Bencher, tokens: usize) {
    let shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)];
    let operations: usize =
        shapes.iter().map(|(depth, columns)| 2 * tokens * depth * columns).sum();
    let mut layers = shapes.map(|(depth, columns)| {
        let values = (0..depth * columns).map(|i| (i * 7919) as i16).collect();
        let (scale, bias) = (vec![1e-5; columns].into(), vec![1e-5; columns].into());
        let weights = LinearWeights { values, scale, bias };
        (weights, numbers(tokens * depth), vec![0.0; tokens * columns])
    });
    bencher.counter(ItemsCount::new(LAYERS * operations)).bench_local(|| {
        for _ in 0..LAYERS {
            for (weights, input, output) in &mut layers {
                let gelu = weights.columns() == 4 * WIDTH;
                run(Linear::new(weights, input, None, gelu, output));
            }
        }
    });
    layers.iter().for_each(|(_, _, output)| assert_computed(output));
}
