//! How a service treats idempotency keys: the profiles of real services. A profile is a file of the folder
//! `profiles`, which the build script lists; everything about it is in that file.

use std::sync::LazyLock;
use std::time::Duration;

use yaml_reader::{Map, Node, NodeKind, Problems, Reader, Source, parse};

use crate::after::After;
use crate::word_enum;

// `Profile`, with a variant for each file, and `FILES`: the name and the text of each, in the same order.
include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// How long keys are kept if no file says it.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The header with the key if no file says it.
const HEADER: &str = "Idempotency-Key";

static RULES: LazyLock<Vec<ProfileRules>> = LazyLock::new(|| {
    FILES.iter().map(|(name, text)| read_rules(&Source::new(*name, *text)).unwrap_or_default()).collect()
});
static NO_RULES: LazyLock<ProfileRules> = LazyLock::new(ProfileRules::default);

/// What the file of a profile says.
#[derive(Debug)]
pub(crate) struct ProfileRules {
    about: String,
    /// The header with the key.
    pub(crate) header: String,
    /// The maximum length of a key, in characters.
    pub(crate) longest_key: usize,
    requires_key: bool,
    /// Whether the key can be in quotes, which are not a part of it.
    pub(crate) takes_quotes: bool,
    lifetime: Duration,
    /// The headers of an answer that is replayed.
    pub(crate) replayed: Vec<(String, String)>,
    /// The type of the body of a refusal; JSON if it is `None`.
    pub(crate) content_type: Option<String>,
    /// The body of a refusal. `{status}`, `{code}`, `{type}` and `{message}` are those of the refusal; what the
    /// refusal does not have is left out.
    pub(crate) body: Node,
    missing: Option<RefusalRules>,
    length: RefusalRules,
    in_flight: RefusalRules,
    other_body: RefusalRules,
    other_endpoint: Option<RefusalRules>,
}

/// How a profile refuses a key.
#[derive(Debug, Default)]
pub(crate) struct RefusalRules {
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
    pub(crate) kind: Option<String>,
    /// `{key}` is the key, `{path}` the path of the request, `{first_path}` that of the first request with the
    /// key.
    pub(crate) message: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Default for ProfileRules {
    fn default() -> Self {
        ProfileRules {
            about: "The key is ignored.".to_owned(),
            header: HEADER.to_owned(),
            longest_key: 255,
            requires_key: false,
            takes_quotes: false,
            lifetime: LIFETIME,
            replayed: Vec::new(),
            content_type: None,
            body: Node::new(NodeKind::Null, yaml_reader::Span::default()),
            missing: None,
            length: RefusalRules::default(),
            in_flight: RefusalRules::default(),
            other_body: RefusalRules::default(),
            other_endpoint: None,
        }
    }
}

impl Profile {
    pub(crate) fn rules(self) -> &'static ProfileRules {
        // The files have the order of the variants, and `None`, the last variant, has no file.
        RULES.get(self as usize).unwrap_or(&NO_RULES)
    }

    /// Whether a write without a key is refused.
    #[must_use]
    pub fn requires_key(self) -> bool {
        self.rules().requires_key
    }

    /// Its row in the table of the docs: its name, what it is, whether a key is required, its maximum length,
    /// and the statuses for a key that is in use and for one that was used with another body.
    #[must_use]
    pub fn docs_row(self) -> String {
        let ProfileRules { about, longest_key, in_flight, other_body, .. } = self.rules();
        let key = if self.requires_key() { "required" } else { "optional" };
        let rest = match self {
            Profile::None => "– | – | –".to_owned(),
            _ => format!(
                "{key}, up to {longest_key} characters | {} | {}",
                in_flight.status, other_body.status
            ),
        };
        format!("| `{self}` | {about} | {rest} |")
    }
}

impl ProfileRules {
    pub(crate) fn missing(&self) -> &RefusalRules {
        self.missing.as_ref().unwrap_or(&self.length)
    }

    pub(crate) fn length(&self) -> &RefusalRules {
        &self.length
    }

    pub(crate) fn in_flight(&self) -> &RefusalRules {
        &self.in_flight
    }

    pub(crate) fn other_body(&self) -> &RefusalRules {
        &self.other_body
    }

    pub(crate) fn other_endpoint(&self) -> &RefusalRules {
        self.other_endpoint.as_ref().unwrap_or(&self.other_body)
    }
}

fn read_rules(source: &Source) -> Result<ProfileRules, Problems> {
    let reader = Reader::new(source);
    let node = match parse(source) {
        Ok(node) => node,
        Err(problem) => {
            reader.add(problem);
            return reader.finish(None);
        }
    };
    let rules = read_profile(&reader, &node);
    reader.finish(rules)
}

