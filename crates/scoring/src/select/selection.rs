//! A selection in steps, between which others take turns.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap},
    hash::BuildHasher,
    mem,
    ops::Range,
    ptr,
    time::{Duration, Instant},
};

use knowledgepulse_workers::share_out;
use pulp::bytemuck::cast_slice;

use super::{
    Candidate, Check, Limits, Member, Progress, Selected,
    sums::{Line, Sum, cube, sums},
};
use crate::{
    cache::Nearest,
    error::Result,
    score::{Novelty, Report, Score},
    weights::Profiles,
};

/// The relative difference of what equals add: sums are rounded.
const TIE: f64 = 1e-12;
/// More than the relative rounding of a sum.
const ROUNDING: f64 = 1e-11;
/// Added to similarities in a memory, which are float32, so that a trace that is in it adds nothing.
const FLOAT32: f64 = 1e-6;
/// Of more candidates, one of each `⌈n / MEASURED⌉` is measured.
const MOST_MEASURED: usize = 20_000;
const MEASURED: usize = 10_000;
/// The number of traces whose bounds are computed at once, and whose exact sums.
const BATCH: usize = 512;
const EXACT: usize = 16;
/// The number of traces that a thread covers at once.
const SHARE: usize = 64;
/// How long others wait for their turn, unless a single step takes longer.
const TURN: Duration = Duration::from_millis(20);
const NONE: usize = usize::MAX;

/// A selection in progress. All vectors must be of one model.
#[derive(Default)]
pub struct Selection {
    limits: Limits,
    profiles: Profiles,
    /// Those kept before, then the candidates.
    traces: Vec<Candidate>,
    before: usize,
    /// The number of traces that have been compared with the candidates.
    compared: usize,
    /// The first candidates with each vector, weight and group, by the hash of these.
    firsts: HashMap<u64, usize>,
    /// The cover of each trace, and the kept one that it is by.
    cover: Vec<(f64, usize)>,
    /// The measured candidates that have a vector, with their cover after the last choice.
    measured: Vec<(usize, f64)>,
    measured_over: usize,
    /// The greatest cover that each of them can have, and by what.
    greatest: Vec<(f64, usize)>,
    /// The sum of these.
    all: f64,
    /// The most that a trace adds, in bits, which have the order of positive numbers; the trace; and after how many
    /// choices that was so.
    bounds: BinaryHeap<(u64, Reverse<usize>, usize)>,
    /// What traces add exactly to the present set.
    gains: Vec<(f64, usize)>,
    kept: Vec<Selected>,
    /// The places in `measured` whose cover each choice has changed, and their cover before and after.
    changes: Vec<Vec<(usize, [f64; 2])>>,
    /// The number of kept traces of each group.
    groups: BTreeMap<u32, usize>,
    is_done: bool,
}

impl Selection {
    /// Returns a selection without candidates, whose reports are by these profiles.
    pub fn new(limits: Limits, profiles: Profiles) -> Self {
        Self { limits, profiles, ..Self::default() }
    }

    /// Adds a trace that was kept before. Must be called before the first [`Selection::add`].
    pub fn add_before(&mut self, trace: Candidate) {
        self.add(trace);
        self.before += 1;
    }

    /// Adds a candidate. Must be called before the first [`Selection::advance`].
    pub fn add(&mut self, trace: Candidate) {
        let covered = |nearest: &Nearest| cube(nearest.similarity + FLOAT32);
        self.cover.push((trace.nearest.as_ref().map_or(0.0, covered), NONE));
        self.traces.push(trace);
    }

    /// Goes on, usually for a tenth of a second or less. After an error it cannot go on.
    ///
    /// # Errors
    ///
    /// The error of `check`, which is called every few milliseconds.
    pub fn advance(&mut self, check: Check) -> Result<Progress> {
        let (begun, total) = (Instant::now(), self.traces.len());
        let compares = self.compared < total;
        while !self.is_done && compares == (self.compared < total) && begun.elapsed() < TURN {
            if compares { self.compare(check)? } else { self.choose(check)? }
        }
        let most = self.limits.count.min(total - self.before);
        Ok(match compares {
            true => Progress { stage: "compare", done: self.compared, total },
            false => Progress { stage: "choose", done: self.kept.len(), total: most },
        })
    }

