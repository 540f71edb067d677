//! The hierarchy of spans.

use std::{collections::HashMap, mem};

use super::span::Span;

/// A span in a forest: a list in which each span comes before its descendants.
pub struct Node {
    /// The index of the span.
    pub index: usize,
    /// The place of the span above.
    pub parent: Option<usize>,
    /// The place after the spans below.
    pub end: usize,
}

/// Returns the forest of the spans of a trace or run. A cycle may begin anywhere.
pub fn forest(spans: &[&Span]) -> Vec<Node> {
    let ids = spans.iter().enumerate().filter_map(|(index, span)| Some((span.id?, index)));
    // Of equal ids the first one counts.
    let indices: HashMap<_, _> = ids.rev().collect();
    // Cycles have no root, so all spans follow the roots.
    let mut open: Vec<_> = (0..spans.len()).rev().map(|index| (index, None)).collect();
    let mut children = vec![Vec::new(); spans.len()];
    for (index, span) in spans.iter().enumerate().rev() {
        match span.parent.and_then(|id| indices.get(id)) {
            Some(&parent) => children[parent].push(index),
            None => open.push((index, None)),
        }
    }
    let mut forest: Vec<Node> = Vec::new();
    let mut is_known = vec![false; spans.len()];
    while let Some((index, parent)) = open.pop() {
        if !mem::replace(&mut is_known[index], true) {
            let place = forest.len();
            open.extend(children[index].iter().map(|&child| (child, Some(place))));
            forest.push(Node { index, parent, end: place + 1 });
        }
    }
    for place in (0..forest.len()).rev() {
        if let Some(parent) = forest[place].parent {
            forest[parent].end = forest[parent].end.max(forest[place].end);
        }
    }
    forest
}

/// Returns for each span the topmost picked one of itself and those above it.
pub fn tops(spans: &[&Span], is_picked: impl Fn(&Span) -> bool) -> Vec<Option<usize>> {
    let forest = forest(spans);
    let mut tops = vec![None; spans.len()];
    for Node { index, parent, .. } in &forest {
        let top = parent.and_then(|parent| tops[forest[parent].index]);
        tops[*index] = top.or_else(|| is_picked(spans[*index]).then_some(*index));
    }
    tops
}

/// Returns the root that starts first.
pub fn first_root(spans: &[&Span], forest: &[Node]) -> Option<usize> {
    let roots = forest.iter().filter(|node| node.parent.is_none());
    roots.map(|node| node.index).min_by_key(|&index| (spans[index].start, index))
}
