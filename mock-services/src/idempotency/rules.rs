//! How keys are treated: what the file of a profile says, as data.

use std::time::Duration;

use serde::Serialize;
use yaml_reader::{Node, NodeKind, Span};

use super::place::KeyPlace;
use crate::after::After;
use crate::word_enum;

/// How long keys are kept if no file says it.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum length of a key if no file says it.
const MAX_LENGTH: usize = 255;

word_enum! {
    /// Which requests have one space of keys.
    pub(crate) enum KeyScope {
        /// All of the account: a key of one endpoint is used for all others.
        Account => "account",
        /// Those of one endpoint: a method and a path.
        Endpoint => "endpoint",
    }
}

word_enum! {
    /// Which answers are stored under a key.
    pub(crate) enum StorageRule {
        /// All, also refusals.
        All => "all",
        /// Only successes: after an error the request is executed again.
        Success => "success",
        /// Those of requests that had begun to execute, errors among them.
        Started => "started",
    }
}

word_enum! {
    /// What a repeated request gets.
    pub(crate) enum ReplayRule {
        /// The first answer.
        First => "first",
        /// The object as it is now.
        Latest => "latest",
        /// A refusal, although the first request succeeded.
        Refuse => "refuse",
    }
}

word_enum! {
    /// What another request with a used key gets.
    pub(crate) enum MismatchRule {
        /// A refusal.
        Refuse => "refuse",
        /// The answer to the first request; the other request is lost.
        Replay => "replay",
        /// It is executed.
        Execute => "execute",
    }
}

word_enum! {
    /// What a request gets whose key is in use by one that still runs.
    pub(crate) enum ConcurrencyRule {
        /// A refusal.
        Refuse => "refuse",
        /// It waits for the answer to the first.
        Wait => "wait",
        /// An error of the server that does not name the reason.
        Fail => "fail",
    }
}

word_enum! {
    /// What a request gets whose key is older than its lifetime.
    pub(crate) enum ExpiryRule {
        /// It is executed as a new one.
        Execute => "execute",
        /// A refusal.
        Refuse => "refuse",
    }
}

word_enum! {
    /// Where requests are limited.
    pub(crate) enum RateLimitPlace {
        /// Before the key is looked up: a 429 says nothing about earlier requests.
        Before => "before",
        /// After it: a stored answer is replayed at any rate.
        After => "after",
    }
}

/// How long a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Lifetime {
    /// From its answer on.
    For(After),
    /// As long as a read shows the object as open.
    WhileOpen(WhileOpen),
}

/// The word for a lifetime that ends with the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum WhileOpen {
    /// `while-open`.
    #[serde(rename = "while-open")]
    Word,
}

/// How keys are treated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KeyRules {
    pub(crate) about: String,
    /// Where the facts are from.
    pub(crate) source: String,
    /// The names of the fields whose values the source does not confirm.
    pub(crate) unverified: Vec<String>,
    /// The hosts of the provider; a `*` stands for any characters.
    pub(crate) hosts: Vec<String>,
    /// Where the key is; `None`: keys are ignored.
    pub(crate) key: Option<KeyPlace>,
    /// Whether the key is looked for there only, and not where the API of the service has it.
    pub(crate) only_there: bool,
    /// What a request must have at a place for its key to count.
    pub(crate) with: Option<(KeyPlace, String)>,
    /// Whether the key can be in quotes, which are not a part of it.
    pub(crate) quoted: bool,
    pub(crate) required: bool,
    /// The lengths of a key, in characters.
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) scope: KeyScope,
    /// The fields that belong to the key: with another value in one of them, it is another key.
    pub(crate) identity: Vec<String>,
    pub(crate) stores: StorageRule,
    pub(crate) replay: ReplayRule,
    /// The status of a replayed success, if it is not that of the first answer.
    pub(crate) replay_status: Option<u16>,
    /// The headers of an answer that is replayed.
    pub(crate) marker: Vec<(String, String)>,
    pub(crate) mismatch: MismatchRule,
    pub(crate) concurrent: ConcurrencyRule,
    pub(crate) lifetime: Lifetime,
    /// How many answers are stored at one time; further ones are not.
    pub(crate) budget: Option<usize>,
    pub(crate) after: ExpiryRule,
    pub(crate) rate_limit: RateLimitPlace,
    /// The type of the body of a refusal; JSON if it is `None`.
    pub(crate) content_type: Option<String>,
    /// The body of a refusal. `{status}`, `{code}`, `{type}`, `{message}` and `{id}` are those of the refusal;
    /// what the refusal does not have is left out.
    pub(crate) body: Node,
    pub(crate) refusals: Refusals,
}

