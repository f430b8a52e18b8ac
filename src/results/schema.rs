//! The JSON Schema of `report.json`, generated from the types: doc comments become descriptions.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};

use super::model::Report;

/// The JSON Schema of `report.json` (draft 2020-12), indented, with a final line break.
#[must_use]
pub fn report_schema_text() -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.root_schema_for::<Report>();
    RecursiveTransform(refuse_unknown_properties).transform(&mut schema);
    schema.insert("title".to_owned(), "report.json of hapax".into());
    format!("{:#}\n", schema.to_value())
}

/// An object with known properties allows no others.
fn refuse_unknown_properties(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;
    use serde_json::{Value, json};

    use super::*;
    use crate::results::{Report, sample};
    use crate::scenario::{
        Budget, IntentList, Invariant, LiveDue, NumberRange, OrderStep, Promise, RecordDue, TaskTerm, ViaDue,
    };
    use crate::score::{BarrierFacts, HostRequests, HostTreatment, Recovery, RetriedBy, Retry};

    fn schema() -> Value {
        serde_json::from_str(&report_schema_text()).unwrap()
    }

    fn problems(report: &Value) -> Vec<String> {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    /// A report in which no field is left out.
    fn fullest() -> Report {
        let (mut report, _) = sample::run();
        report.cases.push(sample::hostile(sample::HOSTILE).0);
        report.partition = Some((1, 2));
        report.notes = vec!["a note".to_owned()];
        let case = &mut report.cases[0];
        case.trials[0].seal = "5ea1".to_owned();
        case.terms.attempts =
            vec![Budget { operation: "payment.charge".to_owned(), at_least: 1, at_most: Some(3) }];
        case.terms.records =
            vec![RecordDue { key: "stock".to_owned(), counter: true, value: json!(3), start: Value::Null }];
        case.terms.invariants = vec![Invariant {
            keys: vec!["checking".to_owned(), "savings".to_owned()],
            counter: true,
            starts: vec![json!(1), Value::Null],
            sum_stays: true,
            sum: Some(NumberRange { least: Some(0), most: None }),
            each: Some(NumberRange { least: None, most: Some(9) }),
        }];
        case.terms.live =
            vec![LiveDue { place: "production".to_owned(), value: Some("v2".to_owned()), start: None }];
        case.terms.order = vec![OrderStep {
            effect: "payment.charge".to_owned(),
            selector: Fields::new().with("order", "ord_1"),
        }];
        case.terms.lists = vec![IntentList { first: 0, count: 1 }];
        case.terms.turns = 1;
        case.terms.promise = Promise::AtMostOnce;
        case.terms.recovery = Recovery::PERMITTED.to_vec();
        case.terms.intents[0].at_least = Some(0);
        case.terms.tasks = vec![TaskTerm { caller: Some(1), turn: 1, intents: vec![0] }];
        case.terms.interrupts = case.terms.faults.clone();
        case.terms.fields = vec![("order".to_owned(), "metadata.order_id".to_owned())];
        case.terms.via = vec![ViaDue { operation: "email.send".to_owned(), apis: vec!["smtp".to_owned()] }];
        case.terms.can = vec!["email.send via smtp".to_owned()];
        let verdict = &mut case.trials[0].verdict;
        verdict.barrier =
            Some(BarrierFacts { met: vec![1], absent: vec![2], locked: vec![3], ..BarrierFacts::default() });
        let none = HostRequests::to("a", 443, HostTreatment::Allowed);
        let host = HostRequests { requests: 2, failed: 1, input_tokens: 3, microdollars: 4, ..none };
        verdict.hosts =
            vec![host.clone(), HostRequests { treatment: HostTreatment::Ignored, failed: 0, ..host }];
        verdict.earlier_claims = verdict.claims.clone();
        verdict.claims[0].outcome = None;
        verdict.intents[0].at_least = Some(0);
        verdict.retries = vec![Retry {
            entry: 3,
            attempt: Some(2),
            name: Some("payment.charge#2".to_owned()),
            by: RetriedBy::Client,
            evidence: "same bytes and same key".to_owned(),
        }];
        verdict.attempts[0].refused = 1;
        verdict.attempts[0].at_least = 1;
        report
    }

    #[test]
    fn every_report_meets_the_schema() {
        let report = serde_json::to_value(fullest()).unwrap();
        assert_eq!(problems(&report), Vec::<String>::new());
    }

    #[test]
    fn a_field_that_the_schema_does_not_know_and_one_that_is_missing_are_found() {
        let mut report = serde_json::to_value(fullest()).unwrap();
        report["cases"][0]["trials"][0]["verdict"]["mood"] = json!("good");
        assert_eq!(problems(&report).len(), 1);
        report["cases"][0]["trials"][0]["verdict"].as_object_mut().unwrap().remove("mood");
        report.as_object_mut().unwrap().remove("seed");
        assert_eq!(problems(&report).len(), 1);
    }

    #[test]
    fn the_published_schema_is_the_generated_one() {
        let published = include_str!("../../docs/report.schema.json");
        assert!(
            published == report_schema_text(),
            "docs/report.schema.json is out of date; run `hapax schema report > docs/report.schema.json`"
        );
    }

    #[test]
    fn what_the_schema_says_may_be_left_out_can_be_left_out() {
        let mut report = serde_json::to_value(fullest()).unwrap();
        for name in ["interrupted", "partition", "digest", "planned", "notes", "skipped"] {
            report.as_object_mut().unwrap().remove(name);
        }
        let terms = report["cases"][0]["terms"].as_object_mut().unwrap();
        for name in [
            "claims_optional",
            "compensation",
            "records",
            "interrupts",
            "barrier",
            "fields",
            "respect_retry_after",
        ] {
            terms.remove(name);
        }
        assert_eq!(problems(&report), Vec::<String>::new());
        serde_json::from_value::<Report>(report).unwrap();
    }
}
