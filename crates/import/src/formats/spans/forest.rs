//! The hierarchy of spans.

use std::{collections::HashMap, mem};

use super::Span;

/// The spans of a trace or run, each before its descendants.
pub struct Forest {
    /// The indices of the spans.
    pub(super) order: Vec<usize>,
    /// For each place in the order, the place of the span above.
    pub(super) parents: Vec<Option<usize>>,
    /// For each place in the order, the place after the spans below.
    pub(super) ends: Vec<usize>,
}

impl Forest {
    /// Orders spans. A cycle may begin anywhere.
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
        // Cycles have no root, so all other spans follow.
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

    /// Returns the spans in order, each with the topmost picked one of itself and those above it.
    pub fn tops(&self, is_picked: impl Fn(usize) -> bool) -> Vec<(usize, Option<usize>)> {
        let mut tops: Vec<(usize, Option<usize>)> = Vec::new();
        for (&index, parent) in self.order.iter().zip(&self.parents) {
            let top = parent.and_then(|parent| tops[parent].1);
            tops.push((index, top.or_else(|| is_picked(index).then_some(index))));
        }
        tops
    }
}

pub fn first_root(spans: &[&Span]) -> Option<usize> {
    let Forest { order, parents, .. } = Forest::new(spans);
    let roots = order.into_iter().zip(parents).filter(|(_, parent)| parent.is_none());
    roots.map(|(index, _)| index).min_by_key(|&index| (spans[index].start, index))
}
