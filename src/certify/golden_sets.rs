//! The digests of the golden sets: all scenarios that a version of hapax ships. A certificate names that of the hapax
//! that issued it, so that a reader knows which scenarios stand behind their names.

use crate::run;
use crate::scenario::{self, LoadError};

/// The golden sets of released versions, one line each: the version and the digest. docs/releasing.md says when a
/// line is added; none is ever changed.
const RELEASED: &str = include_str!("golden_sets.txt");

/// The digest of the golden set of this hapax.
pub(super) fn digest() -> Result<String, LoadError> {
    Ok(run::digest_of_cases(&scenario::shipped()?))
}

/// The released version that has the golden set with this digest.
pub(super) fn released_version(digest: &str) -> Option<&'static str> {
    let lines = RELEASED.lines().filter(|line| !line.starts_with('#'));
    let mut sets = lines.filter_map(|line| line.split_once(' '));
    sets.find(|(_, released)| released.trim() == digest).map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_set_of_a_released_version_does_not_change() {
        let this = env!("CARGO_PKG_VERSION");
        let line = RELEASED.lines().find_map(|line| line.strip_prefix(&format!("{this} ")));
        let now = digest().unwrap();
        assert!(
            line.is_none_or(|released| released.trim() == now),
            "the golden set is {now}: change the version, or this is not {this}"
        );
    }

    #[test]
    fn another_digest_is_not_that_of_a_release() {
        assert_eq!(released_version("00"), None);
        assert_eq!(released_version(""), None);
    }
}
