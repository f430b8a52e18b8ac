//! Reads `expect`: the expected effects, claims, attempts and records.

mod each;
mod end_state;
mod order;
pub(super) mod times;

use mock_services::catalog::{self, StoreKind};
use mock_services::fault::read_fields;
use mock_services::service::Fields;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, required, words_of};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, nearest, shown};

use self::each::{EACH, read_each};
use self::end_state::{INVARIANTS, LIVE, read_invariants, read_live};
use self::order::{ORDER_STEP, read_order};
use self::times::{suggested_form, unidentified};
use crate::scenario::field_values::{in_recorded_form, usual_unless_named, without_usual};
use crate::scenario::known::{KnownServices, has_name};
use crate::scenario::{
    Budget, ClaimedOutcome, Intent, IntentList, Invariant, LiveDue, OrderStep, RecordDue, Recovery,
    ServiceSetup, Terms,
};

/// The largest number of intents in a case; each is compared with all before it.
pub(super) const MAX_INTENTS: usize = 500;
/// The largest number of attempts or effects that can be expected.
const MAX_ATTEMPTS: u32 = 1_000_000;
/// The words of `allow`.
const ALLOW_WORDS: [(&str, ()); 1] = [("compensation", ())];

pub(super) static EXPECT: MapShape<13> = MapShape::new([
    optional("effects", Shape::List(&INTENT.shape(), Count(0, MAX_INTENTS)))
        .about("All expected effects; any other effect is unintended."),
    optional("claim", Shape::OneOf(&[CLAIM, Shape::List(&CLAIM, Count::SOME)])).about("The accepted claims."),
    optional("attempts", Shape::MapOf(&Shape::Ref("operation_name"), &ATTEMPTS, Count(0, MAX_INTENTS)))
        .about("The number of attempts of an operation: 3 is at most 3, 1..3 is 1 to 3, 1.. is at least 1."),
    optional("questions", Shape::MapOf(&Shape::Ref("operation_name"), &NUMBER, Count(0, MAX_INTENTS)))
        .about("The maximum number of questions about an operation."),
    optional("cancels", Shape::MapOf(&Shape::Ref("operation_name"), &NUMBER, Count(0, MAX_INTENTS)))
        .about("How many calls of an MCP tool that the subject gives up it must cancel."),
    optional("recovery", Shape::OneOf(&[RECOVERY, Shape::List(&RECOVERY, Count::SOME)]))
        .about("What the subject may do after an ambiguous answer."),
    optional("order", Shape::List(&ORDER_STEP, Count(2, MAX_INTENTS)))
        .about("The expected effects whose order matters, the first first."),
    optional("respect_retry_after", Shape::Flag)
        .about("Whether a retry before the time in Retry-After fails."),
    optional("allow", Shape::List(&Shape::Words(|| words_of(&ALLOW_WORDS)), Count::ANY))
        .about("What is allowed besides."),
    optional("records", Shape::MapOf(&Shape::Any, &Shape::Any, Count::ANY))
        .about("The records at the end; null for none."),
    optional("counters", Shape::MapOf(&Shape::Any, &Shape::Types(&["integer", "null"]), Count::ANY))
        .about("The counters at the end; null for none."),
    optional("invariants", INVARIANTS)
        .about("Rules over several records or counters, such as a sum that stays."),
    optional("live", LIVE).about("What is live at the end, by environment; null for nothing."),
])
.needs(Rule::First(&["effects", "records", "counters", "invariants", "live"]));
static INTENT: MapShape<7> = MapShape::new([
    required("effect", Shape::Ref("effect")),
    optional("where", Shape::Ref("fields")),
    optional("with", Shape::Ref("fields")),
    optional("each", EACH).about("One effect for each value of one field."),
    optional("times", Shape::OneOf(&[NUMBER, Shape::Pattern("^[0-9]+\\.\\.[0-9]+$")]))
        .about("How many times: 1, 0..1 for at most once, 0 for never."),
    optional("approval", Shape::Word(REQUIRED)).about("It needs an approval that was granted before."),
    optional("stands", Shape::Flag).about("It must stand at the end: what a fault reverts is made again."),
]);
/// The value of `approval`.
const REQUIRED: &str = "required";
const CLAIM: Shape = Shape::Words(|| ClaimedOutcome::ALL.map(ClaimedOutcome::as_str).to_vec());
const RECOVERY: Shape = Shape::Words(|| Recovery::PERMITTED.map(Recovery::as_str).to_vec());
const ATTEMPTS: Shape = Shape::OneOf(&[NUMBER, Shape::Pattern("^[0-9]+\\.\\.[0-9]*$")]);
const NUMBER: Shape = Shape::Integer(0, MAX_ATTEMPTS as i64);

