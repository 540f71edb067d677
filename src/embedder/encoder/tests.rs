//! The encoder against ONNX Runtime, which runs the same graph.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use super::*;
use crate::embedder::{Precision, library_file_name, runtime, session::ModelSession};

/// The package of this machine.
static PACKAGE: LazyLock<PathBuf> = LazyLock::new(|| {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("npm");
    let mut folders = fs::read_dir(packages).expect("npm/").flatten().map(|folder| folder.path());
    folders
        .find(|folder| folder.join("model/manifest.json").exists())
        .expect("a model in npm/: `node scripts/prepare.mjs` builds it")
});

static FILES: LazyLock<Arc<ModelFiles>> =
    LazyLock::new(|| Arc::new(ModelFiles::open(&PACKAGE.join("model")).expect("a manifest")));

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| Encoder::load(&FILES).expect("an encoder"));

/// So many tokens that hardly repeat.
fn tokens(count: usize) -> Vec<i64> {
    (0..count).map(|at| (at * at * 7919 + count * 31) as i64 % VOCABULARY as i64).collect()
}

fn bits(embedding: &Embedding) -> Vec<u32> {
    embedding.iter().map(|x| x.to_bits()).collect()
}

#[test]
#[cfg_attr(target_env = "musl", ignore = "there is no ONNX Runtime")]
fn every_bit_is_that_of_onnx_runtime() {
    let environment = runtime::environment(&PACKAGE.join(library_file_name())).unwrap();
    let session = ModelSession::load(environment, FILES.clone(), Precision::Exact, 2).unwrap();
    let never = CancelToken::default();
    let short = [1, 2, 3, 7, 8, 9, 17, 33, 48, 49].map(|count| (count, &[1, 2, 3][..]));
    let long = [97, 200, 512].map(|count| (count, &[3][..]));
    for (count, threads) in short.into_iter().chain(long) {
        let ids = tokens(count);
        let expected = bits(&session.run(&ids, true, &never).unwrap());
        for threads in threads {
            let found = bits(&ENCODER.run(&ids, *threads, &never).unwrap());
            assert!(found == expected, "{count} tokens on {threads} threads");
        }
    }
}

#[test]
fn tokens_that_it_does_not_know_are_an_error() {
    for (ids, expected) in [
        (&[][..], "the model: expected 1 to 512 tokens, got 0"),
        (&[101; MAX_TOKENS + 1], "the model: expected 1 to 512 tokens, got 513"),
        (&[101, -1], "the model: expected tokens from 0 to 30521, got -1"),
        (&[101, 30_522], "the model: expected tokens from 0 to 30521, got 30522"),
    ] {
        let error = ENCODER.run(ids, 2, &CancelToken::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_cancelled_text_ends_before_the_next_operation() {
    let cancel = CancelToken::default();
    Team::with(2, |team| {
        let pass = Pass { team, cancel: &cancel };
        assert_eq!(pass.parallel(4, usize::MAX, |_| cancel.cancel()), Ok(()));
        for operations in [0, usize::MAX] {
            let next = pass.parallel(4, operations, |_| panic!("another operation"));
            assert_eq!(next, Err(EmbedError::Cancelled));
        }
    });
    for threads in [1, 2] {
        assert_eq!(ENCODER.run(&tokens(8), threads, &cancel), Err(EmbedError::Cancelled));
    }
}

#[test]
fn a_task_that_panics_fails_its_text() {
    let cancel = CancelToken::default();
    for threads in [1, 2] {
        let failed = Team::with(threads, |team| {
            let pass = Pass { team, cancel: &cancel };
            pass.parallel(100, usize::MAX, |task| assert_ne!(task, 41))
        });
        assert_eq!(failed, Err(EmbedError::Model("a task of its computation panicked".into())));
    }
}
