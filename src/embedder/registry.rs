//! The models of the process: scorers that would load the same one share it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{EmbedError, Embedder, EmbedderSlot, Mode, Runtime, Settings, State};

/// Those in use. A model that no handle refers to any more is freed.
static SLOTS: Mutex<Vec<Weak<EmbedderSlot>>> = Mutex::new(Vec::new());

/// A model as one user of it wants it.
#[derive(Clone)]
pub struct EmbedderHandle {
    settings: Settings,
    slot: Arc<EmbedderSlot>,
}

impl EmbedderHandle {
    /// The model with these settings. Nothing is loaded by asking; a failure to load it that lies
    /// before this is forgotten.
    pub fn new(settings: Settings) -> Self {
        let wanted = settings.of_model();
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| slot.upgrade().is_some_and(|slot| !slot.has_failed()));
        let known = slots.iter().filter_map(Weak::upgrade).find(|slot| *slot.settings() == wanted);
        let slot = known.unwrap_or_else(|| {
            let slot = Arc::new(EmbedderSlot::new(wanted));
            slots.push(Arc::downgrade(&slot));
            slot
        });
        Self { settings, slot }
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How far the model has got. Never waits for a load.
    pub fn state(&self) -> State {
        match self.settings.mode {
            Mode::Off => State::Unavailable { reason: EmbedError::Off },
            _ => self.slot.state(),
        }
    }

    /// The model, loaded if need be; waits for a load that another thread has begun.
    ///
    /// # Errors
    ///
    /// Why it cannot be had at present.
    pub fn get(&self) -> Result<Arc<Embedder>, EmbedError> {
        match self.settings.mode {
            Mode::Off => Err(EmbedError::Off),
            _ => self.slot.get(),
        }
    }
}

impl Settings {
    /// The same for all settings that load the same model.
    fn of_model(&self) -> Self {
        let mut settings = Self { precision: self.actual_precision(), ..self.clone() };
        // Whether it is used makes no difference to a model, nor does a library that it needs not.
        settings.mode = Mode::Auto;
        if settings.runtime == Runtime::Rust {
            settings.library = Default::default();
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedder::Precision;

    fn settings(folder: &str) -> Settings {
        Settings {
            mode: Mode::Auto,
            runtime: Runtime::OnnxRuntime,
            model_dir: folder.into(),
            library: "library".into(),
            precision: Precision::Exact,
            threads: 2,
        }
    }

    fn share(a: &Settings, b: &Settings) -> bool {
        let (a, b) = (EmbedderHandle::new(a.clone()), EmbedderHandle::new(b.clone()));
        Arc::ptr_eq(&a.slot, &b.slot)
    }

    #[test]
    fn settings_that_load_the_same_model_share_it() {
        let base = settings("shared");
        assert!(share(&base, &base));
        for mode in [Mode::Off, Mode::Required] {
            assert!(share(&base, &Settings { mode, ..base.clone() }), "{mode:?}");
        }
        let rust = Settings { runtime: Runtime::Rust, ..base.clone() };
        let elsewhere = Settings { library: "elsewhere".into(), ..rust.clone() };
        assert!(share(&rust, &elsewhere), "it needs no library");
        assert!(share(&rust, &Settings { precision: Precision::Fast, ..rust.clone() }));
    }

    #[test]
    fn others_do_not() {
        let base = settings("apart");
        for other in [
            Settings { runtime: Runtime::Rust, ..base.clone() },
            Settings { model_dir: "elsewhere".into(), ..base.clone() },
            Settings { library: "elsewhere".into(), ..base.clone() },
            Settings { precision: Precision::Fast, ..base.clone() },
            Settings { threads: 1, ..base.clone() },
        ] {
            assert!(!share(&base, &other), "{other:?}");
        }
    }

    #[test]
    fn a_failure_is_forgotten_by_who_asks_anew() {
        let first = EmbedderHandle::new(settings("missing"));
        assert!(first.get().is_err());
        assert!(matches!(first.state(), State::Unavailable { .. }));
        assert_eq!(EmbedderHandle::new(settings("missing")).state(), State::Idle);
    }

    #[test]
    fn an_embedder_that_is_off_is_not_loaded() {
        let off = EmbedderHandle::new(Settings { mode: Mode::Off, ..settings("off") });
        assert_eq!(off.get().err(), Some(EmbedError::Off));
        assert_eq!(off.slot.state(), State::Idle);
    }
}
