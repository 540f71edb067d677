//! The options of an importer.

/// The options of an importer. The default assumes nothing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name of the only format that counts. Default: all count.
    pub format: Option<String>,
    /// The success of runs whose log does not say. Default: such a run is the error `SUCCESS_UNKNOWN`.
    pub assume_success: Option<AssumeSuccess>,
    /// Whether the logged probabilities of tokens give the confidence. Default: no.
    pub use_logprobs: bool,
    /// `metadata.task_domain`. Default: the domain of the format.
    pub domain: Option<String>,
    /// `metadata.created_at` of runs without a time, in UTC. Default: 1970-01-01T00:00:00.000Z.
    pub created_at: Option<String>,
    /// `metadata.visibility`. Default: `network`.
    pub visibility: Option<String>,
    /// `metadata.privacy_level`. Default: `aggregated`.
    pub privacy_level: Option<String>,
    /// The objective. Default: that of the log.
    pub objective: Option<String>,
    /// Whether the run succeeded. Default: as in the log.
    pub success: Option<bool>,
}

/// The success of a run whose log does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumeSuccess {
    /// All succeeded, or all failed.
    Always(bool),
    /// Unknown: the run is skipped.
    Skip,
}
