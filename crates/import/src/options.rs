//! What the caller may decide.

/// What the caller may decide. The default takes nothing for granted.
#[derive(Debug, Clone)]
pub struct Options {
    /// Only values of the format of this name count. Default: any.
    pub format: Option<String>,
    /// What is assumed of runs whose log does not say whether they succeeded. Default: such a run is the
    /// error `SUCCESS_UNKNOWN`.
    pub assume_success: Option<AssumeSuccess>,
    /// Whether the probabilities of tokens, where a log has them, give the confidence. Default: no.
    pub use_logprobs: bool,
    /// `metadata.task_domain`. Default: what agents of the format do, or `general`.
    pub domain: Option<String>,
    /// `metadata.created_at` of runs without a time, in UTC. Default: 1970-01-01T00:00:00.000Z.
    pub created_at: Option<String>,
    /// `metadata.visibility`. Default: `network`.
    pub visibility: String,
    /// `metadata.privacy_level`. Default: `aggregated`.
    pub privacy_level: String,
    /// The objective, whatever the log says.
    pub objective: Option<String>,
    /// Whether the run succeeded, whatever the log says.
    pub success: Option<bool>,
}

/// What is assumed of a run whose log does not say whether it succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumeSuccess {
    /// It did, or it did not.
    Always(bool),
    /// Nothing: the run is skipped.
    Skip,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            assume_success: None,
            use_logprobs: false,
            domain: None,
            created_at: None,
            visibility: "network".into(),
            privacy_level: "aggregated".into(),
            objective: None,
            success: None,
        }
    }
}
