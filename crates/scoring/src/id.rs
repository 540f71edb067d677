//! Ids of traces.

use std::{ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};

/// The id of a trace, at most 1,024 bytes. Whatever reads an id makes one of these, so a longer string is the id of no
/// trace, in any process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Box<str>")]
pub struct Id(Arc<str>);

impl Id {
    /// Returns `None` for a longer string.
    ///
    /// ```
    /// use knowledgepulse_scoring::Id;
    ///
    /// assert_eq!(Id::new("run 5").as_deref(), Some("run 5"));
    /// assert_eq!(Id::new("é".repeat(513)), None);
    /// ```
    pub fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Option<Self> {
        (text.as_ref().len() <= 1024).then(|| Self(text.into()))
    }
}

impl Deref for Id {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Id> for Arc<str> {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl TryFrom<Box<str>> for Id {
    type Error = &'static str;

    fn try_from(text: Box<str>) -> Result<Self, Self::Error> {
        Self::new(text).ok_or("an id of more than 1,024 bytes")
    }
}
