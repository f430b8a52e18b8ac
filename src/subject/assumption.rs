//! What the user knows about the real services, such as "our provider honors idempotency keys": cases in which
//! a service behaves otherwise are skipped, and a service of which a case does not say how it treats keys does as the
//! user says.

use std::fmt;
use std::path::Path;

use mock_services::idempotency::{IDEMPOTENCY, Idempotency, Profile, parse_idempotency, read_idempotency};
use mock_services::{catalog, examples};
use serde::Serialize;
use yaml_reader::shape::{Count, MapShape, Shape, required};
use yaml_reader::{Node, Reader, nearest, shown};

use crate::scenario::{AssumedKeys, Case, own_file};

/// How a service treats idempotency keys, in the world of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assumption {
    service: String,
    #[serde(rename = "profile", serialize_with = "name_or_rules")]
    idempotency: Idempotency,
}

/// The name of a shipped profile; the rules of another one, so that runs with other rules differ.
fn name_or_rules<S: serde::Serializer>(rules: &Idempotency, serializer: S) -> Result<S::Ok, S::Error> {
    match rules.name().parse::<Profile>() {
        Ok(profile) if profile.idempotency() == rules => serializer.serialize_str(rules.name()),
        _ => rules.serialize(serializer),
    }
}

/// As on the command line: `payment.idempotency=stripe`.
impl fmt::Display for Assumption {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.idempotency={}", self.service, self.idempotency.name())
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
        let idempotency = parse_idempotency(profile, &|path| own_file(Path::new("."), path))?;
        if let Some((problem, help)) = key_place_problem(service, &idempotency) {
            return Err(format!("{problem}; {help}"));
        }
        Ok(Assumption { service: service.to_owned(), idempotency })
    }

    /// Whether it is about this service.
    pub(crate) fn is_about(&self, service: &str) -> bool {
        self.service == service
    }

    /// How it treats keys.
    pub(crate) fn idempotency(&self) -> &Idempotency {
        &self.idempotency
    }

    /// It for a generated scenario.
    pub(super) fn as_keys(&self) -> AssumedKeys {
        let profile = Some(self.idempotency.name().to_owned()).filter(|_| self.idempotency.is_shipped());
        AssumedKeys { service: self.service.clone(), profile }
    }

    /// Why the case is skipped, if its service does something else. A case that says nothing about keys is not
    /// skipped.
    #[must_use]
    pub fn excludes(&self, case: &Case) -> Option<String> {
        let setup = case.services.iter().find(|setup| setup.name == self.service)?;
        let rules = setup.idempotency.as_ref()?;
        (!rules.is_kind_of(&self.idempotency)).then(|| {
            let Assumption { service, idempotency: assumed } = self;
            format!(
                "{service} has idempotency {} here; {} is assumed (`assume` in hapax.yaml, or --assume)",
                rules.name(),
                assumed.name()
            )
        })
    }
}

/// A name that is nearly that of a shipped service; others can be services of the user.
fn unknown_service(name: &str) -> Option<String> {
    if catalog::find(name).is_some() {
        return None;
    }
    let near = nearest(name, catalog::names())?;
    Some(format!("there is no service `{}`; did you mean `{near}`?", shown(name)))
}

/// Why a shipped service cannot have keys as these rules say, and what to do.
fn key_place_problem(service: &str, rules: &Idempotency) -> Option<(String, &'static str)> {
    catalog::find(service)?.key_place_problem(rules.place()?)
}

/// The shape of `assume`.
pub(super) const ASSUME: Shape = Shape::MapOf(&Shape::Any, &ASSUMPTION.shape(), Count::ANY);
static ASSUMPTION: MapShape<1> = MapShape::new([required("idempotency", IDEMPOTENCY)]);

/// `{payment: {idempotency: stripe}}`.
pub(super) fn read_assumptions(reader: &Reader, node: &Node, folder: &Path) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        if let Some(problem) = unknown_service(&key.name) {
            reader.report(key.span, problem);
        }
        let Some([profile]) = reader.fields(node, "an assumption", &ASSUMPTION) else { continue };
        let files = |path: &str| own_file(folder, path);
        let Some(profile) = profile else { continue };
        let known = read_idempotency(reader, profile, &files);
        if let Some((problem, help)) = known.as_ref().and_then(|rules| key_place_problem(&key.name, rules)) {
            reader.report_with_help(profile.get("key").unwrap_or(profile).span, problem, help);
        }
        assumptions.extend(known.map(|idempotency| Assumption { service: key.name.clone(), idempotency }));
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
            ("payment.idempotency=strip", "did you mean `stripe`?"),
            ("payment.idempotency=gone.yaml", "cannot read `gone.yaml`"),
            ("payment.idempotency=resend-smtp", "takes no messages over SMTP"),
        ] {
            let error = Assumption::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Assumption::parse("ledger.idempotency=none").is_ok(), "a service of the user");
    }
}