/// An intent and its position.
#[derive(Debug)]
pub(super) struct PlacedIntent {
    pub(super) intent: Intent,
    pub(super) span: Span,
}

/// The expectations and their positions.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) intents: Vec<PlacedIntent>,
    /// Which of the intents come from one entry with `each`.
    pub(super) lists: Vec<IntentList>,
    pub(super) claim: Vec<ClaimedOutcome>,
    pub(super) claim_span: Span,
    /// The position of `effects` if neither an effect nor a claim is expected.
    pub(super) nothing: Option<Span>,
    pub(super) attempts: Vec<(Budget, Span)>,
    pub(super) questions: Vec<Budget>,
    pub(super) cancels: Vec<Budget>,
    pub(super) recovery: Vec<Recovery>,
    pub(super) order: Vec<OrderStep>,
    pub(super) respect_retry_after: bool,
    pub(super) compensation: bool,
    pub(super) records: Vec<RecordDue>,
    pub(super) invariants: Vec<Invariant>,
    pub(super) live: Vec<LiveDue>,
}

impl Expected {
    /// Whether a state at the end is expected.
    pub(super) fn expects_state(&self) -> bool {
        !self.records.is_empty() || !self.invariants.is_empty() || !self.live.is_empty()
    }

    /// The terms of a case, as far as `expect` says them.
    pub(super) fn terms(&self) -> Terms {
        Terms {
            intents: self.intents.iter().map(|placed| placed.intent.clone()).collect(),
            lists: self.lists.clone(),
            claim: self.claim.clone(),
            recovery: self.recovery.clone(),
            order: self.order.clone(),
            attempts: self.attempts.iter().map(|(budget, _)| budget.clone()).collect(),
            questions: self.questions.clone(),
            cancels: self.cancels.clone(),
            respect_retry_after: self.respect_retry_after,
            compensation: self.compensation,
            records: self.records.clone(),
            invariants: self.invariants.clone(),
            live: self.live.clone(),
            ..Terms::default()
        }
    }
}

/// Reads `expect`.
pub(super) fn read_expect(
    reader: &Reader,
    known: &KnownServices,
    setups: &[ServiceSetup],
    node: Option<&Node>,
) -> Expected {
    let Some(
        [
            effects,
            claim,
            attempts,
            questions,
            cancels,
            recovery,
            order,
            respect,
            allow,
            records,
            counters,
            invariants,
            live,
        ],
    ) = node.and_then(|node| reader.fields(node, "`expect`", &EXPECT))
    else {
        return Expected::default();
    };
    let mut records = read_records(reader, records, setups, false);
    records.extend(read_records(reader, counters, setups, true));
    let (intents, lists) = effects.map(|node| read_intents(reader, known, node)).unwrap_or_default();
    let is_nothing = |node: &&Node| claim.is_none() && (is_empty_list(node) || all_forbidden(&intents));
    let nothing = effects.filter(is_nothing).map(|node| node.span);
    let order = order.map(|node| read_order(reader, known, node, &intents)).unwrap_or_default();
    Expected {
        order,
        intents,
        lists,
        claim: claim.map(|node| read_claim(reader, node)).unwrap_or_default(),
        claim_span: claim.map(|node| node.span).unwrap_or_default(),
        nothing,
        attempts: attempts.map(|node| read_attempts(reader, known, node)).unwrap_or_default(),
        questions: questions.map(|node| read_questions(reader, known, node)).unwrap_or_default(),
        cancels: cancels.map(|node| read_cancels(reader, known, node)).unwrap_or_default(),
        recovery: recovery.map(|node| read_recovery(reader, node)).unwrap_or_default(),
        respect_retry_after: respect.and_then(|node| reader.boolean(node)).unwrap_or_default(),
        compensation: allow.is_some_and(|node| read_allow(reader, node)),
        records,
        invariants: invariants.map(|node| read_invariants(reader, node, setups)).unwrap_or_default(),
        live: live.map(|node| read_live(reader, node, setups)).unwrap_or_default(),
    }
}

