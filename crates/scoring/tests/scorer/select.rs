//! Sets of traces against a naive choice.

use std::{
    iter,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use knowledgepulse_scoring::{
    Error, Profiles,
    embed::Embedded,
    select::{Candidate, Limits, Selected, Selection},
};
use knowledgepulse_test_support::{input, repeats, trace};
use serde_json::json;

/// Vectors to select from.
#[derive(Debug, Default)]
struct Set {
    runs: Vec<Vec<f64>>,
    count: usize,
    weights: Vec<f64>,
    /// How many each stands for, and how much it covers; 1 without.
    counts: Vec<(u32, f64)>,
    before: Vec<Vec<f64>>,
    groups: Option<Vec<u32>>,
    per_group: Option<usize>,
}

#[derive(Debug)]
struct Chosen {
    index: usize,
    coverage: f64,
    stands_for: u64,
}

fn candidate(id: &str, vector: Option<&[f64]>) -> Candidate {
    let embedding = vector.map(|vector| vector.iter().map(|x| *x as f32).collect());
    let embedded = embedding.map(|embedding| Embedded { embedding, ..Embedded::default() });
    let trace = input(&trace(json!({ "id": id }))).trace;
    Candidate::new(trace, embedded.ok_or_else(|| Error::embedder_unavailable("none")), None)
}

fn similarity(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>().max(0.0).powi(3)
}

impl Set {
    fn selection(&self, coverage: f64) -> Selection {
        let (count, per_group) = (self.count, self.per_group.unwrap_or(usize::MAX));
        let limits = Limits { count, coverage, per_group };
        let mut selection = Selection::new(limits, Profiles::default());
        for vector in &self.before {
            selection.add_before(candidate("before", Some(vector)));
        }
        for (index, (vector, weight)) in self.runs.iter().zip(&self.weights).enumerate() {
            let group = self.groups.as_ref().map(|groups| groups[index]);
            let one = candidate(&index.to_string(), Some(vector));
            let (number, covers) = self.stands_for(index);
            selection.add(one.with(group, *weight < 1.0, number, covers));
        }
        selection
    }

    fn stands_for(&self, index: usize) -> (u32, f64) {
        self.counts.get(index).copied().unwrap_or((1, 1.0))
    }

    /// Selects by computing everything again for each choice.
    fn naive(&self) -> Vec<Chosen> {
        let all: Vec<_> = (0..self.runs.len()).collect();
        let value = |i: usize, j: usize| self.weights[j] * similarity(&self.runs[i], &self.runs[j]);
        let old = |i: usize| self.before.iter().map(move |old| similarity(&self.runs[i], old));
        let mut cover: Vec<_> = all.iter().map(|i| (old(*i).fold(0.0, f64::max), None)).collect();
        let greatest = |i: &usize| all.iter().map(|j| value(*i, *j)).fold(cover[*i].0, f64::max);
        let times = |i: &usize| self.stands_for(*i).1;
        let most: f64 = all.iter().map(|i| times(i) * greatest(i)).sum();
        let mut chosen: Vec<Chosen> = Vec::new();
        while chosen.len() < self.count {
            let group = |j: usize| self.groups.as_ref().map(|groups| &groups[j]);
            let is_open = |j: &&usize| {
                let same = chosen.iter().filter(|it| group(it.index) == group(**j)).count();
                chosen.iter().all(|it| it.index != **j)
                    && self.per_group.is_none_or(|most| same < most)
            };
            let gain = |j: usize| {
                let more = |i: &usize| Some(value(*i, j) - cover[*i].0).filter(|x| *x > 1e-12);
                all.iter().map(|i| times(i) * more(i).unwrap_or(0.0)).sum::<f64>()
            };
            let gains: Vec<_> = all.iter().filter(is_open).map(|j| (gain(*j), *j)).collect();
            let top = gains.iter().map(|(gain, _)| *gain).fold(0.0, f64::max);
            let is_best = |(gain, _): &&(f64, usize)| *gain > 0.0 && *gain >= top * (1.0 - 1e-12);
            let Some(&(_, index)) = gains.iter().find(is_best) else { break };
            for i in &all {
                if value(*i, index) > cover[*i].0 {
                    cover[*i] = (value(*i, index), Some(index));
                }
            }
            let covered: f64 = all.iter().map(|i| times(i) * cover[*i].0).sum();
            chosen.push(Chosen { index, coverage: covered / most, stands_for: 0 });
        }
        for it in &mut chosen {
            let own = all.iter().filter(|i| cover[**i].1 == Some(it.index));
            it.stands_for = own.map(|i| u64::from(self.stands_for(*i).0)).sum();
        }
        chosen
    }
}

fn selected(mut selection: Selection) -> Vec<Selected> {
    loop {
        selection.advance(&|| Ok(())).expect("nothing ends it");
        if let Some(selected) = selection.selected() {
            return selected;
        }
    }
}

#[track_caller]
fn assert_same(set: &Set, found: &[Selected], expected: &[Chosen], what: &str) {
    let shown = |it: &Selected| (it.index, it.stands_for);
    let found_sets: Vec<_> = found.iter().map(shown).collect();
    let sets: Vec<_> = expected.iter().map(|it| (it.index, it.stands_for)).collect();
    assert_eq!(found_sets, sets, "{what}: {set:?}");
    for (found, expected) in found.iter().zip(expected) {
        let [found, expected] = [found.coverage, expected.coverage];
        assert!((found - expected).abs() < 1e-5, "{what}: {found} for {expected}");
    }
}

/// Draws numbers in \[0, 1): SplitMix64.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() * end as f64) as usize
    }

    /// About normal.
    fn vector(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| (0..6).map(|_| self.next() - 0.5).sum()).collect()
    }

    /// Vectors of length 1 around some centres; some are equal, and some are zeros.
    fn set(&mut self) -> Set {
        let longest = [6, 20, 80][self.below(3)];
        let (length, count) = (1 + self.below(longest), self.below(40));
        let centres: Vec<_> = (0..=self.below(9)).map(|_| self.vector(length)).collect();
        let (spread, failed) = (self.next() * 1.5, self.next());
        let mut vectors: Vec<Vec<f64>> = Vec::new();
        for index in 0..count {
            let (centre, noise) = (&centres[self.below(centres.len())], self.vector(length));
            let vector: Vec<_> = centre.iter().zip(noise).map(|(x, y)| x + spread * y).collect();
            vectors.push(match self.below(12) {
                0 => vec![0.0; length],
                1 if index > 0 => vectors[self.below(index)].clone(),
                _ => unit(vector),
            });
        }
        let before = vectors.split_off(count - self.below(8).min(count));
        let runs = vectors;
        let per_group = Some(1 + self.below(3)).filter(|_| self.below(3) == 0);
        Set {
            count: 1 + self.below(15),
            weights: runs.iter().map(|_| if self.next() < failed { 0.5 } else { 1.0 }).collect(),
            counts: Vec::new(),
            groups: per_group.map(|_| runs.iter().map(|_| self.below(9) as u32).collect()),
            runs,
            before,
            per_group,
        }
    }
}

