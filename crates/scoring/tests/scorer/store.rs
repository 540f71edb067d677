//! Scorers that share a store agree with one memory that has all changes in the order of the store.

use std::{
    num::NonZeroUsize,
    sync::{Arc, mpsc},
    time::Duration,
};

use knowledgepulse_scoring::{
    Error, Id, Novelty, Scorer, StoreFault,
    cache::CacheOptions,
    scorer::{
        Change, Found, Input, Outcome, Page, Query, ScorerOptions, StoreMemory, StoredEntry, Work,
    },
    snapshot::{self, Bytes},
};
use knowledgepulse_test_support::{FakeEmbedder, cache::NaiveCache};
use proptest::prelude::*;

use crate::{Answer, receive, says};

const BOUNDS: CacheOptions =
    CacheOptions { max_elements: 5, vector_len: 384, ttl: Some(Duration::from_millis(40)) };

fn scorer(required: bool) -> Arc<Scorer> {
    let options = ScorerOptions { cache: BOUNDS, ..ScorerOptions::default() };
    Scorer::with_store(options, required, None).expect("a scorer")
}

/// Of a trace of [`work`] whose novelty is two thirds: 0.2 · 0.5 for its confidence, and 0.3 of the novelty.
const THRESHOLD: f64 = 0.3;

/// What a call does with the trace whose text and id is a number, or with that id.
#[derive(Debug, Clone, Copy)]
enum Act {
    Score(usize),
    /// A score that adds each id once.
    Again(usize),
    Peek(usize),
    /// With [`THRESHOLD`].
    Decide(usize),
    Similar(usize),
    Remember(usize),
    Forget(usize),
    Clear,
    WarmUp,
    /// A score without an embedding.
    Fail,
}

fn work(act: Act) -> Work {
    let numbered = |number: usize| says(&number.to_string());
    match act {
        Act::Score(number) => Work::Score(numbered(number)),
        Act::Again(number) => Work::Score(Input { before_own: true, ..numbered(number) }),
        Act::Peek(number) => Work::Peek(numbered(number)),
        Act::Decide(number) => Work::Decide(numbered(number), THRESHOLD),
        Act::Similar(number) => {
            let k = NonZeroUsize::new(3).expect("not 0");
            Work::Similar(Query { text: number.to_string().into(), k, at_least: 0.1 })
        }
        Act::Remember(number) => Work::Remember(numbered(number)),
        Act::Forget(number) => Work::Forget(Id::new(number.to_string())),
        Act::Clear => Work::Clear,
        Act::WarmUp => Work::WarmUp,
        Act::Fail => Work::Score(says("fail")),
    }
}

fn submit(scorer: &Arc<Scorer>, acts: &[Act]) -> mpsc::Receiver<(usize, Answer)> {
    crate::submit_all(scorer, &FakeEmbedder::new(), acts.iter().map(|act| work(*act)))
}

fn memory(scorer: &Scorer) -> &StoreMemory {
    scorer.store_memory().expect("a scorer with a store")
}

fn next_batch(scorer: &Scorer) -> Vec<Option<Change>> {
    let (sender, receiver) = mpsc::channel();
    let taker = Box::new(move |batch| sender.send(batch).expect("a receiver"));
    if memory(scorer).next_batch(64, taker) {
        assert!(receiver.try_recv().is_err(), "not on the thread that asks");
        memory(scorer).hand_over();
    }
    receive(&receiver)
}

/// Waits until all calls have been embedded, so that they come in one batch.
fn whole_batch(scorer: &Scorer, count: usize) -> Vec<Option<Change>> {
    let mut batch = Vec::new();
    while batch.is_empty() && count > 0 && scorer.statistics().pending() > 0 {
        batch = next_batch(scorer);
    }
    batch
}

#[derive(Default)]
struct Store {
    entries: Vec<StoredEntry>,
    now: Duration,
}

impl Store {
    /// Appends what a batch asks for; returns the number of each entry.
    fn append(&mut self, batch: &[Option<Change>]) -> Vec<Option<u64>> {
        let append = |change: &Option<Change>| {
            let Some(change) = change else { return None };
            let seq = self.entries.last().map_or(0, |last| last.seq) + 1;
            self.entries.push(StoredEntry {
                seq,
                at: self.now,
                call: call(seq),
                change: change.clone(),
                own: None,
            });
            Some(seq)
        };
        batch.iter().map(append).collect()
    }