fn read_intents(reader: &Reader, known: &KnownServices, node: &Node) -> (Vec<PlacedIntent>, Vec<IntentList>) {
    let (mut intents, mut lists) = (Vec::new(), Vec::new());
    for item in reader.list(node).unwrap_or_default() {
        let is_list = item.get("each").is_some();
        let read = read_intent(reader, known, item).unwrap_or_default();
        if intents.len() + read.len() > MAX_INTENTS {
            reader.report_with_help(
                node.span,
                format!("more than {MAX_INTENTS} effects are expected"),
                "split the scenario",
            );
            return (Vec::new(), Vec::new());
        }
        if is_list && !read.is_empty() {
            lists.push(IntentList { first: intents.len(), count: read.len() });
        }
        intents.extend(read);
    }
    (intents, lists)
}

/// The intents of one entry: one, or one for each value of `each`.
fn read_intent(reader: &Reader, known: &KnownServices, node: &Node) -> Option<Vec<PlacedIntent>> {
    let [effect, which, like, each, times_node, approval, stands_node] =
        reader.fields(node, "an expected effect", &INTENT)?;
    let times = times_node.map_or(Some((1, 1)), |node| read_times(reader, node));
    let span = node.place();
    let approval = approval.and_then(|node| reader.one_of(node, &[(REQUIRED, true)])).unwrap_or_default();
    let stands = stands_node.and_then(|node| reader.boolean(node)).unwrap_or_default();
    if let (Some(node), true, Some((_, 0))) = (stands_node, stands, times) {
        let message = "an effect that must not happen cannot stand";
        reader.report_with_help(node.span, message, "leave `stands` out, or expect it once or more");
    }
    let effect = effect.and_then(|node| known.effect(reader, node));
    let fields = |node: Option<&Node>| {
        let Some(node) = node else { return Some(Fields::new()) };
        if let (Some((effect, carried)), NodeKind::Map(entries)) = (effect, &node.kind) {
            for (key, value) in entries {
                check_carried(reader, effect, carried, key);
                check_number(reader, effect, key, value);
            }
        }
        read_fields(reader, node)
    };
    let (where_node, which, like) = (which, fields(which), fields(like));
    let (effect, carried) = effect?;
    let each = match each {
        Some(node) => Some(read_each(reader, effect, carried, where_node, node)?),
        None => None,
    };
    let (which, like, (least, times)) = (which?, like?, times?);
    let at_least = (least < times).then_some(least);
    let placed = |which: &Fields| {
        let (which, like) = (in_recorded_form(effect, which), in_recorded_form(effect, &like));
        let like = without_usual(effect, &like);
        let defaults = usual_unless_named(effect, &which, &like);
        PlacedIntent {
            intent: Intent {
                effect: effect.to_owned(),
                selector: which,
                expected: like,
                defaults,
                times,
                at_least,
                approval,
                stands,
            },
            span,
        }
    };
    let Some(each) = each else {
        let is_named = |name: &str| which.get(name).is_some() || like.get(name).is_some();
        if let Some(message) = unidentified(known, effect, is_named, times) {
            let help = suggested_form(known, effect, &which, &like, times);
            reader.report_with_help(times_node.map_or(span, |node| node.span), message, help);
        }
        return Some(vec![placed(&which)]);
    };
    Some(
        each.values.into_iter().map(|value| placed(&which.clone().with(each.field.clone(), value))).collect(),
    )
}

/// Reports a field that the effect does not have.
pub(super) fn check_carried(reader: &Reader, effect: &str, carried: &[String], key: &Key) {
    if has_name(carried, &key.name) {
        return;
    }
    let names = || carried.iter().map(String::as_str);
    let help = match nearest(&key.name, names()) {
        Some(near) => format!("did you mean `{near}`? expected one of {}", listed(names())),
        None => format!("expected one of {}", listed(names())),
    };
    reader.report_with_help(key.span, format!("{effect} has no field `{}`", shown(&key.name)), help);
}

/// Reports a number in a form that the service never records, such as the amount `$49.99`.
fn check_number(reader: &Reader, effect: &str, key: &Key, node: &Node) {
    let (NodeKind::Text(text), Some(help)) = (&node.kind, catalog::field(effect, &key.name).whole_number)
    else {
        return;
    };
    if text.contains(|c: char| c.is_ascii_digit()) && text.parse::<i64>().is_err() {
        let message = format!("no {effect} can have the {} `{}`", key.name, shown(text));
        reader.report_with_help(node.span, message, help);
    }
}

