use std::sync::Arc;

/// The novelty of a trace that cannot be compared with anything.
pub const NEUTRAL_NOVELTY: f64 = 0.5;

/// Where a novelty comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum NoveltySource {
    /// Compared with earlier traces: the greatest cosine similarity, in \[-1, 1\], and the id of the
    /// trace that has it, if it has one.
    Cache { max_similarity: f64, nearest: Option<Arc<str>> },
    /// Nothing is cached: [`NEUTRAL_NOVELTY`].
    EmptyCache,
    /// There is no embedding, for this reason: [`NEUTRAL_NOVELTY`].
    NoEmbedder { reason: Arc<str> },
    /// The embedding was not there within the budget: [`NEUTRAL_NOVELTY`].
    OverBudget,
}

/// How far a trace is from everything scored before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Novelty(NoveltySource);

impl From<NoveltySource> for Novelty {
    fn from(source: NoveltySource) -> Self {
        Self(source)
    }
}

impl Novelty {
    /// `1 - max cosine(embedding, cached)`, clamped to \[0, 1\], or [`NEUTRAL_NOVELTY`].
    pub fn value(&self) -> f64 {
        match self.0 {
            NoveltySource::Cache { max_similarity, .. } => (1.0 - max_similarity).clamp(0.0, 1.0),
            NoveltySource::EmptyCache
            | NoveltySource::NoEmbedder { .. }
            | NoveltySource::OverBudget => NEUTRAL_NOVELTY,
        }
    }

    /// Where the value comes from.
    pub fn source(&self) -> &NoveltySource {
        &self.0
    }
}