    /// What follows an entry, in pages; those of `own` come without their vectors.
    fn pages(&self, after: u64, own: &[Option<u64>], limit: usize) -> Vec<Page> {
        let reset = after == 0 || self.entries.first().is_none_or(|oldest| after + 1 < oldest.seq);
        let mut rest = self.entries.clone();
        rest.retain(|entry| reset || entry.seq > after);
        for entry in &mut rest {
            entry.own = own.iter().position(|seq| *seq == Some(entry.seq));
            if let (Some(_), Change::Add { vector, .. }) = (entry.own, &mut entry.change) {
                *vector = None;
            }
        }
        let head = self.entries.last().map_or(0, |newest| newest.seq);
        let first = self.entries.first().map_or(1, |oldest| oldest.seq);
        let mut pages: Vec<_> = rest.chunks(limit).map(|entries| page(entries.to_vec())).collect();
        if pages.is_empty() {
            pages.push(Page::default());
        }
        for (index, page) in pages.iter_mut().enumerate() {
            (page.reset, page.head, page.first) = (reset && index == 0, head, first);
        }
        pages
    }
}

/// A page at the end of a store, to which these entries were added.
fn page(entries: Vec<StoredEntry>) -> Page {
    let head = entries.last().map_or(0, |newest| newest.seq);
    Page { entries, head, first: 1, ..Page::default() }
}

/// The first page of a store.
fn first_page(entries: Vec<StoredEntry>) -> Page {
    Page { reset: true, ..page(entries) }
}

