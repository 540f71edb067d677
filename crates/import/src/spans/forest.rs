//! Which spans are below which.

use std::{collections::HashMap, mem};

use super::Span;

/// The order of the spans of a trace or run: each before all that are below it.
pub(crate) struct Forest {
    /// The spans, by their index.
    pub(super) order: Vec<usize>,
    /// Of each place in the order that of the span above.
    pub(super) parents: Vec<Option<usize>>,
    /// Of each place in the order that of the first span which is no longer below.
    pub(super) ends: Vec<usize>,
}

impl Forest {
    /// Orders spans. Of spans that are above each other, any is taken for the first.
    pub fn new(spans: &[&Span]) -> Self {
        let mut indices = HashMap::new();
        for (index, span) in spans.iter().enumerate() {
            if let Some(id) = &span.id {
                indices.entry(id.as_str()).or_insert(index);
            }
        }
        let mut children = vec![Vec::new(); spans.len()];
        let mut roots = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            match span.parent.as_deref().and_then(|id| indices.get(id)) {
                Some(&parent) => children[parent].push(index),
                None => roots.push(index),
            }
        }
        // Cycles have no root.
        roots.extend(0..spans.len());
        let (mut order, mut parents) = (Vec::new(), Vec::new());
        let mut is_known = vec![false; spans.len()];
        for root in roots {
            let mut open = vec![(root, None)];
            while let Some((index, parent)) = open.pop() {
                if !mem::replace(&mut is_known[index], true) {
                    let place = Some(order.len());
                    open.extend(children[index].iter().rev().map(|&child| (child, place)));
                    order.push(index);
                    parents.push(parent);
                }
            }
        }
        let mut ends: Vec<_> = (1..=order.len()).collect();
        for place in (0..order.len()).rev() {
            if let Some(parent) = parents[place] {
                ends[parent] = ends[place].max(ends[parent]);
            }
        }
        Self { order, parents, ends }
    }

    /// Splits the spans: the groups of a span that is picked, first, and all spans below it, without
    /// groups inside of groups; then the indices of all others.
    pub fn split(&self, is_picked: impl Fn(usize) -> bool) -> (Vec<&[usize]>, Vec<usize>) {
        let (mut groups, mut others) = (Vec::new(), Vec::new());
        let mut place = 0;
        while let Some(&index) = self.order.get(place) {
            let end = self.ends[place];
            if is_picked(index) {
                groups.push(&self.order[place..end]);
                place = end;
            } else {
                others.push(index);
                place += 1;
            }
        }
        (groups, others)
    }

    /// Returns the spans without a span above them.
    pub fn roots(&self) -> impl Iterator<Item = usize> {
        let places = self.order.iter().zip(&self.parents);
        places.filter(|(_, parent)| parent.is_none()).map(|(&index, _)| index)
    }
}

/// Returns the first root of some spans, by start.
pub(crate) fn first_root(spans: &[&Span]) -> Option<usize> {
    Forest::new(spans).roots().min_by_key(|&index| (spans[index].start, index))
}