fn read_profile(reader: &Reader, node: &Node) -> Option<ProfileRules> {
    let mut map = reader.map(node, "a profile")?;
    // The build script reads the position.
    let (about, _) = (map.required("about"), map.optional("position"));
    let (key, lifetime) = (map.required("key"), map.required("lifetime"));
    let (replayed, content_type) = (map.optional("replayed"), map.optional("content_type"));
    let (body, refusals) = (map.required("body"), map.required("refusals"));
    map.finish();
    let mut key = reader.map(key?, "the key of a profile")?;
    let (header, longest_key) = (key.required("header"), key.required("max_length"));
    let (required, quoted) = (key.optional("required"), key.optional("quoted"));
    key.finish();
    let mut refusals = reader.map(refusals?, "the refusals of a profile")?;
    let missing = refusals.optional("missing").and_then(|node| read_refusal(reader, node));
    let mut refusal = |name| refusals.required(name).and_then(|node| read_refusal(reader, node));
    let (length, in_flight, other_body) = (refusal("length"), refusal("in_flight"), refusal("other_body"));
    let other_endpoint = refusals.optional("other_endpoint").and_then(|node| read_refusal(reader, node));
    refusals.finish();
    let flag = |node: Option<&Node>| node.and_then(|node| reader.boolean(node)).unwrap_or_default();
    Some(ProfileRules {
        about: reader.text(about?)?.to_owned(),
        header: reader.text(header?)?.to_owned(),
        longest_key: reader.integer(longest_key?, 1..=100_000)?,
        requires_key: flag(required),
        takes_quotes: flag(quoted),
        lifetime: reader.duration(lifetime?)?,
        replayed: replayed.map(|node| read_headers(reader, node)).unwrap_or_default(),
        content_type: content_type.and_then(|node| reader.text(node)).map(str::to_owned),
        body: body?.clone(),
        missing,
        length: length?,
        in_flight: in_flight?,
        other_body: other_body?,
        other_endpoint,
    })
}

fn read_refusal(reader: &Reader, node: &Node) -> Option<RefusalRules> {
    let mut map = reader.map(node, "a refusal")?;
    let (status, message) = (map.required("status"), map.required("message"));
    let (code, kind, headers) =
        (read_text(reader, &mut map, "code"), read_text(reader, &mut map, "type"), map.optional("headers"));
    map.finish();
    Some(RefusalRules {
        status: reader.integer(status?, 400..=599)?,
        code,
        kind,
        message: reader.text(message?)?.to_owned(),
        headers: headers.map(|node| read_headers(reader, node)).unwrap_or_default(),
    })
}

fn read_text(reader: &Reader, map: &mut Map<'_, '_>, name: &'static str) -> Option<String> {
    map.optional(name).and_then(|node| reader.text(node)).map(str::to_owned)
}

fn read_headers(reader: &Reader, node: &Node) -> Vec<(String, String)> {
    let entries = reader.entries(node).unwrap_or_default();
    entries.iter().filter_map(|(key, node)| Some((key.name.clone(), reader.text(node)?.to_owned()))).collect()
}

/// How keys are treated, and how long they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idempotency {
    /// The rules.
    pub profile: Profile,
    /// When a key may be used for a new request again.
    pub lifetime: After,
}

impl Idempotency {
    /// The profile with its own lifetime.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Idempotency { profile, lifetime: After::Time(profile.rules().lifetime) }
    }
}

/// The refusal of a key by a profile. A service with the API of that profile can answer it in the form of its
/// own errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    /// The profile that refuses the key.
    pub profile: Profile,
    /// The status of the answer.
    pub status: u16,
    /// The short name of the error, if it has one.
    pub code: Option<&'static str>,
    /// The kind of the error.
    pub kind: &'static str,
    /// The message that is shown.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_profile_can_be_read() {
        for (name, text) in FILES {
            if let Err(problems) = read_rules(&Source::new(*name, *text)) {
                panic!("{problems}");
            }
        }
        assert_eq!(Profile::ALL.len(), FILES.len() + 1);
        for (profile, (name, _)) in Profile::ALL.iter().zip(FILES) {
            assert_eq!(profile.as_str(), *name);
            assert!(profile.rules().about.len() > 10 && profile.rules().in_flight().status >= 400);
        }
    }

    #[test]
    fn a_file_with_an_unknown_key_or_without_a_refusal_is_not_read() {
        let (_, text) = FILES[0];
        for wrong in [
            text.replace("lifetime:", "life:"),
            text.replace("in_flight:", "later:"),
            text.replace("status: 409", "status: 200"),
        ] {
            assert!(read_rules(&Source::new("wrong", wrong)).is_err());
        }
    }
}