    /// Returns the selected traces in order, once; `None` while there is more to do.
    pub fn selected(&mut self) -> Option<Vec<Selected>> {
        let mut selected = self.is_done.then(|| mem::take(&mut self.kept))?;
        let places = selected.iter().map(|kept| kept.index + self.before).zip(0..);
        let places: BTreeMap<_, usize> = places.collect();
        for (index, (value, by)) in self.cover.iter().enumerate().skip(self.before) {
            let Some(place) = places.get(by) else { continue };
            let (trace, by) = (&self.traces[index], &self.traces[*by]);
            selected[*place].stands_for += u64::from(trace.stands_for);
            selected[*place].covers += trace.covers * value / by.weight;
            if !ptr::eq(trace, by) {
                let similarity = trace.similarity(by).max(0.0);
                selected[*place].members.push(Member { index: index - self.before, similarity });
            }
        }
        for kept in &mut selected {
            kept.members.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        }
        Some(selected)
    }

    /// Covers the candidates by some of the traces kept before, or else computes bounds for some candidates.
    fn compare(&mut self, check: Check) -> Result<()> {
        let (begin, total) = (self.compared, self.traces.len());
        let end = if begin < self.before {
            self.before.min(begin + EXACT)
        } else {
            total.min(begin + BATCH)
        };
        self.compared = end;
        if begin < self.before {
            return self.cover_by(begin..end, check);
        }
        if begin == self.before {
            let count = total - begin;
            let stride = if count > MOST_MEASURED { count.div_ceil(MEASURED) } else { 1 };
            let one_of = |start| start + mixed(start) % stride.min(total - start);
            let measured = (begin..total).step_by(stride).map(one_of);
            let measured = measured.filter(|index| !self.traces[*index].row.is_empty());
            self.measured = measured.map(|index| (index, self.cover[index].0)).collect();
            self.measured_over = count.div_ceil(stride);
            self.greatest = self.measured.iter().map(|(_, covered)| (*covered, NONE)).collect();
        }
        let columns: Vec<_> = (begin..end).filter(|index| self.is_first(*index)).collect();
        let pairs = (&self.uncovered()[..], &columns[..]);
        let sums = sums(&self.traces, pairs, Sum::Above, &mut self.greatest, check)?;
        self.bounds.extend(
            sums.iter().zip(columns).map(|(sum, index)| (sum.to_bits(), Reverse(index), 0)),
        );
        if end == total {
            let most = |((index, covered), (_, by)): (&(usize, f64), &(_, usize))| {
                let [own, other] = [index, by].map(|by| {
                    self.traces.get(*by).map_or(0.0, |by| by.covers(&self.traces[*index]))
                });
                self.traces[*index].covers * covered.max(own).max(other)
            };
            self.all = self.measured.iter().zip(&self.greatest).map(most).sum();
            self.is_done = self.coverage() >= self.limits.coverage;
        }
        Ok(())
    }

    /// Returns whether a candidate has a vector, and is the first of its equals: after that, no other adds anything.
    fn is_first(&mut self, index: usize) -> bool {
        let Self { firsts, traces, .. } = self;
        if traces[index].row.is_empty() {
            return false;
        }
        let own = key(&traces[index]);
        let hash = firsts.hasher().hash_one(own);
        let first = *firsts.entry(hash).or_insert(index);
        first == index || key(&traces[first]) != own
    }

    fn coverage(&self) -> f64 {
        let covered = |&(index, covered): &(usize, f64)| self.traces[index].covers * covered;
        let covered: f64 = self.measured.iter().map(covered).sum();
        if self.all > 0.0 { (covered / self.all).min(1.0) } else { 0.0 }
    }

    fn uncovered(&self) -> Vec<Line> {
        self.measured.iter().map(|(index, covered)| (*index, [*covered, f64::INFINITY])).collect()
    }

    /// Covers all traces by some of them as well.
    fn cover_by(&mut self, columns: Range<usize>, check: Check) -> Result<()> {
        let Self { traces, before, cover, .. } = self;
        let columns =
            columns.map(|index| (&traces[index], if index < *before { NONE } else { index }));
        share_out(traces.chunks(SHARE).zip(cover.chunks_mut(SHARE)), |(traces, cover)| {
            check()?;
            for (trace, cover) in traces.iter().zip(cover) {
                for (column, by) in columns.clone() {
                    let value = column.covers(trace);
                    if value > cover.0 {
                        *cover = (value, by);
                    }
                }
            }
            Ok(())
        })
    }