/// Whether there are effects, and each of them must not happen.
fn all_forbidden(intents: &[PlacedIntent]) -> bool {
    !intents.is_empty() && intents.iter().all(|placed| placed.intent.times == 0)
}

fn is_empty_list(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::List(items) if items.is_empty())
}

fn read_claim(reader: &Reader, node: &Node) -> Vec<ClaimedOutcome> {
    let words = ClaimedOutcome::ALL.map(|outcome| (outcome.as_str(), outcome));
    let one = |node: &Node| reader.one_of(node, &words);
    match &node.kind {
        NodeKind::List(items) if items.is_empty() => {
            let help = "remove `claim` to accept any honest claim";
            reader.report_with_help(
                node.span,
                "the list of accepted claims is empty, so no subject can pass",
                help,
            );
            Vec::new()
        }
        NodeKind::List(items) => items.iter().filter_map(one).collect(),
        _ => one(node).into_iter().collect(),
    }
}

fn read_attempts(reader: &Reader, known: &KnownServices, node: &Node) -> Vec<(Budget, Span)> {
    let entries = reader.entries(node).unwrap_or_default();
    if entries.len() > MAX_INTENTS {
        reader.report(
            node.span,
            format!("`attempts` has {} operations; the maximum is {MAX_INTENTS}", entries.len()),
        );
        return Vec::new();
    }
    let read = entries.iter().filter_map(|(key, node)| {
        let operation = known.named(reader, &key.name, key.span);
        let (at_least, at_most) = read_bounds(reader, node)?;
        Some((Budget { operation: operation?.name.to_string(), at_least, at_most }, key.span.to(node.span)))
    });
    read.collect()
}

/// The maximum numbers of questions.
fn read_questions(reader: &Reader, known: &KnownServices, node: &Node) -> Vec<Budget> {
    let read = reader.entries(node).unwrap_or_default().iter().filter_map(|(key, node)| {
        let operation = known.named(reader, &key.name, key.span);
        let at_most = Some(reader.integer(node, 0..=MAX_ATTEMPTS)?);
        Some(Budget { operation: operation?.name.to_string(), at_least: 0, at_most })
    });
    read.collect()
}

/// The minimum numbers of canceled calls.
fn read_cancels(reader: &Reader, known: &KnownServices, node: &Node) -> Vec<Budget> {
    let read = reader.entries(node).unwrap_or_default().iter().filter_map(|(key, node)| {
        let operation = known.named(reader, &key.name, key.span);
        let at_least = reader.integer(node, 0..=MAX_ATTEMPTS)?;
        Some(Budget { operation: operation?.name.to_string(), at_least, at_most: None })
    });
    read.collect()
}

/// The minimum and maximum number of attempts: `3` (at most), `1..3` or `1..`.
fn read_bounds(reader: &Reader, node: &Node) -> Option<(u32, Option<u32>)> {
    let NodeKind::Text(text) = &node.kind else {
        return reader.integer(node, 0..=MAX_ATTEMPTS).map(|most| (0, Some(most)));
    };
    let Some((least, most)) = bounds(text) else {
        let message = format!("expected a number of attempts, found {}", node.describe());
        reader.report_with_help(
            node.span,
            message,
            "write 3 for at most 3, 1..3 for 1 to 3, or 1.. for at least 1",
        );
        return None;
    };
    if let Some(most) = most.filter(|most| least > *most) {
        report_reversed(reader, node, least, most);
        return None;
    }
    Some((least, most))
}

/// The minimum and maximum number of times that an effect is expected: `1` or `0..1`.
fn read_times(reader: &Reader, node: &Node) -> Option<(u32, u32)> {
    let NodeKind::Text(text) = &node.kind else {
        return reader.integer(node, 0..=MAX_ATTEMPTS).map(|times| (times, times));
    };
    match bounds(text) {
        Some((least, Some(most))) if least > most => report_reversed(reader, node, least, most),
        Some((least, Some(most))) => return Some((least, most)),
        Some((least, None)) => {
            let message = format!("`{text}` has no upper bound, so duplicates would never fail");
            reader.report_with_help(
                node.span,
                message,
                format!("write {least}..{0} for {least} to {0}", least.saturating_add(1)),
            );
        }
        None => {
            let message = format!("expected a number of times, found {}", node.describe());
            reader.report_with_help(
                node.span,
                message,
                "write 1 for exactly once, 0..1 for at most once, or 0 for never",
            );
        }
    }
    None
}

