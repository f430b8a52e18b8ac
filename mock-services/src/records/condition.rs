//! `If-Match` and `If-None-Match`: which version a request is about.

use super::problem;
use crate::service::{Answer, Request};

/// What a request says of the version that it is about.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

#[derive(Debug, PartialEq, Eq)]
enum Tags {
    /// `*`
    Any,
    These(Vec<u64>),
}

impl Conditions {
    pub(crate) fn read(request: &Request) -> Result<Self, Answer> {
        Ok(Conditions {
            if_match: tags(request, "if-match", false)?,
            if_none_match: tags(request, "if-none-match", true)?,
        })
    }

    /// Whether there are none.
    pub(crate) fn are_absent(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether a change may be made where this is the version.
    pub(crate) fn allow(&self, current: Option<u64>) -> bool {
        self.if_match.as_ref().is_none_or(|tags| tags.name(current)) && !self.names_as_known(current)
    }

    /// Whether `If-None-Match` names this version: the caller of a read has it already.
    pub(crate) fn names_as_known(&self, current: Option<u64>) -> bool {
        self.if_none_match.as_ref().is_some_and(|tags| tags.name(current))
    }
}

impl Tags {
    fn name(&self, current: Option<u64>) -> bool {
        match (self, current) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::These(versions), Some(current)) => versions.contains(&current),
        }
    }
}

/// The tags of a header. A tag that never was a version is kept out of the list, so that it names none; bare
/// numbers are taken for tags because clients in the wild send them.
fn tags(request: &Request, name: &'static str, weak: bool) -> Result<Option<Tags>, Answer> {
    let Some(value) = request.header_value(name).map(str::trim) else { return Ok(None) };
    if value == "*" {
        return Ok(Some(Tags::Any));
    }
    let mut versions = Vec::new();
    for tag in value.split(',').map(str::trim) {
        // A weak tag never matches where a strong one is needed.
        let (tag, counts) = tag.strip_prefix("W/").map_or((tag, true), |tag| (tag, weak));
        let quoted = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let bare = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_digit());
        let text = match quoted {
            Some(text) if !text.contains('"') => text,
            None if bare => tag,
            _ => return Err(problem::bad_parameter(name, "It must be * or a list of quoted versions.")),
        };
        // A tag is a text: `"03"` and `"+3"` are others than `"3"`.
        versions.extend(text.parse::<u64>().ok().filter(|version| counts && version.to_string() == text));
    }
    Ok(Some(Tags::These(versions)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Conditions, Answer> {
        Conditions::read(&Request::new("PUT", "/records/a").header(name, value))
    }

    #[test]
    fn a_version_is_named_by_its_tag_by_one_of_several_or_by_a_star() {
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
    fn if_none_match_keeps_a_record_that_is_there() {
        assert!(read("If-None-Match", "*").unwrap().allow(None));
        assert!(!read("If-None-Match", "*").unwrap().allow(Some(1)));
        assert!(read("If-None-Match", "W/\"3\"").unwrap().names_as_known(Some(3)));
    }

    #[test]
    fn what_is_no_list_of_tags_is_refused() {
        for value in ["", "three", "\"3", "\"3\" \"4\"", "\"3\",", "-1"] {
            assert_eq!(read("If-Match", value).unwrap_err().status, 400, "{value}");
        }
    }
}