fn unit(vector: Vec<f64>) -> Vec<f64> {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.into_iter().map(|x| f64::from((x / norm) as f32)).collect()
}

fn drawn_sets() -> Vec<Set> {
    let mut draws = Draws(2026);
    (0..repeats(1000)).map(|_| draws.set()).collect()
}

#[test]
fn selection_is_that_of_computing_everything_again() {
    let mut draws = Draws(61);
    for mut set in drawn_sets() {
        assert_same(&set, &selected(set.selection(f64::INFINITY)), &set.naive(), "naive");
        let ranges = [(0.0, 9.0), (0.0, 1e9), (16_384.0, 16_385.0), (0.0, 1e-13)];
        let (least, most) = ranges[draws.below(4)];
        let mut covers = || least + (most - least) * (1.0 - draws.next().powi(8));
        set.counts = set.runs.iter().map(|at| (1 + at.len() as u32, covers())).collect();
        assert_same(&set, &selected(set.selection(f64::INFINITY)), &set.naive(), "of parts");
    }
}

#[test]
fn selection_of_very_many_is_measured_over_some_of_each_kind() {
    let mut draws = Draws(7);
    let mut few = Set { count: 3, weights: vec![1.0; 150], ..Set::default() };
    few.runs = (0..150).map(|_| [draws.vector(3), vec![0.0; 9]].concat()).collect();
    for (at, run) in few.runs.iter_mut().enumerate() {
        run[3 + at % 3] = 2.0;
        *run = unit(run.clone());
    }
    let runs: Vec<_> = few.runs.iter().cycle().take(20_001).cloned().collect();
    let many = Set { count: 3, weights: vec![1.0; runs.len()], runs, ..Set::default() };
    let found = selected(many.selection(f64::INFINITY));
    let mut kinds: Vec<_> = found.iter().map(|it| it.index % 3).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [0, 1, 2]);
    for (found, expected) in found.iter().zip(few.naive()) {
        assert_eq!(found.measured_over, 6667);
        let [found, expected] = [found.coverage, expected.coverage];
        assert!((found - expected).abs() < 0.02, "{found} for {expected}");
    }
}

