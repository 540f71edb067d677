//! The bootstrap: whole groups are drawn with replacement, since rows of one task or session depend on
//! each other.

use knowledgepulse_workers::CancelToken;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    calibration::Estimate,
    options::Options,
    statistics::{Groups, central},
};

/// How to draw samples.
pub(crate) struct Bootstrap<'a> {
    pub(crate) options: &'a Options,
    /// After a cancellation nothing more is computed, and results are meaningless.
    pub(crate) cancel: &'a CancelToken,
}

impl Bootstrap<'_> {
    /// For each replicate, draws `groups.count` groups with replacement and calls `each` with the
    /// number of times that each group was drawn. The same seed and groups give the same draws.
    pub(crate) fn draw(&self, groups: &Groups, mut each: impl FnMut(&[u32])) {
        let mut random = generator(self.options.seed);
        let mut counts = vec![0_u32; groups.count];
        for _ in 0..self.options.replicates {
            if self.cancel.is_cancelled() {
                return;
            }
            counts.fill(0);
            for _ in 0..groups.count {
                counts[random.random_range(0..groups.count)] += 1;
            }
            each(&counts);
        }
    }

    /// Returns `value` with the percentile interval of the replicates; without an interval if there are
    /// fewer than two groups.
    pub(crate) fn estimate(&self, value: f64, replicates: Vec<f64>, groups: &Groups) -> Estimate {
        let interval = central(replicates, self.options.level).filter(|_| groups.count > 1);
        Estimate { value, interval }
    }
}

/// Returns a generator whose numbers are the same on every platform.
pub(crate) fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draw_takes_as_many_groups_as_there_are_and_repeats() {
        let groups = Groups::new([None; 7]);
        let draws = |seed| {
            let mut all = Vec::new();
            let cancel = &CancelToken::default();
            let options = &Options { replicates: 100, seed, ..Options::default() };
            let bootstrap = Bootstrap { options, cancel };
            bootstrap.draw(&groups, |counts| all.push(counts.to_vec()));
            all
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        assert!(draws(1).iter().all(|counts| counts.iter().sum::<u32>() == 7));
    }
}
