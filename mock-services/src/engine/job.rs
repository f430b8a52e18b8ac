//! One request that the engine processes.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use compact_str::CompactString;
use foldhash::fast::FixedState;

use super::keys::{Keyed, SentKey, sent_key};
use crate::delivery::Origin;
use crate::idempotency::{Idempotency, KeyPlace};
use crate::service::{Envelope, Fields, Operation, OperationKind, Recognized, Request, Service};

/// Longer values are cut in the ledger: a subject must not be able to fill it.
const LONGEST_SHOWN: usize = 2_048;
/// Headers that identify the client and its retry count.
const CLIENT_HEADERS: &[&str] = &[
    "user-agent",
    "x-stripe-client-user-agent",
    "x-stripe-client-telemetry",
    "x-stainless-lang",
    "x-stainless-package-version",
    "x-stainless-retry-count",
    "x-retry-count",
    "x-request-attempt",
    "x-retry-attempt",
    "retry-attempt",
    "amz-sdk-request",
    "x-atlassian-token",
    "traceparent",
];

/// A request that the service recognized, with what is needed to decide it now or later.
pub(super) struct Job<S: Service> {
    pub(super) request: Request,
    pub(super) recognized: Recognized<S::Call>,
    /// How its key is treated; `None` if it is ignored.
    pub(super) rules: Option<Idempotency>,
    pub(super) keyed: Option<Keyed>,
    /// The headers that identify the client, and whether an IETF key was sent bare or quoted.
    pub(super) client: Fields,
    pub(super) origin: Origin,
    /// The number of this request among those of its caller.
    pub(super) number: u64,
    /// A hash of the bytes of a write: method, target and body. It is used to see whether two requests are
    /// the same, and is recorded nowhere.
    pub(super) bytes: Option<u64>,
    /// How many entries the ledger had when it came; 0 where no history is recorded.
    pub(super) came_after: u64,
}

impl<S: Service> Job<S> {
    /// `rules` says how its key is treated; `None` if it is ignored.
    pub(super) fn new(
        service: &S,
        rules: Option<Idempotency>,
        request: Request,
        recognized: Recognized<S::Call>,
        origin: Origin,
        number: u64,
    ) -> Self {
        let is_write = service.operations()[recognized.operation].kind == OperationKind::Write;
        // A message over SMTP can have its key only in one of its own headers.
        let is_mail = |rules: &Idempotency| matches!(rules.place(), Some(KeyPlace::Mime(_)));
        let client = client(&request, service.key_header(), rules.as_ref());
        let rules = rules.filter(|rules| {
            is_write && request.method() != "DELETE" && request.envelope().is_some() == is_mail(rules)
        });
        let takes_keys = !matches!(request.method(), "GET" | "HEAD");
        let keyed = rules
            .as_ref()
            .filter(|_| takes_keys)
            .and_then(|rules| Keyed::of(service, rules, &request, &recognized.fields, recognized.operation));
        let bytes = is_write.then(|| bytes(&request));
        Job { request, recognized, rules, keyed, client, origin, number, bytes, came_after: 0 }
    }

    pub(super) fn operation<'s>(&self, service: &'s S) -> &'s Operation {
        &service.operations()[self.recognized.operation]
    }

    /// The key for the ledger, as it was sent, also if the profile ignores it.
    pub(super) fn shown_key(&self, service: &S, rules: &Idempotency) -> Option<CompactString> {
        match &self.keyed {
            Some(keyed) if rules.place() != Some(&KeyPlace::Content) => Some(shown(&keyed.key)),
            _ => shown_key(service, &self.request, rules),
        }
    }
}

/// A number for the bytes of a request that is the same for the same bytes.
fn bytes(request: &Request) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for part in
        [request.method().as_bytes(), request.path().as_bytes(), request.query().as_bytes(), request.bytes()]
    {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    if let Some(Envelope { from, to }) = request.envelope() {
        from.hash(&mut hasher);
        to.hash(&mut hasher);
    }
    hasher.finish()
}

/// The key for the ledger, as it was sent, also if the profile ignores it.
pub(super) fn shown_key<S: Service>(
    service: &S,
    request: &Request,
    rules: &Idempotency,
) -> Option<CompactString> {
    sent_key(service, request, rules).map(|value| shown(SentKey::new(&value, rules.rules()).key))
}

fn client(request: &Request, key_header: &str, rules: Option<&Idempotency>) -> Fields {
    let mut fields = Fields::new();
    let quoting = rules.map(Idempotency::rules).filter(|rules| rules.quoted);
    for (name, value) in request.headers() {
        if let Some(known) = CLIENT_HEADERS.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            fields.set(*known, &*shown(value));
        } else if let Some(rules) = quoting.filter(|_| name.eq_ignore_ascii_case(key_header)) {
            fields.set("key-form", if SentKey::new(value, rules).quoted { "quoted" } else { "bare" });
        }
    }
    fields
}

/// The text, cut if it is too long to be shown.
pub(super) fn shown(text: &str) -> CompactString {
    if text.len() <= LONGEST_SHOWN {
        return text.into();
    }
    let end = (0..=LONGEST_SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    compact_str::format_compact!("{}…", &text[..end])
}