fn act() -> impl Strategy<Value = Act> {
    let number = || 0..6usize;
    prop_oneof![
        8 => number().prop_map(Act::Score),
        8 => number().prop_map(Act::Again),
        3 => number().prop_map(Act::Peek),
        6 => number().prop_map(Act::Decide),
        2 => number().prop_map(Act::Similar),
        2 => number().prop_map(Act::Remember),
        2 => number().prop_map(Act::Forget),
        1 => Just(Act::Clear),
        1 => Just(Act::WarmUp),
        1 => Just(Act::Fail),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn apply_answers_as_one_memory_in_the_order_of_the_store(
        steps in prop::collection::vec(
            (0..3usize, prop::collection::vec(act(), 1..5), 0..20u64, 1..4usize, any::<bool>()),
            1..25,
        ),
    ) {
        let scorers = [scorer(false), scorer(false), scorer(true)];
        let mut known = [0; 3];
        let mut store = Store::default();
        let mut naive = NaiveCache::new(BOUNDS);
        for (who, acts, pause, limit, trims) in steps {
            store.now += Duration::from_millis(pause);
            let mut place = store.entries.last().map_or(0, |last| last.seq);
            let answers = submit(&scorers[who], &acts);
            let mut keep = Duration::ZERO;
            while scorers[who].statistics().pending() > 0 {
                let batch = whole_batch(&scorers[who], acts.len());
                let own = store.append(&batch);
                for page in store.pages(known[who], &own, limit) {
                    known[who] = page.entries.last().map_or(known[who], |last| last.seq);
                    keep = memory(&scorers[who]).apply(page).expect("a page");
                }
                memory(&scorers[who]).finish_batch(store.now);
            }
            for (expected, act) in acts.iter().enumerate() {
                let (index, answer) = receive(&answers);
                prop_assert_eq!(index, expected, "answered out of order");
                place += check(*act, answer, place, &mut naive, store.now);
            }
            if trims {
                let last = store.entries.last().map(|last| last.seq);
                store.entries.retain(|entry| entry.at >= keep || Some(entry.seq) == last);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn finish_batch_changes_nothing_whatever_its_clock(
        steps in prop::collection::vec((0..8usize, 0..4usize, any::<bool>(), 0..15_000u64), 1..60),
    ) {
        let cache = CacheOptions { ttl: Some(Duration::from_secs(30)), ..BOUNDS };
        let options = ScorerOptions { cache, ..ScorerOptions::default() };
        let scorers: [_; 8] = std::array::from_fn(|_| {
            Scorer::with_store(options.clone(), true, None).expect("a scorer")
        });
        let (mut known, mut naive) = ([0; 8], NaiveCache::new(cache));
        let mut store = Store { now: Duration::from_secs(3_600), ..Store::default() };
        for (who, number, is_added, pause) in steps {
            store.now += Duration::from_millis(pause);
            let act = if is_added { Act::Score(number) } else { Act::Peek(number) };
            let answers = submit(&scorers[who], &[act]);
            let own = store.append(&whole_batch(&scorers[who], 1));
            catch_up(&scorers[who], &mut known[who], &store, &own);
            // From a minute behind to a minute ahead of the store.
            let ahead = Duration::from_secs(120) * who as u32 / 7;
            let clock = (store.now + ahead).saturating_sub(Duration::from_secs(60));
            memory(&scorers[who]).finish_batch(clock);
            let (_, answer) = receive(&answers);
            if is_added {
                check(act, answer, store.entries.len() as u64 - 1, &mut naive, store.now);
            }
        }
        let snapshots = std::array::from_fn::<_, 8, _>(|who| {
            catch_up(&scorers[who], &mut known[who], &store, &[]);
            scorers[who].snapshot("fake").encode()
        });
        prop_assert!(snapshots.iter().all(|snapshot| *snapshot == snapshots[0]));
    }
}

/// Applies all pages after an entry.
fn catch_up(scorer: &Scorer, known: &mut u64, store: &Store, own: &[Option<u64>]) {
    for page in store.pages(*known, own, 64) {
        *known = page.entries.last().map_or(*known, |last| last.seq);
        memory(scorer).apply(page).expect("a page");
    }
}

/// Compares an answer with what a naive cache says, which then has the change as well. Returns how many entries
/// the call has appended after `seq`.
fn check(act: Act, answer: Answer, seq: u64, naive: &mut NaiveCache, now: Duration) -> u64 {
    let vector = |number| FakeEmbedder::vector(number);
    let id = |number: usize| Id::new(number.to_string());
    match (act, answer.expect("an answer")) {
        (
            Act::Score(number) | Act::Again(number) | Act::Peek(number) | Act::Decide(number),
            Outcome::Scored(report),
        ) => {
            let (mut nearest, mut is_known) = (naive.nearest(&vector(number), now), false);
            if let (Act::Again(_), Some(id)) = (act, id(number)) {
                (nearest, is_known) = naive.nearest_before(&id, &vector(number), now);
            }
            assert_eq!(report.is_known, is_known);
            let is_added = match act {
                Act::Decide(_) => report.score.value >= THRESHOLD,
                Act::Again(_) => !is_known,
                _ => matches!(act, Act::Score(_)),
            };
            let Novelty::Store { seq: at, .. } = report.score.novelty else { panic!("{report:?}") };
            // A score is as of its own entry, but that of the one before if it depends on that whether there is one.
            let seq = match act {
                Act::Again(_) if is_added && at == seq => at,
                _ => seq + u64::from(matches!(act, Act::Score(_) | Act::Again(_)) && is_added),
            };
            assert_eq!(report.score.novelty, Novelty::Store { seq, nearest }, "{act:?}");
            if is_added {
                naive.add(&vector(number), id(number), now);
            }
            return is_added.into();
        }
        (Act::Similar(number), Outcome::Found(found)) => {
            let expected = naive.similar(&vector(number), 3, 0.1, now);
            let found_at = |(nearest, age)| Found { nearest, added_at: now.saturating_sub(age) };
            let expected = expected.into_iter().map(found_at);
            assert_eq!(found, expected.collect::<Vec<_>>());
            return 0;
        }
        (Act::Remember(number), Outcome::Remembered) => {
            naive.add(&vector(number), id(number), now);
        }
        (Act::Forget(number), Outcome::Removed(removed)) => {
            assert_eq!(removed, naive.remove(&number.to_string(), now));
        }
        (Act::Clear, Outcome::Removed(removed)) => {
            assert_eq!(removed, naive.entries(now).len());
            naive.clear();
        }
        (Act::WarmUp, Outcome::WarmedUp(Ok(()))) => return 0,
        (Act::Fail, Outcome::Scored(report)) => {
            assert!(matches!(report.score.novelty, Novelty::NoEmbedder(_)), "{report:?}");
            return 0;
        }
        (act, outcome) => panic!("{act:?}: {outcome:?}"),
    }
    1
}

fn call(seq: u64) -> Box<str> {
    format!("call {seq}").into()
}

fn entry(seq: u64, milliseconds: u64, vector: Option<Box<[f32]>>) -> StoredEntry {
    let change = Change::Add { id: None, vector };
    StoredEntry { seq, at: Duration::from_millis(milliseconds), call: call(seq), change, own: None }
}

#[test]
fn apply_refuses_what_cannot_follow_and_changes_nothing() {
    let scorer = scorer(false);
    let vector = || Some(FakeEmbedder::vector(1));
    memory(&scorer)
        .apply(first_page(vec![entry(1, 10, vector()), entry(2, 10, vector())]))
        .expect("a page");
    let mut infinite = FakeEmbedder::vector(1);
    infinite[7] = f32::NAN;
    let owned = |own| StoredEntry { own: Some(own), ..entry(3, 10, None) };
    for (entries, message) in [
        (vec![entry(4, 10, vector())], "entry 4 of the store: expected entry 3"),
        (vec![entry(2, 10, vector())], "entry 2 of the store: expected entry 3"),
        (vec![entry(3, 10, vector()), entry(5, 10, vector())], "entry 5 of the store: expected"),
        (vec![entry(3, 9, vector())], "expected a time not before the previous entry's"),
        (vec![entry(3, 10, Some(Box::new([1.0])))], "expected 384 numbers, got 1"),
        (vec![entry(3, 10, Some(infinite))], "expected a vector of length 1, got one of NaN"),
        (vec![entry(3, 10, None)], "expected a vector, or an id that was forgotten later"),
        // Their calls are not waiting for them.
        (vec![owned(0)], "expected a vector, or an id that was forgotten later"),
        (vec![owned(usize::MAX)], "expected a vector, or an id that was forgotten later"),
    ] {
        let error = memory(&scorer).apply(page(entries)).expect_err(message);
        assert_eq!(error.code(), "INVALID_STORE");
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(scorer.cache_len(), 2);
    }
    let other = Page { epoch: "other".into(), ..page(vec![entry(3, 10, vector())]) };
    let short = Page { head: 2, ..page(vec![entry(3, 10, vector())]) };
    let lost = Page { head: 3, ..page(vec![]) };
    let late = Page { first: 2, ..first_page(vec![entry(3, 10, vector())]) };
    for (page, message) in [
        (other, "the store continues in another epoch, other"),
        (short, "the store has no entry after 3, and its head is 2"),
        (lost, "the store has no entry after 2, and its head is 3"),
        (late, "entry 3 of the store: expected entry 2"),
    ] {
        let error = memory(&scorer).apply(page).expect_err(message);
        assert_eq!((error.code(), error.to_string().as_str()), ("INVALID_STORE", message));
        assert_eq!(scorer.cache_len(), 2);
    }
    memory(&scorer).apply(page(vec![entry(3, 10, vector())])).expect("the next page");
    let last = first_page(vec![entry(u64::MAX, 0, vector())]);
    memory(&scorer).apply(Page { first: u64::MAX, ..last }).expect("another store");
    let error =
        memory(&scorer).apply(page(vec![entry(u64::MAX, 0, vector())])).expect_err("no next entry");
    assert_eq!(error.code(), "INVALID_STORE");
}

#[test]
fn apply_refuses_a_page_that_does_not_fit_the_calls_that_wait() {
    let own = |seq| StoredEntry { own: Some(0), ..entry(seq, 0, None) };
    for (act, entries, message) in [
        (
            Act::Forget(1),
            vec![own(1)],
            "entry 1 of the store: not the change that its call requested",
        ),
        (
            // It only asks for its novelty yet.
            Act::Decide(1),
            vec![own(1)],
            "entry 1 of the store: not the change that its call requested",
        ),
        (
            Act::Score(1),
            vec![own(1), own(2)],
            "entry 2 of the store: its call is in the page twice",
        ),
    ] {
        let scorer = scorer(false);
        let answers = submit(&scorer, &[act]);
        assert_eq!(next_batch(&scorer).len(), 1);
        let error = memory(&scorer).apply(first_page(entries)).expect_err(message);
        assert_eq!((error.code(), error.to_string().as_str()), ("INVALID_STORE", message));
        assert_eq!(scorer.cache_len(), 0);
        memory(&scorer).fail_batch(&error);
        assert_eq!(receive(&answers), (0, Err(error)));
    }
}

#[test]
fn next_batch_has_vectors_of_length_1_whatever_those_of_the_model() {
    let (scorer, other) = (scorer(true), scorer(true));
    let mut store = Store::default();
    for expected in [None, Some(1.0)] {
        let score = Work::Score(says("long 1"));
        let answers = crate::submit_all(&scorer, &FakeEmbedder::new(), [score]);
        let own = store.append(&next_batch(&scorer));
        for (scorer, own) in [(&scorer, &own[..]), (&other, &[])] {
            let page = store.pages(0, own, 10).remove(0);
            memory(scorer).apply(page).expect("a page");
        }
        let Ok(Outcome::Scored(report)) = receive(&answers).1 else { panic!("no score") };
        assert_eq!(report.score.novelty.nearest().map(|it| it.similarity), expected);
    }
    let embed = Work::Embed("long 1".into());
    let answers = crate::submit_all(&scorer, &FakeEmbedder::new(), [embed]);
    assert!(whole_batch(&scorer, 1).is_empty());
    let expected = FakeEmbedder::vector(1).iter().map(|number| number * 3.0).collect();
    assert_eq!(receive(&answers).1, Ok(Outcome::Embedded(expected)));
}

#[test]
fn apply_does_not_compare_with_what_was_erased_before_it_was_read() {
    for required in [false, true] {
        let scorer = scorer(required);
        let answers = submit(&scorer, &[Act::Score(1)]);
        assert_eq!(next_batch(&scorer).len(), 1);
        let erased = StoredEntry {
            change: Change::Add { id: Id::new("x"), vector: None },
            ..entry(1, 0, None)
        };
        let own = StoredEntry { own: Some(0), ..entry(2, 0, None) };
        let known = Page { head: 3, ..first_page(vec![erased, own]) };
        memory(&scorer).apply(known).expect("a page");
        let (_, answer) = receive(&answers);
        match answer {
            Ok(Outcome::Scored(report)) if !required => {
                assert!(matches!(report.score.novelty, Novelty::NoStore(_)), "{report:?}");
            }
            Err(error) if required => assert_eq!(error.code(), "STORE_UNAVAILABLE"),
            other => panic!("{other:?}"),
        }
        let error =
            memory(&scorer).apply(Page { head: 2, ..page(vec![]) }).expect_err("not forgotten");
        assert_eq!(error.code(), "INVALID_STORE");
        let change = Change::Forget(Id::new("x"));
        let forgotten = StoredEntry { change, ..entry(3, 0, None) };
        memory(&scorer).apply(page(vec![forgotten])).expect("all is forgotten");
        scorer.close();
    }
}

#[test]
fn fail_batch_leaves_scores_neutral_unless_the_store_is_required() {
    let unavailable = Error::store(StoreFault::Unavailable, "no route");
    let mismatch = Error::store(StoreFault::Mismatch, "another model");
    for (required, error, scores) in [
        (false, &unavailable, true),
        (true, &unavailable, false),
        (false, &mismatch, false),
        (true, &mismatch, false),
    ] {
        let scorer = scorer(required);
        let scoring = |act| matches!(act, Act::Score(_) | Act::Peek(_) | Act::Decide(_));
        let others = [Act::Similar(1), Act::Remember(1), Act::Forget(1), Act::Clear];
        for act in [Act::Score(1), Act::Peek(1), Act::Decide(1)].into_iter().chain(others) {
            let answers = submit(&scorer, &[act]);
            assert_eq!(next_batch(&scorer).len(), 1);
            memory(&scorer).fail_batch(error);
            match receive(&answers).1 {
                Ok(Outcome::Scored(report)) => {
                    assert!(scores && scoring(act));
                    let reason = "no route".into();
                    assert_eq!(report.score.novelty, Novelty::NoStore(reason));
                    assert!((report.score.dimensions.novelty - 0.5).abs() < f64::EPSILON);
                }
                Err(answer) => {
                    assert_eq!(answer, *error);
                    assert!(!scores || !scoring(act), "{act:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(scorer.statistics().pending(), 0);
    }
}

#[test]
fn set_vector_len_begins_anew_after_a_snapshot_with_another_length() {
    let cache = CacheOptions { vector_len: 383, ..BOUNDS };
    let options = ScorerOptions { cache, ..ScorerOptions::default() };
    let short = Scorer::with_store(options, true, None).expect("a scorer");
    let vector: Box<[f32]> = (0..383).map(|at| if at == 0 { 1.0 } else { 0.0 }).collect();
    let page = first_page(vec![entry(1, 10, Some(vector))]);
    memory(&short).apply(page).expect("a page");
    let bytes = short.snapshot("fake").encode();
    let bytes = Bytes::copy("a snapshot", &bytes).expect("enough memory");
    let snapshot = snapshot::decode("a snapshot", bytes, ("fake", None)).expect("valid");
    let options = ScorerOptions { cache: BOUNDS, ..ScorerOptions::default() };
    let scorer = Scorer::with_store(options, true, Some(snapshot)).expect("a scorer");
    assert!(memory(&scorer).position().is_some());
    memory(&scorer).set_vector_len(384);
    assert_eq!((memory(&scorer).position(), scorer.cache_len()), (None, 0));
    let page = first_page(vec![entry(1, 10, Some(FakeEmbedder::vector(1)))]);
    memory(&scorer).apply(page).expect("a page");
    assert_eq!(scorer.cache_len(), 1);
}

#[test]
fn close_ends_calls_that_wait_for_the_store() {
    let scorer = scorer(false);
    let answers = submit(&scorer, &[Act::Score(1), Act::Score(2), Act::Peek(3)]);
    assert!(!next_batch(&scorer).is_empty());
    scorer.close();
    let mut codes: Vec<_> =
        (0..3).map(|_| receive(&answers).1.expect_err("closed").code()).collect();
    codes.dedup();
    assert_eq!(codes, ["CLOSED"]);
    assert_eq!(memory(&scorer).apply(Page::default()).expect_err("closed").code(), "CLOSED");
    assert!(next_batch(&scorer).is_empty());
}

#[test]
fn next_batch_waits_for_a_call_or_for_the_end_of_the_wait() {
    let scorer = scorer(false);
    let (sender, batches) = mpsc::channel();
    let wait = || {
        let sender = sender.clone();
        let taker = Box::new(move |batch| sender.send(batch).expect("sent"));
        assert!(!memory(&scorer).next_batch(64, taker));
        assert!(batches.try_recv().is_err(), "there is no call");
    };
    wait();
    memory(&scorer).end_wait();
    assert!(receive(&batches).is_empty());
    memory(&scorer).end_wait();
    wait();
    let _answers = submit(&scorer, &[Act::Score(1)]);
    assert_eq!(receive(&batches).len(), 1);
    memory(&scorer).end_wait();
    assert!(batches.try_recv().is_err(), "nothing waits");
}

#[test]
fn abort_ends_a_call_whose_entry_stays_in_the_store() {
    let scorer = scorer(false);
    let embedder = FakeEmbedder::new();
    let (call, answer) = crate::submit(&scorer, &embedder, work(Act::Score(1)));
    assert_eq!(next_batch(&scorer).len(), 1);
    assert!(call.abort());
    assert_eq!(receive(&answer).expect_err("aborted").code(), "ABORTED");
    let own = StoredEntry { own: Some(0), ..entry(1, 0, None) };
    memory(&scorer).apply(first_page(vec![own])).expect("a page");
    assert_eq!(scorer.cache_len(), 1);

    // Before it was sent, it leaves no mark.
    let (call, _) = crate::submit(&scorer, &embedder, work(Act::Score(2)));
    call.abort();
    assert!(next_batch(&scorer).is_empty());
}
