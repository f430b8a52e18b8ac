//! Chooses the tool for a step: the one that the scenario names, or else the one whose name and arguments
//! fit. A tie is not decided.

use std::fmt;

use super::arguments::{MappedArguments, map_arguments};
use super::conversation::OfferedTool;
use super::finding_tools::is_own_work;
use crate::description::PlannedStep;

/// The tool for a step.
#[derive(Debug)]
pub(super) struct ChosenTool<'a> {
    pub(super) tool: &'a OfferedTool,
    pub(super) arguments: MappedArguments,
    /// Why it was chosen, for the ledger.
    pub(super) reason: ChoiceReason,
}

/// Why a tool was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChoiceReason {
    /// The scenario or hapax.yaml names it.
    Named,
    /// Its name has the verb and a noun of the operation.
    VerbAndNoun,
    /// Its name has the verb of the operation.
    Verb,
    /// It is the only tool whose required arguments the step has.
    Arguments,
}

impl ChoiceReason {
    /// Whether another tool hardly fits better.
    pub(super) const fn is_certain(self) -> bool {
        matches!(self, ChoiceReason::Named | ChoiceReason::VerbAndNoun)
    }
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChoiceReason::Named => "`tools` names it",
            ChoiceReason::VerbAndNoun => "its name has the verb and the noun of the operation",
            ChoiceReason::Verb => "its name has the verb of the operation",
            ChoiceReason::Arguments => "it is the only tool whose required arguments the step has",
        })
    }
}

/// Why no tool was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoTool {
    /// The tool that the scenario names is not on offer.
    NotOffered(String),
    /// The tool that the scenario names requires arguments that the step does not have.
    NotCovered {
        /// The tool.
        tool: String,
        /// Its required arguments that the step does not have.
        missing: Vec<String>,
    },
    /// No tool fits. Each tool whose name fits requires arguments that the step does not have.
    NoneFits(Vec<(String, Vec<String>)>),
    /// Several tools fit equally well.
    Tie(Vec<String>),
}

/// The tool for a step, where `named` is the one that the scenario names.
pub(super) fn choose<'a>(
    step: &PlannedStep,
    tools: &'a [OfferedTool],
    named: Option<&str>,
) -> Result<ChosenTool<'a>, NoTool> {
    if let Some(named) = named {
        let tool = tools.iter().find(|tool| tool.is_named(named));
        let tool = tool.ok_or_else(|| NoTool::NotOffered(named.to_owned()))?;
        return match map_arguments(step, tool) {
            Ok(arguments) => Ok(ChosenTool { tool, arguments, reason: ChoiceReason::Named }),
            Err(missing) => Err(NoTool::NotCovered { tool: tool.name.clone(), missing }),
        };
    }
    let mut covered: Vec<(&OfferedTool, MappedArguments)> = Vec::new();
    let mut uncovered = Vec::new();
    for tool in tools.iter().filter(|tool| !is_read(&tool.name) && !is_own_work(&tool.name)) {
        match map_arguments(step, tool) {
            Ok(arguments) => covered.push((tool, arguments)),
            Err(missing) if name_fit(step, &tool.name).is_some() => {
                uncovered.push((tool.name.clone(), missing))
            }
            Err(_) => {}
        }
    }
    for reason in [ChoiceReason::VerbAndNoun, ChoiceReason::Verb, ChoiceReason::Arguments] {
        let fitting: Vec<usize> =
            (0..covered.len()).filter(|at| is_fit(reason, step, covered[*at].0, &covered[*at].1)).collect();
        match fitting[..] {
            [] => {}
            [only] => {
                let (tool, arguments) = covered.swap_remove(only);
                return Ok(ChosenTool { tool, arguments, reason });
            }
            _ => return Err(NoTool::Tie(fitting.iter().map(|at| covered[*at].0.name.clone()).collect())),
        }
    }
    Err(NoTool::NoneFits(uncovered))
}

fn is_fit(reason: ChoiceReason, step: &PlannedStep, tool: &OfferedTool, arguments: &MappedArguments) -> bool {
    match reason {
        ChoiceReason::Named => false,
        ChoiceReason::VerbAndNoun => name_fit(step, &tool.name) == Some(ChoiceReason::VerbAndNoun),
        ChoiceReason::Verb => name_fit(step, &tool.name).is_some(),
        // A tool that takes none of the step's values fits any step.
        ChoiceReason::Arguments => arguments.has_own_value(),
    }
}

/// Whether the name of a tool has the verb of the operation.
pub(super) fn fits_name(step: &PlannedStep, name: &str) -> bool {
    name_fit(step, name).is_some()
}

/// Whether the name of a tool has the verb of the operation, and also a noun.
fn name_fit(step: &PlannedStep, name: &str) -> Option<ChoiceReason> {
    let words = words(name);
    let has = |wanted: &str| words.iter().any(|word| is_same_word(word, wanted));
    let (service, verb) = step.operation.split_once('.').unwrap_or_default();
    if verb.is_empty() || !verb.split('-').all(has) {
        return None;
    }
    let mut nouns = [service].into_iter().chain(step.nouns.iter().map(String::as_str));
    let has_noun = nouns.any(|noun| !is_same_word(noun, verb) && has(noun));
    Some(if has_noun { ChoiceReason::VerbAndNoun } else { ChoiceReason::Verb })
}

/// Whether the name of a tool says that it only reads.
pub(super) fn is_read(name: &str) -> bool {
    const READS: [&str; 9] = ["get", "list", "find", "search", "read", "retrieve", "fetch", "lookup", "show"];
    const CHECKS: [&str; 2] = ["check", "verify"];
    const FIRST: [&str; 2] = ["is", "has"];
    const LAST: [&str; 2] = ["status", "history"];
    const WRITES: [&str; 7] = ["set", "update", "change", "post", "put", "create", "send"];
    // What stands before it names the server: `mcp__shop__check_order`.
    let words = words(name.rsplit("__").next().unwrap_or(name));
    let is = |word: Option<&String>, list: &[&str]| word.is_some_and(|word| list.contains(&word.as_str()));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(&READS)
        || is(words.first(), &CHECKS)
        || is(words.first(), &FIRST)
        || ((is(words.last(), &LAST) || has(&CHECKS)) && !has(&WRITES))
}

/// The words of a name in lower case: `sendEmail`, `send_email` and `send-email` are the same.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_new = true;
    let mut was_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            is_new = true;
            continue;
        }
        if is_new || (was_lower && character.is_uppercase()) {
            words.push(String::new());
        }
        is_new = false;
        was_lower = character.is_lowercase() || character.is_ascii_digit();
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words
}

/// Whether two words are the same, in singular or plural.
pub(super) fn is_same_word(left: &str, right: &str) -> bool {
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    left == right || stem(left) == stem(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::conversation::CallForm;
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
        OfferedTool { name: name.to_owned(), description: String::new(), schema, form: CallForm::Function }
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
        assert_eq!(
            chosen(&mail, &[sms, notify.clone()], None),
            Ok(("send_sms".to_owned(), ChoiceReason::Verb))
        );
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
            ("mcp__shop__check_order", true),
            ("shop_check_order", true),
            ("send_check", false),
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
}
