//! The approval service in the catalog, and its options in a scenario.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use yaml_reader::shape::{MapShape, Shape, optional, words_of};

use super::{ApprovalOptions, Approvals};
use crate::description::{
    AFTER, AnswerPlan, ApprovalPart, ConfiguredService, EffectDescription, EndpointDescription,
    FieldDescription, FieldKind, FieldKinds, FieldRole, ServiceDescription, read_after,
};
use crate::services::{Builder, ServiceOptions};

const FIELDS: &[FieldDescription] = &[
    FieldDescription::new("order").role(FieldRole::Purpose),
    FieldDescription::new("operation").role(FieldRole::Object),
];
/// A question has the fields of the operation that it is about; an approval is compared with all of them.
const KINDS: FieldKinds = &[(FieldKind::WhoAndHowMuch, &["operation", "decision", "*"])];
/// What the person decides, if nothing else says it.
const DECISIONS: [(&str, Option<&str>); 4] = [
    ("approved", Some("approved")),
    ("denied", Some("denied")),
    ("expired", Some("expired")),
    ("never", None),
];

static OPTIONS: MapShape<2> = MapShape::new([
    optional("decision", Shape::Words(|| words_of(&DECISIONS)))
        .about("What the person decides; without it, what `approvals` of the scenario says, or nothing."),
    optional("after", AFTER).about("When the answer comes."),
]);

/// The catalog's description of the approval service.
pub(crate) fn description() -> ServiceDescription {
    let request = EffectDescription {
        approval: Some(ApprovalPart::Question),
        ..EffectDescription::new("approval.request", &["operation"])
            .labels(&["*"])
            .noun("question", "questions")
            .cost()
    };
    let answer = EffectDescription {
        approval: Some(ApprovalPart::Answer),
        of: Some("approval.request"),
        ..EffectDescription::new("approval.answer", &["operation", "decision"])
            .noun("answer", "answers")
            .cost()
    };
    let cancel = EffectDescription {
        approval: Some(ApprovalPart::Withdrawal),
        ..EffectDescription::new("approval.cancel", &[])
            .noun("withdrawn question", "withdrawn questions")
            .cost()
    };
    ServiceDescription {
        can_be_added: true,
        effects: vec![request, answer, cancel],
        reveals: ServiceDescription::revealed(&[
            ("approval.get", &["approval.request", "approval.cancel"]),
            ("approval.list", &["approval.request", "approval.cancel"]),
        ]),
        kinds: KINDS,
        fields: FIELDS,
        options: OPTIONS.fields(),
        tools: Arc::new(super::tools::all),
        endpoints: Arc::new(endpoints),
        about: "Questions to a person, and their answers.".to_owned(),
        not_there: &["There are no people to choose from: whoever is asked answers as the scenario says."],
        ..ServiceDescription::new(&Approvals::new(ApprovalOptions::default()), |reader, map| {
            let [decision, after] = map.fields(&OPTIONS);
            let answers_itself = decision.is_some() || after.is_some();
            let decision =
                decision.and_then(|node| reader.one_of(node, &DECISIONS)).flatten().map(str::to_owned);
            let after = after.and_then(|node| read_after(reader, node));
            let options = ApprovalOptions { decision, after };
            Arc::new(ConfiguredApprovals { options, answers_itself, plan: None })
        })
    }
}

fn endpoints() -> Vec<EndpointDescription> {
    let one = |method: &str, path: &str, operation: &str, parameters: &[&str]| {
        EndpointDescription::new(method, path, &[operation], &[parameters])
    };
    vec![
        one("POST", "/approvals", "approval.request", &["operation", "fields"]),
        one("GET", "/approvals", "approval.list", &[]),
        one("GET", "/approvals/{id}", "approval.get", &["wait"]),
        one("POST", "/approvals/{id}/cancel", "approval.cancel", &[]),
    ]
}

/// The service with its options, and the person of a scenario.
struct ConfiguredApprovals {
    options: ApprovalOptions,
    /// Whether the options say what the person answers.
    answers_itself: bool,
    plan: Option<AnswerPlan>,
}

impl fmt::Debug for ConfiguredApprovals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredApprovals").field("options", &self.options).finish_non_exhaustive()
    }
}

impl ConfiguredService for ConfiguredApprovals {
    fn configuration(&self) -> Value {
        json!(self.options)
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        let service = match &self.plan {
            Some(plan) => Approvals::with_plan(Arc::clone(plan)),
            None => Approvals::new(self.options.clone()),
        };
        builder.service(service, options)
    }

    fn with_answers(&self, plan: &AnswerPlan) -> Option<Arc<dyn ConfiguredService>> {
        let (options, plan) = (self.options.clone(), Some(Arc::clone(plan)));
        (!self.answers_itself).then(|| -> Arc<dyn ConfiguredService> {
            Arc::new(ConfiguredApprovals { options, answers_itself: false, plan })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_endpoints_that_the_router_has() {
        crate::catalog::listed_like_routed(&Approvals::new(ApprovalOptions::default()), &endpoints(), &[]);
    }
}
