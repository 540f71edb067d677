//! Who goes on when a buffer is filled by one thread and emptied by another.

/// The state of the input of a buffer, to be kept under its lock.
///
/// The reader stops in [`Intake::goes_on`], in which it also sees that there is no room. So whoever makes room sees in
/// [`Intake::resumes`] that it has stopped, however long it takes to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intake {
    /// The input is read, and no more has been asked for.
    Read,
    /// A thread is reading, or more input is on its way; the first comes unasked.
    #[default]
    Busy,
    /// Reading waits for room.
    Full,
    /// Reading has ended.
    Ended,
}

impl Intake {
    /// Returns whether the thread that reads goes on. If not, it must return without adding anything.
    pub fn goes_on(&mut self, is_full: bool) -> bool {
        if *self != Self::Ended && is_full {
            *self = Self::Full;
        }
        *self != Self::Ended && !is_full
    }

    /// Returns whether a thread must read on because there is room again.
    pub fn resumes(&mut self, is_full: bool) -> bool {
        let resumes = *self == Self::Full && !is_full;
        if resumes {
            *self = Self::Busy;
        }
        resumes
    }

    /// Records that all input is read.
    pub fn read(&mut self) {
        if *self != Self::Ended {
            *self = Self::Read;
        }
    }
}
