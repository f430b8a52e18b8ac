use super::*;
use serde_json::json;

fn step(operation: &str, fields: &[(&str, &str)], nouns: &[&str]) -> PlannedStep {
    let fields =
        fields.iter().fold(crate::service::Fields::new(), |all, (name, value)| all.with(*name, *value));
    let nouns = nouns.iter().map(|noun| (*noun).to_owned()).collect();
    PlannedStep { operation: operation.to_owned(), fields, nouns }
}

/// A tool with these required arguments.
fn tool(name: &str, required: &[&str]) -> OfferedTool {
    let properties: serde_json::Map<String, serde_json::Value> =
        required.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    OfferedTool { name: name.to_owned(), description: String::new(), schema }
}

fn chosen(
    step: &PlannedStep,
    tools: &[OfferedTool],
    named: Option<&str>,
) -> Result<(String, ChoiceReason), NoTool> {
    choose(step, tools, named).map(|chosen| (chosen.tool.name.clone(), chosen.reason))
}

#[test]
fn the_tool_that_the_scenario_names_is_chosen_first() {
    let charge = step("payment.charge", &[("customer", "cus_42")], &["charge"]);
    let tools = [tool("charge_payment", &["customer"]), tool("do_it", &["customer"])];
    assert_eq!(chosen(&charge, &tools, Some("do_it")), Ok(("do_it".to_owned(), ChoiceReason::Named)));
    assert_eq!(chosen(&charge, &tools, Some("pay")), Err(NoTool::NotOffered("pay".to_owned())));
    let tools = [tool("do_it", &["customer", "color"])];
    let missing = vec!["color".to_owned()];
    assert_eq!(
        chosen(&charge, &tools, Some("do_it")),
        Err(NoTool::NotCovered { tool: "do_it".to_owned(), missing })
    );
}

#[test]
fn verb_and_noun_come_before_the_verb_and_the_verb_before_the_arguments() {
    let mail = step("email.send", &[("to", "ann@x.example")], &["mail"]);
    let (email, sms, notify) =
        (tool("sendEmail", &["to"]), tool("send_sms", &["to"]), tool("notify", &["to"]));
    let all = [sms.clone(), email, notify.clone()];
    assert_eq!(chosen(&mail, &all, None), Ok(("sendEmail".to_owned(), ChoiceReason::VerbAndNoun)));
    assert_eq!(chosen(&mail, &[sms, notify.clone()], None), Ok(("send_sms".to_owned(), ChoiceReason::Verb)));
    assert_eq!(chosen(&mail, &[notify], None), Ok(("notify".to_owned(), ChoiceReason::Arguments)));
}

#[test]
fn a_tool_that_reads_is_not_chosen_for_a_write() {
    let refund = step("payment.refund", &[("charge", "ch_1")], &["refund"]);
    let tools = [tool("list_refunds", &["charge"]), tool("refund_charge", &["charge_id"])];
    assert_eq!(chosen(&refund, &tools, None), Ok(("refund_charge".to_owned(), ChoiceReason::Verb)));
    for (name, is) in [
        ("get_charge", true),
        ("stripe__list_charges", true),
        ("check_order", true),
        ("order_status", true),
        ("update_order_status", false),
        ("refund", false),
        ("spreadsheet", false),
    ] {
        assert_eq!(is_read(name), is, "{name}");
    }
}

#[test]
fn a_tie_is_not_decided() {
    let charge = step("payment.charge", &[("customer", "cus_42")], &["charge"]);
    let tools = [tool("charge_card", &["customer"]), tool("charge_account", &["customer"])];
    let both = vec!["charge_card".to_owned(), "charge_account".to_owned()];
    assert_eq!(chosen(&charge, &tools, None), Err(NoTool::Tie(both)));
    let tools = [tool("a", &["customer"]), tool("b", &["customer"])];
    assert!(matches!(chosen(&charge, &tools, None), Err(NoTool::Tie(_))));
}

#[test]
fn a_tool_whose_required_arguments_the_step_does_not_have_does_not_fit() {
    let charge = step("payment.charge", &[("customer", "cus_42")], &["charge"]);
    let tools = [tool("charge_card", &["customer", "cvc"]), tool("ping", &[])];
    let missing = vec![("charge_card".to_owned(), vec!["cvc".to_owned()])];
    assert_eq!(chosen(&charge, &tools, None), Err(NoTool::NoneFits(missing)));
    assert_eq!(chosen(&charge, &[], None), Err(NoTool::NoneFits(Vec::new())));
}

#[test]
fn names_are_split_into_the_same_words() {
    for name in ["sendEmail", "send_email", "send-email", "Send Email", "send.email"] {
        assert_eq!(words(name), ["send", "email"], "{name}");
    }
    assert_eq!(words("charge2Card"), ["charge2", "card"]);
}
