//! How a service treats idempotency keys: the profiles of real services. A profile is a file of the folder
//! `profiles`, which the build script lists; everything about it is in that file.

mod no_key;
mod place;
mod read;
mod rules;
mod table;

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};

use crate::after::After;
use crate::word_enum;
pub(crate) use no_key::no_key_there;
pub use place::KeyPlace;
pub use read::{IDEMPOTENCY, IDEMPOTENCY_DEFINITION, ReadFile, parse_idempotency, read_idempotency};
pub(crate) use rules::{
    ConcurrencyRule, ExpiryRule, KeyRules, KeyScope, Lifetime, MismatchRule, RateLimitPlace, RefusalRules,
    ReplayRule, StorageRule,
};
pub use table::{profiles_json, profiles_page, profiles_text};

// `Profile`, with a variant for each file, and `FILES`: the name and the text of each, in the same order.
include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

static SHIPPED: LazyLock<Vec<Idempotency>> = LazyLock::new(|| {
    let rules = |(name, _): &(&str, &str)| {
        // A test reads every file; one that cannot be read would ignore keys.
        Idempotency::from_rules((*name).to_owned(), read::read_shipped(name).unwrap_or_default())
    };
    FILES.iter().map(rules).collect()
});

static OF_PROVIDERS: LazyLock<Vec<Idempotency>> = LazyLock::new(|| {
    let strict = |one: &Idempotency| {
        let rules = KeyRules { only_there: true, ..one.rules().clone() };
        Idempotency::from_rules(one.0.name.clone(), rules)
    };
    SHIPPED.iter().map(strict).collect()
});

impl Profile {
    /// How it treats keys.
    #[must_use]
    pub fn idempotency(self) -> &'static Idempotency {
        // The files have the order of the variants.
        &SHIPPED[self as usize]
    }

    /// The same for the provider itself: keys count where it has them, and nowhere else.
    pub(crate) fn of_provider(self) -> &'static Idempotency {
        &OF_PROVIDERS[self as usize]
    }

    /// The profile of the provider that has this host.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Profile> {
        let has = |pattern: &String| match pattern.strip_prefix('*') {
            Some(end) => host.ends_with(end),
            None => host == pattern,
        };
        Profile::ALL.into_iter().find(|profile| profile.idempotency().rules().hosts.iter().any(has))
    }
}

/// How keys are treated: a profile, or what a scenario makes of one. A copy shares its rules.
#[derive(Debug, Clone)]
pub struct Idempotency(Arc<NamedRules>);

impl PartialEq for Idempotency {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Idempotency {}

#[derive(Debug, PartialEq)]
struct NamedRules {
    /// The name of the profile or of the file.
    name: String,
    rules: KeyRules,
}

impl Idempotency {
    /// A profile with its own lifetime.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        profile.idempotency().clone()
    }

    fn from_rules(name: String, rules: KeyRules) -> Self {
        Idempotency(Arc::new(NamedRules { name, rules }))
    }

    /// The same with another lifetime.
    #[must_use]
    pub fn with_lifetime(&self, lifetime: After) -> Self {
        let rules = KeyRules { lifetime: Lifetime::For(lifetime), ..self.rules().clone() };
        Idempotency::from_rules(self.0.name.clone(), rules)
    }

    /// The name of the profile, or of the file, that it is or is based on.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it is, in one sentence.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.rules().about
    }

    /// Whether keys have any meaning.
    #[must_use]
    pub fn takes_keys(&self) -> bool {
        self.rules().key.is_some()
    }

    /// Whether a write without a key is refused.
    #[must_use]
    pub fn requires_key(&self) -> bool {
        self.rules().required
    }

    /// Where a request has its key.
    #[must_use]
    pub fn place(&self) -> Option<&KeyPlace> {
        self.rules().key.as_ref()
    }

    /// Whether a key of one endpoint is another one at the next.
    #[must_use]
    pub fn is_per_endpoint(&self) -> bool {
        self.rules().scope == KeyScope::Endpoint
    }

    /// The fields that belong to the key: with another value in one of them, it is another key.
    #[must_use]
    pub fn identity(&self) -> &[String] {
        &self.rules().identity
    }

    /// Whether it has the rules of the shipped profile of its name; its lifetime can be another.
    #[must_use]
    pub fn is_shipped(&self) -> bool {
        let with_lifetime = |rules: &KeyRules| KeyRules { lifetime: self.rules().lifetime, ..rules.clone() };
        let shipped = self.name().parse::<Profile>().ok().map(Profile::idempotency);
        shipped.is_some_and(|shipped| shipped == self || with_lifetime(shipped.rules()) == *self.rules())
    }

    /// Whether it is that profile, or a changed form of it; exactly that, if it is not a shipped one.
    #[must_use]
    pub fn is_kind_of(&self, profile: &Idempotency) -> bool {
        self.name() == profile.name() && (profile.is_shipped() || self.rules() == profile.rules())
    }

    pub(crate) fn rules(&self) -> &KeyRules {
        &self.0.rules
    }
}

/// Its name and its lifetime; all rules, if they are not those of a shipped profile.
impl Serialize for Idempotency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rules = self.rules();
        let is_shipped = self.is_shipped();
        let mut tuple = serializer.serialize_tuple(if is_shipped { 2 } else { 3 })?;
        tuple.serialize_element(self.name())?;
        tuple.serialize_element(&rules.lifetime)?;
        if !is_shipped {
            tuple.serialize_element(rules)?;
        }
        tuple.end()
    }
}

impl fmt::Display for Idempotency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())?;
        if !self.is_shipped() && self.name().parse::<Profile>().is_ok() {
            out.write_str(" (changed)")?;
        }
        Ok(())
    }
}

/// The refusal of a key by a profile. A service with the API of that profile can answer it in the form of its
/// own errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError<'a> {
    /// The name of the profile that refuses the key.
    pub profile: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The short name of the error, if it has one.
    pub code: Option<&'a str>,
    /// The kind of the error.
    pub kind: &'a str,
    /// The message that is shown.
    pub message: String,
    /// The id of what the first request with the key made; empty if it is not known.
    pub id: &'a str,
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
