//! The exact encoder against ONNX Runtime's own kernels, and the fast one against the exact one.

use std::{sync::LazyLock, thread};

use knowledgepulse_test_support::{onnx_runtime, package_folder};

use super::*;
use crate::{
    BackendKind, ModelSettings, PackageFolder,
    embedder::ModelFolder,
    kernels::{Kernel, testing::bits},
};

/// The exact model, or the fast one in the registers of a machine.
fn new(machine: Option<Machine>, threads: usize) -> NativeModel {
    static FILES: LazyLock<BuiltInFiles> =
        LazyLock::new(|| BuiltInFiles::open(&package_folder().join("model")).expect("a manifest"));
    let threads = TextThreads::new(threads);
    NativeModel::new(FILES.map(WEIGHTS, 0).unwrap(), machine, threads).unwrap()
}

/// The exact model with 1 to 3 threads.
fn model(threads: usize) -> &'static NativeModel {
    static MODELS: LazyLock<[NativeModel; 3]> =
        LazyLock::new(|| [1, 2, 3].map(|threads| new(None, threads)));
    &MODELS[threads - 1]
}

fn fast(machine: Machine, threads: usize) -> NativeModel {
    new(Some(machine), threads)
}

/// Returns `count` tokens, which hardly repeat.
fn tokens(count: usize) -> Vec<i64> {
    (0..count).map(|at| (at * at * 7919 + count * 31) as i64 % VOCABULARY as i64).collect()
}

/// The greatest difference of a similarity that summation in another order makes.
const ROUNDING: f32 = 2e-6;

#[test]
#[cfg_attr(target_env = "musl", ignore = "there is no ONNX Runtime")]
fn exact_gives_the_vectors_of_the_graph_in_onnx_runtime() {
    let onnx = Some(BackendKind::Onnx);
    let settings = ModelSettings {
        backend: onnx,
        library: Ok(onnx_runtime()),
        ..ModelSettings::of(PackageFolder::new(&package_folder()))
    };
    let folder = ModelFolder::open(&settings).unwrap();
    let (_, onnx) = folder.load(&settings).unwrap();
    let never = CancelToken::default();
    let mut before: Option<[Embedding; 2]> = None;
    for count in (1..=64).chain((65..MAX_TOKENS).step_by(29)).chain([MAX_TOKENS]) {
        let ids = tokens(count);
        let found = model(2).embed_ids(&ids, &never).unwrap();
        for threads in [1, 3] {
            let again = model(threads).embed_ids(&ids, &never).unwrap();
            assert!(bits(&again) == bits(&found), "{count} tokens on {threads} threads");
        }
        let both = [found, onnx.embed_ids(&ids, &never).unwrap()];
        // The similarity to the text before, and to itself.
        for other in before.iter().chain([&both]) {
            let [native, onnx] = [0, 1].map(|backend| dot(&both[backend], &other[backend]));
            assert!((native - onnx).abs() <= ROUNDING, "{count} tokens: {native} {onnx}");
        }
        before = Some(both);
    }
}

fn dot(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[test]
fn fast_gives_the_same_bits_on_every_machine() {
    let digest = |model: &NativeModel, counts: &[usize]| {
        let mut hasher = blake3::Hasher::new();
        for count in counts {
            let embedding = model.embed_ids(&tokens(*count), &CancelToken::default()).unwrap();
            for x in &*embedding {
                hasher.update(&x.to_le_bytes());
            }
        }
        hasher.finalize().to_string()
    };
    for machine in Machine::all() {
        // Plain registers are slow.
        let is_plain = matches!(machine, Machine::Plain(_));
        let mut model = fast(machine, 1);
        for threads in if is_plain { 1..=1 } else { 1..=3 } {
            model.threads = TextThreads::new(threads);
            let found = digest(&model, &[1, 2, 3, 7, 8, 9, 20, 65, 129]);
            assert_eq!(found, SHORT, "{machine:?}, {threads} threads");
            if threads == 2 {
                assert_eq!(digest(&model, &[512]), LONG, "{machine:?}, {threads} threads");
            }
        }
    }
}

/// Digests of the embeddings of texts of 1 to 129 tokens, and of 512.
const SHORT: &str = "65205632606ffa59e29a9efc423a38f6b6d9c889ab1d401058bc9116a04709ca";
const LONG: &str = "fd1b0726dae08d51d7564d3082d2176854f9dbb6afd11703e6604cdfabc127a2";

#[test]
fn fast_is_near_exact() {
    let (fast, never) = (fast(Machine::detect(), 2), CancelToken::default());
    for count in [2, 5, 20, 65, 300] {
        let [exact, fast] =
            [model(2), &fast].map(|model| model.embed_ids(&tokens(count), &never).unwrap());
        let cosine = dot(&exact, &fast);
        assert!(cosine > 0.998, "{count} tokens: {cosine}");
    }
}

#[test]
fn run_gives_the_same_bits_beside_other_texts() {
    let (never, ids) = (CancelToken::default(), tokens(49));
    for model in [model(2), &fast(Machine::detect(), 2)] {
        let alone = bits(&model.embed_ids(&ids, &never).unwrap());
        let run = || assert_eq!(bits(&model.embed_ids(&ids, &never).unwrap()), alone);
        model.threads.for_text(|_| thread::scope(|scope| drop(scope.spawn(run))));
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(run))));
    }
}

#[test]
fn run_refuses_tokens_that_the_model_does_not_have() {
    for ids in [&[][..], &[101; MAX_TOKENS + 1], &[101, -1], &[101, 30_522]] {
        for model in [model(2), &fast(Machine::detect(), 2)] {
            let error = model.embed_ids(ids, &CancelToken::default()).unwrap_err().to_string();
            let expected = format!("the model: expected 1 to 512 tokens below 30522, got {ids:?}");
            assert_eq!(error, expected);
        }
    }
}

/// A kernel whose tasks call a function.
struct Calls<F>(F);

impl<F: Fn(usize) + Sync> Kernel for Calls<F> {
    fn tasks(&self) -> usize {
        100
    }

    unsafe fn run_task<S: pulp::Simd>(&self, _: S, task: usize) {
        (self.0)(task);
    }
}

#[test]
fn run_ends_a_cancelled_text_before_the_next_operation() {
    let cancel = CancelToken::default();
    let runner = Runner { team: &Team::alone(), cancel: &cancel };
    assert_eq!(runner.run(Calls(|_| cancel.cancel())), Ok(()));
    let next = runner.run(Calls(|_| panic!("another operation")));
    assert_eq!(next, Err(EmbedError::Cancelled));
    for threads in [1, 2] {
        assert_eq!(model(threads).embed_ids(&tokens(8), &cancel), Err(EmbedError::Cancelled));
    }
}

#[test]
fn run_fails_a_text_when_a_task_panics() {
    let cancel = CancelToken::default();
    for threads in [1, 2] {
        let failed = TextThreads::new(threads).for_text(|team| {
            let runner = Runner { team, cancel: &cancel };
            runner.run(Calls(|task| assert_ne!(task, 41)))
        });
        assert_eq!(failed, Err(EmbedError::Model("a task of its computation panicked".into())));
    }
}
