//! The options of an importer.

use std::{collections::HashMap, sync::Arc};

/// The options of an importer. The default assumes nothing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name of the only format to read. Default: all.
    pub format: Option<String>,
    /// The success of runs whose log does not record it. Default: such a run is the error `SUCCESS_UNKNOWN`.
    pub assume_success: Option<AssumeSuccess>,
    /// The confidence. Default: 0.8 after success, 0.2 after failure, where the log has none.
    pub confidence: Option<Confidence>,
    /// `metadata.task_domain`. Default: the domain of the format.
    pub domain: Option<String>,
    /// `metadata.created_at` of runs without a time, in UTC. Default: 1970-01-01T00:00:00.000Z.
    pub created_at: Option<String>,
    /// `metadata.visibility`. Default: `private`, because logs are not redacted.
    pub visibility: Option<String>,
    /// `metadata.privacy_level`. Default: `private`.
    pub privacy_level: Option<String>,
    /// The objective. Default: that of the log.
    pub objective: Option<String>,
    /// Whether the run succeeded. Default: as in the log.
    pub success: Option<bool>,
    /// Whether runs succeeded, by the ids of their traces or of the log. Default: as in the log.
    pub labels: Arc<HashMap<String, bool>>,
    /// How to handle runs with calls that cannot be read.
    pub unread_calls: UnreadCalls,
    /// The most bytes of text that a run may hold, at most 256 MiB. Default: 256 MiB.
    pub max_text: Option<usize>,
    /// Whether each trace comes with the messages of its run.
    pub messages: bool,
}

impl Options {
    /// Returns whether a run succeeded, by the id of its trace, or else by that of its log.
    pub(crate) fn label_of(&self, id: &str, key: Option<&str>) -> Option<bool> {
        [Some(id), key].into_iter().flatten().find_map(|name| self.labels.get(name).copied())
    }
}

/// The confidence of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Confidence {
    /// If the log has none, the geometric mean of the probabilities of tokens, if the log has them.
    Logprobs,
    /// This value, in \[0, 1\], whatever the log says.
    Given(f64),
}

/// How to handle a run with calls of an unknown type, all of which [`Provenance::skipped`] counts.
///
/// [`Provenance::skipped`]: crate::Provenance::skipped
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnreadCalls {
    /// The run becomes a trace without them.
    Skip,
    /// It is the error `UNKNOWN_RECORDS` if none of its calls can be read.
    #[default]
    RejectAll,
    /// It is the error `UNKNOWN_RECORDS`.
    RejectAny,
}

/// The success of a run whose log does not record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumeSuccess {
    /// All succeeded, or all failed.
    Always(bool),
    /// Unknown: the run is skipped.
    Skip,
}
