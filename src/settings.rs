//! Settings of the process: from the environment, changed by `configure`.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use knowledgepulse_embedder::{LongText, ModelOptions, ModelSettings, SharedModel};
use knowledgepulse_scoring::{Error, Invalid, Result, trace::quote};
use once_cell::sync::OnceCell;

use crate::{
    choice::Choice,
    embedder::{Mode, ModelEmbedder},
};

/// Where the addon is, with model and library beside it. Empty where JavaScript cannot tell.
pub static ADDON_FOLDER: OnceCell<PathBuf> = OnceCell::new();

/// An option of the embedder, which a variable of the environment sets as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedderOption {
    Mode,
    Backend,
    Precision,
    Model,
    Pooling,
    Normalize,
    MaxTokens,
    Prefix,
    Output,
    Library,
}

impl EmbedderOption {
    /// Each with its name in JavaScript and its variable. They are applied in this order: another model resets
    /// what describes it.
    pub const ALL: [(Self, &'static str, &'static str); 10] = [
        (Self::Mode, "embedder", "KNOWLEDGEPULSE_SCORING_EMBEDDER"),
        (Self::Backend, "backend", "KNOWLEDGEPULSE_SCORING_BACKEND"),
        (Self::Precision, "precision", "KNOWLEDGEPULSE_SCORING_PRECISION"),
        (Self::Model, "model", "KNOWLEDGEPULSE_SCORING_MODEL"),
        (Self::Pooling, "pooling", "KNOWLEDGEPULSE_SCORING_POOLING"),
        (Self::Normalize, "normalize", "KNOWLEDGEPULSE_SCORING_NORMALIZE"),
        (Self::MaxTokens, "maxTokens", "KNOWLEDGEPULSE_SCORING_MAX_TOKENS"),
        (Self::Prefix, "prefix", "KNOWLEDGEPULSE_SCORING_PREFIX"),
        (Self::Output, "output", "KNOWLEDGEPULSE_SCORING_OUTPUT"),
        (Self::Library, "library", "KNOWLEDGEPULSE_SCORING_LIBRARY"),
    ];
}

/// A new value for an option, and where it comes from.
#[derive(Debug, Clone)]
pub struct Change {
    pub option: EmbedderOption,
    pub place: String,
    pub value: OsString,
}

/// Whether the embedder is used, and with which model.
#[derive(Debug, Clone)]
pub struct Settings {
    pub mode: Mode,
    pub model: ModelSettings,
}

impl Settings {
    /// Fails with `INVALID_OPTION` for a value that the option does not have.
    fn apply(&mut self, Change { option, place, value }: Change) -> Result<()> {
        let name = value.to_string_lossy();
        match option {
            EmbedderOption::Mode => self.mode = Choice::parse(&place, &name)?,
            EmbedderOption::Backend => self.model.backend = Choice::parse(&place, &name)?,
            EmbedderOption::Precision => self.model.precision = Choice::parse(&place, &name)?,
            EmbedderOption::Model => {
                self.model.model = Some(value.into());
                self.model.options = ModelOptions::default();
            }
            EmbedderOption::Pooling => {
                self.model.options.pooling = Some(Choice::parse(&place, &name)?);
            }
            EmbedderOption::Normalize => {
                self.model.options.normalize = Some(Choice::parse(&place, &name)?);
            }
            EmbedderOption::MaxTokens => {
                let most = name.parse().ok().filter(|most| *most > 0);
                let invalid =
                    || Error::invalid(Invalid::Option, &place, "a positive integer", quote(&name));
                self.model.options.max_tokens = Some(most.ok_or_else(invalid)?);
            }
            EmbedderOption::Prefix => self.model.options.prefix = Some(name.into()),
            EmbedderOption::Output => self.model.options.output = Some(name.into()),
            EmbedderOption::Library => self.model.library = value.into(),
        }
        Ok(())
    }

    /// Returns what embeds with these settings. Nothing is loaded yet.
    fn embedder(&self, long_text: LongText) -> Arc<ModelEmbedder> {
        let model = SharedModel::with(self.model.clone());
        Arc::new(ModelEmbedder::new(self.mode, model, long_text))
    }
}

/// What calls use from now on.
struct Current {
    settings: Settings,
    embedder: Arc<ModelEmbedder>,
    /// What is wrong in the environment, until `configure` gives something else.
    invalid: Vec<(EmbedderOption, Error)>,
}

impl Current {
    fn from_environment() -> Self {
        let model = ModelSettings::beside(ADDON_FOLDER.get_or_init(PathBuf::new));
        let mut settings = Settings { mode: Mode::default(), model };
        let mut invalid = Vec::new();
        for (option, _, variable) in EmbedderOption::ALL {
            let Some(value) = env::var_os(variable).filter(|value| !value.is_empty()) else {
                continue;
            };
            let change = Change { option, place: variable.into(), value };
            invalid.extend(settings.apply(change).err().map(|error| (option, error)));
        }
        let embedder = settings.embedder(LongText::default());
        Self { settings, embedder, invalid }
    }

    /// The settings with `changes`, and what stays wrong in the environment.
    fn with(&self, changes: &[Change]) -> Result<(Settings, Vec<(EmbedderOption, Error)>)> {
        let mut settings = self.settings.clone();
        for (option, ..) in EmbedderOption::ALL {
            for change in changes.iter().filter(|change| change.option == option) {
                settings.apply(change.clone())?;
            }
        }
        let mut invalid = self.invalid.clone();
        invalid.retain(|(option, _)| changes.iter().all(|change| change.option != *option));
        Ok((settings, invalid))
    }
}

/// Shared by all environments of the process.
fn current() -> &'static RwLock<Current> {
    static CURRENT: OnceCell<RwLock<Current>> = OnceCell::new();
    CURRENT.get_or_init(|| RwLock::new(Current::from_environment()))
}

fn none_invalid(invalid: &[(EmbedderOption, Error)]) -> Result<()> {
    invalid.first().map_or(Ok(()), |(_, error)| Err(error.clone()))
}

/// Returns what embeds for the process. Nothing is loaded by asking.
pub fn embedder() -> Result<Arc<ModelEmbedder>> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    none_invalid(&current.invalid)?;
    Ok(current.embedder.clone())
}

/// Returns what embeds for a scorer with these changes to the present settings of the process.
pub fn embedder_with(
    changes: &[Change],
    threads: Option<usize>,
    long_text: LongText,
) -> Result<Arc<ModelEmbedder>> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    let (mut settings, invalid) = current.with(changes)?;
    none_invalid(&invalid)?;
    settings.model.threads = threads.unwrap_or(settings.model.threads);
    Ok(settings.embedder(long_text))
}

/// Changes the settings of the process. The same settings keep the model that is loaded, and forget
/// a failure to load it.
pub fn configure(changes: &[Change]) -> Result<()> {
    let mut current = current().write().unwrap_or_else(PoisonError::into_inner);
    let (settings, invalid) = current.with(changes)?;
    let embedder = settings.embedder(LongText::default());
    *current = Current { settings, embedder, invalid };
    Ok(())
}
