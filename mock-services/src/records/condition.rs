//! `If-Match` and `If-None-Match`: which version a request expects.

use super::problem;
use crate::service::{Answer, Request};

/// The versions that a request expects or excludes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    if_match: Option<EntityTags>,
    if_none_match: Option<EntityTags>,
}

#[derive(Debug, PartialEq, Eq)]
enum EntityTags {
    /// `*`
    Any,
    Listed(Vec<u64>),
}

impl Conditions {
    pub(crate) fn read(request: &Request) -> Result<Self, Answer> {
        Ok(Conditions {
            if_match: entity_tags(request, "if-match", false)?,
            if_none_match: entity_tags(request, "if-none-match", true)?,
        })
    }

    /// Whether the request has neither header.
    pub(crate) fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether a change is allowed when this is the current version.
    pub(crate) fn allow(&self, current: Option<u64>) -> bool {
        self.if_match.as_ref().is_none_or(|tags| tags.matches(current)) && !self.excludes(current)
    }

    /// Whether `If-None-Match` lists this version: the client of a read already has it.
    pub(crate) fn excludes(&self, current: Option<u64>) -> bool {
        self.if_none_match.as_ref().is_some_and(|tags| tags.matches(current))
    }
}

impl EntityTags {
    fn matches(&self, current: Option<u64>) -> bool {
        match (self, current) {
            (_, None) => false,
            (EntityTags::Any, Some(_)) => true,
            (EntityTags::Listed(versions), Some(current)) => versions.contains(&current),
        }
    }
}

/// The entity tags of a header. A tag that cannot be a version is left out of the list, so that it matches
/// none. Bare numbers are accepted as tags because real clients send them.
fn entity_tags(request: &Request, name: &'static str, weak: bool) -> Result<Option<EntityTags>, Answer> {
    let Some(value) = request.header_value(name).map(str::trim) else { return Ok(None) };
    if value == "*" {
        return Ok(Some(EntityTags::Any));
    }
    let mut versions = Vec::new();
    for tag in value.split(',').map(str::trim) {
        // A weak tag never matches where a strong one is required.
        let (tag, counts) = tag.strip_prefix("W/").map_or((tag, true), |tag| (tag, weak));
        let quoted = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let bare = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_digit());
        let text = match quoted {
            Some(text) if !text.contains('"') => text,
            None if bare => tag,
            _ => return Err(problem::bad_parameter(name, "It must be * or a list of quoted versions.")),
        };
        // Tags are compared as text: `"03"` and `"+3"` differ from `"3"`.
        versions.extend(text.parse::<u64>().ok().filter(|version| counts && version.to_string() == text));
    }
    Ok(Some(EntityTags::Listed(versions)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Conditions, Answer> {
        Conditions::read(&Request::new("PUT", "/records/a").header(name, value))
    }

    #[test]
    fn a_version_matches_its_tag_a_list_with_it_and_a_star() {
        for value in ["\"3\"", "3", "*", "\"1\", \"3\"", " \"3\" "] {
            assert!(read("If-Match", value).unwrap().allow(Some(3)), "{value}");
            assert!(!read("If-Match", value).unwrap().allow(None), "{value}");
        }
        for value in ["\"4\"", "W/\"3\"", "\"other\"", "\"\"", "\"03\"", "\"+3\"", "\"18446744073709551619\""]
        {
            assert!(!read("If-Match", value).unwrap().allow(Some(3)), "{value}");
        }
    }

    #[test]
    fn if_none_match_star_protects_an_existing_record() {
        assert!(read("If-None-Match", "*").unwrap().allow(None));
        assert!(!read("If-None-Match", "*").unwrap().allow(Some(1)));
        assert!(read("If-None-Match", "W/\"3\"").unwrap().excludes(Some(3)));
    }

    #[test]
    fn an_invalid_list_of_tags_is_refused() {
        for value in ["", "three", "\"3", "\"3\" \"4\"", "\"3\",", "-1"] {
            assert_eq!(read("If-Match", value).unwrap_err().status, 400, "{value}");
        }
    }
}