    /// Computes again what the traces with the greatest bounds add, or keeps one if no other can add more.
    fn choose(&mut self, check: Check) -> Result<()> {
        let round = self.kept.len();
        let greatest = self.gains.iter().map(|(gain, _)| *gain).fold(0.0, f64::max);
        let least = greatest * (1.0 - TIE);
        let (mut columns, mut bounds, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut since = round;
        while let Some(&other @ (bits, Reverse(index), at)) = self.bounds.peek() {
            if columns.is_empty() {
                since = at;
            }
            let room = if since == round { EXACT } else { BATCH };
            let bound = f64::from_bits(bits);
            let is_less = bound < least || bound <= 0.0;
            if is_less || columns.len() == room || others.len() == BATCH {
                break;
            }
            self.bounds.pop();
            let kept = self.traces[index].group.and_then(|group| self.groups.get(&group));
            if kept.is_some_and(|kept| *kept >= self.limits.per_group) {
                continue;
            }
            if at == since {
                columns.push(index);
                bounds.push(bound);
            } else {
                others.push(other);
            }
        }
        self.bounds.extend(others);
        if columns.is_empty() {
            return self.keep(least, check);
        }
        if since == round {
            let pairs = (&self.uncovered()[..], &columns[..]);
            let gains = sums(&self.traces, pairs, Sum::Exact, &mut [], check)?;
            self.gains.extend(gains.into_iter().zip(columns));
            return Ok(());
        }
        let mut changes = BTreeMap::new();
        for (place, [before, after]) in self.changes[since..].iter().flatten() {
            changes.entry(self.measured[*place].0).or_insert([*before, *after])[1] = *after;
        }
        let lines: Vec<Line> = changes.into_iter().collect();
        let less = sums(&self.traces, (&lines, &columns), Sum::Below, &mut [], check)?;
        for ((index, bound), less) in columns.into_iter().zip(bounds).zip(less) {
            let bound = (bound * (1.0 + ROUNDING) - less).max(0.0);
            self.bounds.push((bound.to_bits(), Reverse(index), round));
        }
        Ok(())
    }

    /// Keeps the first of those that add at least this, if any adds something.
    fn keep(&mut self, least: f64, check: Check) -> Result<()> {
        let gains = mem::take(&mut self.gains);
        let equals = gains.iter().filter(|(gain, _)| *gain > 0.0 && *gain >= least);
        let Some(index) = equals.map(|(_, index)| *index).min() else {
            self.is_done = true;
            return Ok(());
        };
        let others = gains.into_iter().filter(|(_, other)| *other != index);
        let round = self.kept.len();
        self.bounds.extend(others.map(|(gain, other)| (gain.to_bits(), Reverse(other), round)));
        self.cover_by(index..index + 1, check)?;
        let mut changes = Vec::new();
        for (place, (index, covered)) in self.measured.iter_mut().enumerate() {
            let before = mem::replace(covered, self.cover[*index].0);
            if before < *covered {
                changes.push((place, [before, *covered]));
            }
        }
        self.changes.push(changes);
        let Candidate { trace, text, times, group, .. } = &self.traces[index];
        if let Some(group) = group {
            *self.groups.entry(*group).or_default() += 1;
        }
        let score = Score::of(trace, self.novelty(index), &self.profiles);
        // No option of a selection leaves out what has its id.
        let score = Score { hint: self.profiles.hint(trace.domain()), ..score };
        self.kept.push(Selected {
            index: index - self.before,
            id: trace.id().cloned(),
            coverage: self.coverage(),
            stands_for: 0,
            covers: 0.0,
            members: Vec::new(),
            measured_over: self.measured_over,
            report: Report { score, text: text.clone(), times: *times, is_known: false },
        });
        self.is_done =
            self.kept.len() == self.limits.count || self.coverage() >= self.limits.coverage;
        Ok(())
    }

    /// The novelty of a candidate against what was kept before it; of the most similar, the first.
    fn novelty(&self, index: usize) -> Novelty {
        let trace = &self.traces[index];
        let mut nearest = trace.nearest.clone();
        let kept = self.kept.iter().map(|kept| kept.index + self.before);
        for other in (0..self.before).chain(kept).map(|index| &self.traces[index]) {
            let similarity = trace.similarity(other);
            if nearest.as_ref().is_none_or(|nearest| similarity > nearest.similarity) {
                let id = other.trace.id().cloned().map(Into::into);
                nearest = Some(Nearest { similarity, id });
            }
        }
        nearest.map_or(Novelty::EmptyCache, Novelty::Cache)
    }
}

/// What equals have in common.
fn key(trace: &Candidate) -> (&[u32], u64, Option<u32>) {
    (cast_slice(trace.row.as_flattened()), trace.weight.to_bits(), trace.group)
}

/// Mixes the bits of a number, by the finaliser of SplitMix64, so that a sample fits no order of the traces.
fn mixed(number: usize) -> usize {
    let mixed = (number as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as usize
}