/// How a profile refuses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Refusals {
    /// There is no key; `None`: as for a length that is not allowed.
    pub(crate) missing: Option<RefusalRules>,
    pub(crate) length: RefusalRules,
    pub(crate) in_flight: RefusalRules,
    pub(crate) other_body: RefusalRules,
    /// The key was used for another endpoint; `None`: as for another body.
    pub(crate) other_endpoint: Option<RefusalRules>,
    /// The request was made before.
    pub(crate) used: RefusalRules,
    /// The lifetime of the key is over.
    pub(crate) ended: RefusalRules,
}

/// How a profile refuses a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RefusalRules {
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    /// `{key}` is the key, `{path}` the path of the request, `{first_path}` that of the first request with the
    /// key, and `{id}` the id of what that made.
    pub(crate) message: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Its body, if it is not that of the other refusals.
    pub(crate) body: Option<Node>,
}

impl RefusalRules {
    fn new(status: u16, code: &str, message: &str) -> Self {
        RefusalRules {
            status,
            code: Some(code.to_owned()),
            kind: None,
            message: message.to_owned(),
            headers: Vec::new(),
            body: None,
        }
    }
}

impl Default for KeyRules {
    fn default() -> Self {
        KeyRules {
            about: String::new(),
            source: String::new(),
            unverified: Vec::new(),
            hosts: Vec::new(),
            key: None,
            only_there: false,
            with: None,
            quoted: false,
            required: false,
            min: 1,
            max: MAX_LENGTH,
            scope: KeyScope::Account,
            identity: Vec::new(),
            stores: StorageRule::Started,
            replay: ReplayRule::First,
            replay_status: None,
            marker: Vec::new(),
            mismatch: MismatchRule::Refuse,
            concurrent: ConcurrencyRule::Refuse,
            lifetime: Lifetime::For(After::Time(LIFETIME)),
            budget: None,
            after: ExpiryRule::Execute,
            rate_limit: RateLimitPlace::Before,
            content_type: None,
            body: error_body(),
            refusals: Refusals {
                missing: Some(RefusalRules::new(
                    400,
                    "idempotency_key_missing",
                    "An idempotency key is required.",
                )),
                length: RefusalRules::new(
                    400,
                    "idempotency_key_invalid",
                    "The idempotency key has a length that is not allowed.",
                ),
                in_flight: RefusalRules::new(
                    409,
                    "idempotency_key_in_use",
                    "A request with this idempotency key is still being processed.",
                ),
                other_body: RefusalRules::new(
                    422,
                    "idempotency_key_reused",
                    "The idempotency key was used with another request.",
                ),
                other_endpoint: None,
                used: RefusalRules::new(409, "already_exists", "This request was made before."),
                ended: RefusalRules::new(400, "idempotency_key_expired", "The idempotency key has expired."),
            },
        }
    }
}

/// `{error: {code: "{code}", message: "{message}"}}`.
fn error_body() -> Node {
    let node = |kind| Node::new(kind, Span::default());
    let text = |text: &str| node(NodeKind::Text(text.to_owned()));
    let key = |name: &str| yaml_reader::Key { name: name.to_owned(), span: Span::default() };
    let error = node(NodeKind::Map(vec![
        (key("code"), text("{code}")),
        (key("message"), text("{message}")),
        (key("id"), text("{id}")),
    ]));
    node(NodeKind::Map(vec![(key("error"), error)]))
}

impl KeyRules {
    pub(crate) fn missing(&self) -> &RefusalRules {
        self.refusals.missing.as_ref().unwrap_or(&self.refusals.length)
    }

    pub(crate) fn other_endpoint(&self) -> &RefusalRules {
        self.refusals.other_endpoint.as_ref().unwrap_or(&self.refusals.other_body)
    }
}
