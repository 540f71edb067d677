//! The encoder against ONNX Runtime, which runs the same graph.

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use knowledgepulse_test_support::package_folder;

use super::*;
use crate::{BackendKind, ModelSettings, backend::onnx::OnnxModel};

/// The package of this machine.
static PACKAGE: LazyLock<PathBuf> = LazyLock::new(package_folder);

static FILES: LazyLock<Arc<ModelFiles>> =
    LazyLock::new(|| Arc::new(ModelFiles::open(&PACKAGE.join("model")).expect("a manifest")));

/// The model on so many threads.
fn model(threads: usize) -> &'static NativeModel {
    static MODELS: LazyLock<[NativeModel; 3]> =
        LazyLock::new(|| [1, 2, 3].map(|threads| NativeModel::load(&FILES, threads).unwrap()));
    &MODELS[threads - 1]
}

/// So many tokens that hardly repeat.
fn tokens(count: usize) -> Vec<i64> {
    (0..count).map(|at| (at * at * 7919 + count * 31) as i64 % VOCABULARY as i64).collect()
}

fn bits(embedding: &Embedding) -> Vec<u32> {
    embedding.iter().map(|x| x.to_bits()).collect()
}

#[test]
#[cfg_attr(target_env = "musl", ignore = "there is no ONNX Runtime")]
fn run_gives_the_bits_of_onnx_runtime() {
    let settings = ModelSettings { backend: BackendKind::Onnx, ..ModelSettings::beside(&PACKAGE) };
    let onnx = OnnxModel::load(FILES.clone(), &settings).unwrap();
    let never = CancelToken::default();
    let short = [1, 2, 3, 7, 8, 9, 17, 33, 48, 49].map(|count| (count, &[1, 2, 3][..]));
    let long = [97, 200, 512].map(|count| (count, &[3][..]));
    for (count, threads) in short.into_iter().chain(long) {
        let ids = tokens(count);
        let expected = bits(&onnx.run(&ids, true, &never).unwrap());
        for threads in threads {
            let found = bits(&model(*threads).run(&ids, true, &never).unwrap());
            assert!(found == expected, "{count} tokens on {threads} threads");
        }
    }
}

#[test]
fn run_gives_the_same_bits_beside_other_texts() {
    let (never, ids) = (CancelToken::default(), tokens(49));
    let alone = bits(&model(2).run(&ids, true, &never).unwrap());
    assert_eq!(bits(&model(2).run(&ids, false, &never).unwrap()), alone);
}

#[test]
fn run_refuses_tokens_that_the_model_does_not_have() {
    for ids in [&[][..], &[101; MAX_TOKENS + 1], &[101, -1], &[101, 30_522]] {
        let error = model(2).run(ids, true, &CancelToken::default()).unwrap_err().to_string();
        let expected = format!("the model: expected 1 to 512 tokens below 30522, got {ids:?}");
        assert_eq!(error, expected);
    }
}

/// A kernel whose tasks call a function.
struct Calls<F>(F);

impl<F: Fn(usize) + Sync> Kernel for Calls<F> {
    fn tasks(&self) -> usize {
        100
    }

    fn operations(&self) -> usize {
        usize::MAX
    }

    unsafe fn run<S: pulp::Simd>(&self, _: S, task: usize) {
        (self.0)(task);
    }
}

#[test]
fn run_ends_a_cancelled_text_before_the_next_operation() {
    let cancel = CancelToken::default();
    let pass = Pass { is_spread: false, cancel: &cancel };
    assert_eq!(pass.run(&Calls(|_| cancel.cancel())), Ok(()));
    let next = pass.run(&Calls(|_| panic!("another operation")));
    assert_eq!(next, Err(EmbedError::Cancelled));
    for is_alone in [false, true] {
        let ended = model(2).run(&tokens(8), is_alone, &cancel);
        assert_eq!(ended, Err(EmbedError::Cancelled));
    }
}

#[test]
fn run_fails_a_text_when_a_task_panics() {
    let cancel = CancelToken::default();
    for is_spread in [false, true] {
        let pass = Pass { is_spread, cancel: &cancel };
        let run = || pass.run(&Calls(|task| assert_ne!(task, 41)));
        let failed = if is_spread { model(2).pool().unwrap().install(run) } else { run() };
        assert_eq!(failed, Err(EmbedError::Model("a task of its computation panicked".into())));
    }
}
