//! One request on its way through the engine.

use std::borrow::Cow;
use std::cell::RefCell;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::idempotency::{Keyed, Profile, SentKey, fingerprint};
use crate::service::{Envelope, Fields, Kind, Operation, Recognized, Request, Service};

/// Longer values are cut in the ledger: a subject must not be able to fill it.
const LONGEST_SHOWN: usize = 2_048;
/// Headers that tell the client and its retry count.
const TELLING: &[&str] = &[
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
    "traceparent",
];

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) caller: u32,
    pub(crate) connection: u64,
}

/// A request that the service understood, with all that is needed to decide on it, now or later.
pub(super) struct Job<S: Service> {
    pub(super) request: Request,
    pub(super) recognised: Recognized<S::Call>,
    pub(super) keyed: Option<Keyed>,
    /// The headers that tell the client, and whether an IETF key came bare or quoted.
    pub(super) client: Fields,
    pub(super) origin: Origin,
    /// The number of this request among those of its caller.
    pub(super) number: u64,
    /// Stands for the bytes of a write: method, target and body. It tells whether two requests are the same,
    /// and is kept nowhere.
    pub(super) bytes: Option<u64>,
}

impl<S: Service> Job<S> {
    /// `profile` says how keys are read; none where this request's are not looked at.
    pub(super) fn new(
        service: &S,
        profile: Option<Profile>,
        request: Request,
        recognised: Recognized<S::Call>,
        origin: Origin,
        number: u64,
    ) -> Self {
        let is_write = service.operations()[recognised.operation].kind == Kind::Write;
        let takes_keys = is_write && !matches!(request.method(), "GET" | "HEAD" | "DELETE");
        let sent = profile.filter(|_| takes_keys).zip(service.key_of(&request));
        let keyed = sent.map(|(profile, value)| Keyed {
            key: SentKey::new(&value, profile).key.into(),
            endpoint: endpoint(&request),
            fingerprint: fingerprint(&request, service.parameter_headers(recognised.operation)),
        });
        let client = client(&request, service.key_header(), profile);
        let bytes = is_write.then(|| bytes(&request));
        Job { request, recognised, keyed, client, origin, number, bytes }
    }

    pub(super) fn operation<'s>(&self, service: &'s S) -> &'s Operation {
        &service.operations()[self.recognised.operation]
    }

    /// The key as it was sent, for the ledger; whatever the profile makes of it.
    pub(super) fn shown_key(&self, service: &S, profile: Profile) -> Option<Cow<'_, str>> {
        match &self.keyed {
            Some(keyed) => Some(shown(&keyed.key)),
            None => shown_key(service, &self.request, profile),
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

/// The method and the path. Many keys are used at one endpoint: where it is that of the request before, they
/// share it.
fn endpoint(request: &Request) -> Arc<str> {
    thread_local! {
        static LAST: RefCell<Arc<str>> = RefCell::new(Arc::from(""));
    }
    let (method, path) = (request.method(), request.path());
    LAST.with_borrow_mut(|last| {
        let is_same = last.strip_prefix(method).and_then(|rest| rest.strip_prefix(' ')) == Some(path);
        if !is_same {
            *last = [method, " ", path].concat().into();
        }
        Arc::clone(last)
    })
}

/// The key as it was sent, for the ledger; whatever the profile makes of it.
pub(super) fn shown_key<'a, S: Service>(
    service: &S,
    request: &'a Request,
    profile: Profile,
) -> Option<Cow<'a, str>> {
    service.key_of(request).map(|value| match value {
        Cow::Borrowed(value) => shown(SentKey::new(value, profile).key),
        Cow::Owned(value) => Cow::Owned(shown(SentKey::new(&value, profile).key).into_owned()),
    })
}

fn client(request: &Request, key_header: &str, profile: Option<Profile>) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in request.headers() {
        // All that tell begin with one of a few letters.
        let may_tell = matches!(
            name.as_bytes(),
            [b'u' | b'U' | b'x' | b'X' | b't' | b'T' | b'r' | b'R' | b'a' | b'A', ..]
        );
        if may_tell && let Some(telling) = TELLING.iter().find(|telling| telling.eq_ignore_ascii_case(name)) {
            fields.set(*telling, &*shown(value));
        } else if profile == Some(Profile::Ietf) && name.eq_ignore_ascii_case(key_header) {
            fields.set("key-form", if SentKey::new(value, Profile::Ietf).quoted { "quoted" } else { "bare" });
        }
    }
    fields
}

/// The text, cut where it is too long to be shown.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_SHOWN {
        return Cow::Borrowed(text);
    }
    let end = (0..=LONGEST_SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    Cow::Owned(format!("{}…", &text[..end]))
}
