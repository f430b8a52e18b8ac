//! Fields in which several texts mean the same value.

/// When two texts mean the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// If they differ only in case: mail addresses.
    AnyCase,
    /// If they name the same branch or tag: `v1.4.2` and `refs/tags/v1.4.2`.
    GitRef,
    /// If they differ only in slashes at their end: paths of URLs.
    UrlPath,
}

impl ValueForm {
    /// The canonical text of all texts that mean the same value.
    #[must_use]
    pub fn canonical(self, text: &str) -> String {
        match self {
            ValueForm::AnyCase => text.to_lowercase(),
            ValueForm::GitRef => short_ref(text).to_owned(),
            ValueForm::UrlPath => match text.trim_end_matches('/') {
                "" => "/".to_owned(),
                path => path.to_owned(),
            },
        }
    }
}

/// The name of a branch or a tag without git's `refs/` folders: `v1.4.2` of `refs/tags/v1.4.2`.
pub(crate) fn short_ref(name: &str) -> &str {
    let stems = ["refs/heads/", "refs/tags/", "heads/", "tags/"];
    stems.iter().find_map(|stem| name.strip_prefix(stem)).filter(|rest| !rest.is_empty()).unwrap_or(name)
}