#[test]
fn selection_of_equals_does_not_sum_what_each_adds() {
    let mut draws = Draws(8);
    let mut checks = |kinds: usize| {
        let runs: Vec<_> = (0..kinds).map(|_| unit(draws.vector(9))).collect();
        let runs: Vec<_> = runs.iter().cycle().take(1000).cloned().collect();
        let set = Set { count: 3, weights: vec![1.0; 1000], runs, ..Set::default() };
        let (checks, mut selection) = (AtomicUsize::new(0), set.selection(f64::INFINITY));
        let check = || {
            checks.fetch_add(1, SeqCst);
            Ok(())
        };
        while selection.selected().is_none() {
            selection.advance(&check).expect("nothing ends it");
        }
        checks.into_inner()
    };
    let distinct = checks(1000);
    assert!(checks(1) <= distinct && checks(10) <= distinct);
}

#[test]
fn selection_in_two_rounds_covers_nearly_as_much_as_in_one() {
    for seed in 0..2 {
        let mut draws = Draws(seed);
        let tasks: Vec<_> = (0..60).map(|_| draws.vector(24)).collect();
        // A few tasks are frequent, and a part has some more often than others.
        let mut run = |at: usize| {
            let task = (draws.next().powi(2) * 60.0) as usize;
            let (task, own) = (&tasks[(task + at / 300 * 5) % 60], draws.vector(24));
            task.iter().zip(own).map(|(x, y)| x + 0.5 * y).collect()
        };
        let runs: Vec<_> = (0..2400).map(|at| unit(run(at))).collect();
        let set = |runs: Vec<Vec<f64>>, count, counts| Set {
            count,
            weights: vec![1.0; runs.len()],
            runs,
            counts,
            ..Set::default()
        };
        let kept = |set: &Set| selected(set.selection(f64::INFINITY));
        let (mut parts, mut counts) = (Vec::new(), Vec::new());
        for part in runs.chunks(300) {
            for it in kept(&set(part.to_vec(), 40, Vec::new())) {
                parts.push(part[it.index].clone());
                counts.push((it.stands_for as u32, it.covers));
            }
        }
        let parts = set(parts, 40, counts);
        let (twice, once) = (kept(&parts), kept(&set(runs.clone(), 40, Vec::new())));
        let all = twice.iter().map(|it| it.stands_for).sum::<u64>();
        assert_eq!(all, parts.counts.iter().map(|(n, _)| u64::from(*n)).sum::<u64>());
        let covered = |kept: Vec<&Vec<f64>>| -> f64 {
            let most =
                |run: &Vec<f64>| kept.iter().map(|it| similarity(run, it)).fold(0.0, f64::max);
            runs.iter().map(most).sum()
        };
        let twice = covered(twice.iter().map(|it| &parts.runs[it.index]).collect());
        let once = covered(once.iter().map(|it| &runs[it.index]).collect());
        assert!(twice >= 0.97 * once, "{twice} of {once}");
    }
}

#[test]
fn selection_ends_with_the_error_of_its_check() {
    let set = Draws(3).set();
    for checks in 0..usize::MAX {
        let left = AtomicUsize::new(checks);
        let check = || match left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::aborted()),
        };
        let mut selection = set.selection(f64::INFINITY);
        let ended =
            iter::from_fn(|| selection.selected().is_none().then(|| selection.advance(&check)))
                .find_map(Result::err);
        if ended != Some(Error::aborted()) {
            assert!(ended.is_none() && checks > 5, "{checks}");
            break;
        }
    }
}
