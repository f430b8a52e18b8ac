//! What the user knows about the real services, such as "our provider honors idempotency keys": cases in which
//! a service behaves otherwise are skipped.

use std::fmt;

use mock_services::idempotency::Profile;
use mock_services::{catalog, examples};
use serde::Serialize;
use yaml_reader::shape::{Count, MapShape, Shape, required};
use yaml_reader::{Node, Reader, listed, nearest, shown};

use crate::scenario::Case;

/// How a service treats idempotency keys, in the world of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assumption {
    service: String,
    #[serde(serialize_with = "word")]
    profile: Profile,
}

fn word<S: serde::Serializer>(profile: &Profile, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(profile.as_str())
}

/// As on the command line: `payment.idempotency=stripe`.
impl fmt::Display for Assumption {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.idempotency={}", self.service, self.profile.as_str())
    }
}

impl Assumption {
    /// Reads `payment.idempotency=stripe`.
    ///
    /// # Errors
    /// If the text is something else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(key, value)| Some((key.split_once('.')?, value)));
        let Some(((service, "idempotency"), profile)) = parts else {
            return Err(format!("write it as SERVICE.idempotency=PROFILE: {}", examples::ASSUMPTION));
        };
        if let Some(problem) = unknown_service(service) {
            return Err(problem);
        }
        let profile = profile
            .parse::<Profile>()
            .map_err(|_| format!("unknown profile `{}`: expected {}", shown(profile), listed(words())))?;
        Ok(Assumption { service: service.to_owned(), profile })
    }

    /// Whether it is about this service.
    pub(crate) fn is_about(&self, service: &str) -> bool {
        self.service == service
    }

    /// Why the case is skipped, if its service does something else. A case that says nothing about keys is not
    /// skipped.
    #[must_use]
    pub fn excludes(&self, case: &Case) -> Option<String> {
        let setup = case.services.iter().find(|setup| setup.name == self.service)?;
        let profile = setup.idempotency?.profile;
        (profile != self.profile).then(|| {
            let Assumption { service, profile: assumed } = self;
            format!(
                "{service} has idempotency {} here; {} is assumed (`assume` in hapax.yaml, or --assume)",
                profile.as_str(),
                assumed.as_str()
            )
        })
    }
}

fn words() -> impl Iterator<Item = &'static str> + Clone {
    Profile::ALL.iter().map(|profile| profile.as_str())
}

/// A name that is nearly that of a shipped service; others can be services of the user.
fn unknown_service(name: &str) -> Option<String> {
    if catalog::find(name).is_some() {
        return None;
    }
    let near = nearest(name, catalog::names())?;
    Some(format!("there is no service `{}`; did you mean `{near}`?", shown(name)))
}

/// The shape of `assume`.
pub(super) const ASSUME: Shape = Shape::MapOf(&Shape::Any, &ASSUMPTION.shape(), Count::ANY);
static ASSUMPTION: MapShape<1> =
    MapShape::new([required("idempotency", Shape::Words(|| Profile::ALL.map(Profile::as_str).to_vec()))]);

/// `{payment: {idempotency: stripe}}`.
pub(super) fn read_assumptions(reader: &Reader, node: &Node) -> Vec<Assumption> {
    let profiles: Vec<(&str, Profile)> = Profile::ALL.iter().map(|one| (one.as_str(), *one)).collect();
    let mut assumptions = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        if let Some(problem) = unknown_service(&key.name) {
            reader.report(key.span, problem);
        }
        let Some([profile]) = reader.fields(node, "an assumption", &ASSUMPTION) else { continue };
        let profile = profile.and_then(|node| reader.one_of(node, &profiles));
        assumptions.extend(profile.map(|profile| Assumption { service: key.name.clone(), profile }));
    }
    assumptions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::shipped;

    fn excluded(text: &str) -> Vec<String> {
        let assumption = Assumption::parse(text).unwrap();
        let cases = shipped().unwrap();
        cases.into_iter().filter(|case| assumption.excludes(case).is_some()).map(|case| case.id).collect()
    }

    #[test]
    fn only_cases_whose_service_behaves_otherwise_are_excluded() {
        let excluded = excluded("payment.idempotency=stripe");
        assert!(excluded.contains(&"payment/lost-reply@keys=none,reply=drop".to_owned()), "{excluded:?}");
        assert!(excluded.iter().all(|id| !id.contains("keys=stripe") && !id.starts_with("email/")));
    }

    #[test]
    fn a_mistake_is_explained() {
        for (text, expected) in [
            ("payment=stripe", "write it as SERVICE.idempotency=PROFILE"),
            ("payment.keys=stripe", "write it as SERVICE.idempotency=PROFILE"),
            ("paymnt.idempotency=stripe", "did you mean `payment`?"),
            ("payment.idempotency=strip", "expected `stripe`, `ietf`, `acp`, `resend` or `none`"),
        ] {
            let error = Assumption::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Assumption::parse("ledger.idempotency=none").is_ok(), "a service of the user");
    }
}