/// The two numbers of `1..3`, or the first of `1..`.
fn bounds(text: &str) -> Option<(u32, Option<u32>)> {
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten().filter(|number| *number <= MAX_ATTEMPTS)
    };
    let (least, most) = text.split_once("..")?;
    let most = if most.is_empty() { None } else { Some(number(most)?) };
    Some((number(least)?, most))
}

fn report_reversed(reader: &Reader, node: &Node, least: u32, most: u32) {
    let message = format!("the lower bound {least} is greater than the upper bound {most}");
    reader.report_with_help(node.span, message, format!("write {most}..{least}"));
}

/// The permitted ways to recover.
fn read_recovery(reader: &Reader, node: &Node) -> Vec<Recovery> {
    let words = Recovery::PERMITTED.map(|recovery| (recovery.as_str(), recovery));
    let one = |node: &Node| reader.one_of(node, &words);
    match &node.kind {
        NodeKind::List(items) if items.is_empty() => {
            let help = "remove `recovery` to permit any, or list one: same-key";
            reader.report_with_help(
                node.span,
                "the list of permitted recoveries is empty, so no subject can pass",
                help,
            );
            Vec::new()
        }
        NodeKind::List(items) => items.iter().filter_map(one).collect(),
        _ => one(node).into_iter().collect(),
    }
}

/// Whether compensation is allowed.
fn read_allow(reader: &Reader, node: &Node) -> bool {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.one_of(item, &ALLOW_WORDS)).count() > 0
}

fn read_records(
    reader: &Reader,
    node: Option<&Node>,
    setups: &[ServiceSetup],
    counter: bool,
) -> Vec<RecordDue> {
    let entries = node.and_then(|node| reader.entries(node)).unwrap_or_default();
    let kind = if counter { StoreKind::Counter } else { StoreKind::Record };
    let start = |key: &str| setups.iter().find_map(|setup| setup.service.stored(kind, key));
    let read = entries.iter().filter_map(|(key, node)| {
        if counter && node.kind != NodeKind::Null {
            reader.integer(node, i64::MIN..=i64::MAX)?;
        }
        let start = start(&key.name).unwrap_or_default();
        Some(RecordDue {
            key: key.name.clone(),
            counter,
            value: serde_json::to_value(node).unwrap_or_default(),
            start,
        })
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use yaml_reader::Source;

    use crate::scenario::{Case, Recovery, read_scenario};

    fn read(expect: &str, more: &str) -> Result<Vec<Case>, String> {
        let text = format!(
            "about: A charge.\ntask: Charge cus_42.\nsteps:\n  - {{do: payment.charge, with: {{customer: \
         cus_42, amount: 4999, order: o1}}}}\n\
         expect:\n{expect}\n{more}"
        );
        read_scenario(&Source::new("scenarios/payment/test.yaml", text), "payment/test")
            .map_err(|problems| problems.to_string())
    }

    fn with_times(times: &str) -> Result<Vec<Case>, String> {
        read(
            &format!(
                "  effects: [{{effect: payment.charge, where: {{order: o1}}, times: {times}}}]\n  claim: [done, not-done]"
            ),
            "",
        )
    }

    #[test]
    fn an_effect_is_due_a_number_of_times_or_a_range_of_times() {
        for (times, least, most, at_least) in [
            ("1", 1, 1, None),
            ("0..1", 0, 1, Some(0)),
            ("1..3", 1, 3, Some(1)),
            ("2..2", 2, 2, None),
            ("0..0", 0, 0, None),
        ] {
            let cases = with_times(times).unwrap();
            let intent = &cases[0].terms.intents[0];
            assert_eq!((intent.least(), intent.times, intent.at_least), (least, most, at_least), "{times}");
        }
        let done_at = |times| with_times(times).unwrap()[0].terms.intents[0].done_at();
        assert_eq!(
            [done_at("0"), done_at("1"), done_at("0..1"), done_at("0..3"), done_at("2..3")],
            [0, 1, 1, 1, 2]
        );
    }

    #[test]
    fn an_invalid_range_gives_a_suggestion() {
        for (times, wrong, right) in [
            ("3..1", "the lower bound 3 is greater than the upper bound 1", "write 1..3"),
            ("1..", "`1..` has no upper bound", "write 1..2 for 1 to 2"),
            ("often", "expected a number of times", "0..1 for at most once"),
            ("-1..1", "expected a number of times", "0..1 for at most once"),
            ("0..9999999999", "expected a number of times", "0..1 for at most once"),
        ] {
            let message = with_times(times).unwrap_err();
            assert!(message.contains(wrong) && message.contains(right), "{times}: {message}");
        }
    }

    #[test]
    fn an_optional_effect_can_be_met_where_nothing_commits() {
        let never = "faults: [{on: payment.charge, attempt: every, commit: never, reply: drop}]";
        let expect = |times: &str| {
            format!(
                "  effects: [{{effect: payment.charge, where: {{order: o1}}, times: {times}}}]\n  claim: not-done"
            )
        };
        assert!(read(&expect("0..1"), never).is_ok());
        assert!(read(&expect("1"), never).unwrap_err().contains("impossible to meet"));
    }

    #[test]
    fn the_permitted_recoveries_are_read_and_others_are_refused() {
        let recovery = |text: &str| {
            let expect =
                format!("  effects: [{{effect: payment.charge, where: {{order: o1}}}}]\n  recovery: {text}");
            read(&expect, "").map(|cases| cases[0].terms.recovery.clone())
        };
        assert_eq!(
            recovery("[same-key, verified-then-retried]").unwrap(),
            [Recovery::SameKey, Recovery::VerifiedThenRetried]
        );
        assert_eq!(recovery("gave-up").unwrap(), [Recovery::GaveUp]);
        assert!(recovery("[]").unwrap_err().contains("the list of permitted recoveries is empty"));
        let message = recovery("[same-keys]").unwrap_err();
        assert!(message.contains("did you mean `same-key`?"), "{message}");
        assert!(recovery("none-needed").is_err(), "a scenario cannot permit it");
    }

    #[test]
    fn an_order_names_different_effects_that_are_expected() {
        let order = |order: &str| {
            let charge = "{effect: payment.charge, where: {order: o1}}";
            let refund = "{effect: payment.refund, where: {order: o1}}";
            let none = "{effect: payment.subscribe, where: {customer: cus_42}, times: 0}";
            read(&format!("  effects: [{charge}, {refund}, {none}]\n  claim: done\n  order: {order}"), "")
                .map(|cases| cases[0].terms.order.iter().map(|step| step.effect.clone()).collect::<Vec<_>>())
        };
        assert_eq!(order("[payment.charge, payment.refund]").unwrap(), ["payment.charge", "payment.refund"]);
        assert_eq!(
            order("[{effect: payment.charge, where: {order: o1}}, payment.refund]").unwrap(),
            ["payment.charge", "payment.refund"]
        );
        for (wrong, why) in [
            ("[payment.charge]", "at least two effects"),
            ("[payment.charge, payment.charge]", "is in the order twice"),
            ("[payment.charge, {effect: payment.charge, where: {order: o1}}]", "is in the order twice"),
            ("[{effect: payment.charge, where: {order: o2}}, payment.refund]", "which is not expected"),
            ("[{effect: payment.charge, where: {ordr: o1}}, payment.refund]", "did you mean `order`?"),
            ("[{where: {order: o1}}, payment.refund]", "`effect`"),
            ("[payment.charge, payment.upgrade]", "which is not expected"),
            ("[payment.charge, payment.subscribe]", "which is not expected"),
            ("[payment.charge, payment.refunds]", "did you mean `payment.refund`?"),
        ] {
            let message = order(wrong).unwrap_err();
            assert!(message.contains(why), "{wrong}: {message}");
        }
    }

    #[test]
    fn an_amount_is_a_whole_number_and_a_currency_may_be_in_capitals() {
        let with = |fields: &str| {
            let effect = format!("{{effect: payment.charge, where: {{order: o1}}, with: {{{fields}}}}}");
            read(&format!("  effects: [{effect}]"), "")
        };
        for amount in ["\"49.99\"", "$49.99"] {
            let problems = with(&format!("amount: {amount}")).unwrap_err();
            assert!(problems.contains("4999 for $49.99"), "{problems}");
        }
        let cases = with("amount: 4999, currency: USD").unwrap();
        let currency = cases[0].terms.intents[0].expected.get("currency").map(ToString::to_string);
        assert_eq!(currency.as_deref(), Some("usd"));
    }
}
