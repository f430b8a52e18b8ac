//! How each service that is built in can be set up.

use mock_services::deploy::{DeployOptions, EnvironmentOptions, LockEnd, Rollout};
use mock_services::email::{Delivery, EmailOptions};
use mock_services::payment::{Customers, EarlierCharge, PaymentOptions};
use mock_services::records::RecordsOptions;
use mock_services::service::After;
use mock_services::yaml::{Key, Kind, Map, Node, Reader, shown};

use super::after::read_after;

/// The most parts that a roll-out can have.
const MOST_STEPS: u32 = 1000;

pub(super) fn read_payment(reader: &Reader, map: &mut Map<'_, '_>) -> PaymentOptions {
    let mut options = PaymentOptions::default();
    if let Some(node) = map.optional("declines") {
        options.declining_customers = read_texts(reader, node);
    }
    if let Some(node) = map.optional("customers") {
        options.customers = Customers::Only(read_texts(reader, node));
    }
    let charges = map.optional("charges").and_then(|node| reader.list(node)).unwrap_or_default();
    options.charges = charges.iter().filter_map(|node| read_charge(reader, node)).collect();
    options
}

/// A charge that was made before the task is given.
fn read_charge(reader: &Reader, node: &Node) -> Option<EarlierCharge> {
    let mut map = reader.map(node, "an earlier charge")?;
    let (amount, currency) = (map.required("amount"), map.optional("currency"));
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).map(str::to_owned);
    let (customer, order) = (text(map.optional("customer")), text(map.optional("order")));
    let place = map.place();
    map.finish();
    let amount = reader.integer(amount?, 1..=i64::MAX)?;
    let currency = currency.map_or(Some("usd"), |node| reader.text(node))?;
    let Some(charge) = EarlierCharge::new(amount, currency) else {
        let message = format!("the service takes no charge of {amount} {}", shown(currency));
        reader.report_with_help(
            place,
            message,
            "amounts are in the smallest unit: { amount: 4999, currency: usd } is $49.99",
        );
        return None;
    };
    Some(EarlierCharge { customer, order, ..charge })
}

fn read_texts(reader: &Reader, node: &Node) -> Vec<String> {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.text(item)).map(str::to_owned).collect()
}

pub(super) fn read_email(reader: &Reader, map: &mut Map<'_, '_>) -> EmailOptions {
    let delivery = map.optional("delivery").and_then(|node| read_delivery(reader, node));
    let addresses = map.optional("addresses").and_then(|node| reader.entries(node)).unwrap_or_default();
    let one = |(key, node): &(Key, Node)| Some((key.name.clone(), read_delivery(reader, node)?));
    EmailOptions {
        delivery: delivery.unwrap_or_default(),
        addresses: addresses.iter().filter_map(one).collect(),
    }
}

fn read_delivery(reader: &Reader, node: &Node) -> Option<Delivery> {
    let words = [
        ("now", Delivery::Now),
        ("never", Delivery::Never),
        ("later", Delivery::After(After::Settled)),
        ("bounced", Delivery::Bounced(After::Requests(0))),
    ];
    if !matches!(node.kind, Kind::Map(_)) {
        return reader.one_of(node, &words);
    }
    let mut map = reader.map(node, "a delivery")?;
    let (later, bounced) = (map.optional("later"), map.optional("bounced"));
    let place = map.place();
    map.finish();
    match (later, bounced) {
        (Some(after), None) => read_after(reader, after).map(Delivery::After),
        (None, Some(after)) => read_after(reader, after).map(Delivery::Bounced),
        _ => {
            let help = "for example {later: {requests: 2}} or {bounced: 2s}";
            reader.report_with_help(place, "a delivery is either `later` or `bounced`", help);
            None
        }
    }
}

pub(super) fn read_deploy(reader: &Reader, map: &mut Map<'_, '_>) -> DeployOptions {
    let environments = map.optional("environments").and_then(|node| reader.entries(node)).unwrap_or_default();
    let rollout = map.optional("rollout").and_then(|node| read_rollout(reader, node));
    let asynchronous = map.optional("asynchronous").and_then(|node| read_after(reader, node));
    DeployOptions {
        environments: environments
            .iter()
            .filter_map(|(key, node)| read_environment(reader, key, node))
            .collect(),
        rollout: rollout.unwrap_or_default(),
        asynchronous,
    }
}

fn read_environment(reader: &Reader, key: &Key, node: &Node) -> Option<EnvironmentOptions> {
    let mut map = reader.map(node, "an environment")?;
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).map(str::to_owned);
    let (version, holder) = (text(map.optional("version")), text(map.optional("locked_by")));
    let free_after = map.entry("free_after");
    map.finish();
    let end =
        free_after.and_then(|(_, node)| read_after(reader, node)).map_or(LockEnd::Never, LockEnd::After);
    if let (Some((key, _)), None) = (free_after, &holder) {
        reader.report_with_help(
            key.span,
            "`free_after` needs a lock to free",
            "say who holds it: `locked_by: ann`",
        );
    }
    Some(EnvironmentOptions {
        name: key.name.clone(),
        version,
        locked_by: holder.map(|holder| (holder, end)),
    })
}

fn read_rollout(reader: &Reader, node: &Node) -> Option<Rollout> {
    let mut map = reader.map(node, "a roll-out")?;
    let (steps, each) = (map.required("steps"), map.required("each"));
    map.finish();
    let steps = steps.and_then(|node| reader.integer(node, 1..=MOST_STEPS));
    let each = each.and_then(|node| read_after(reader, node));
    Some(Rollout::Steps { count: steps?, each: each? })
}

pub(super) fn read_records(reader: &Reader, map: &mut Map<'_, '_>) -> RecordsOptions {
    let records = map.optional("records").and_then(|node| reader.entries(node)).unwrap_or_default();
    let counters = map.optional("counters").and_then(|node| reader.entries(node)).unwrap_or_default();
    let require = map.optional("require_if_match").and_then(|node| reader.boolean(node));
    let counter =
        |(key, node): &(Key, Node)| Some((key.name.clone(), reader.integer(node, i64::MIN..=i64::MAX)?));
    RecordsOptions {
        initial: records.iter().map(|(key, node)| (key.name.clone(), as_json(node))).collect(),
        counters: counters.iter().filter_map(counter).collect(),
        require_if_match: require.unwrap_or_default(),
    }
}

/// A value of YAML as JSON has it; all of them have a form there.
pub(super) fn as_json(node: &Node) -> serde_json::Value {
    serde_json::to_value(node).unwrap_or_default()
}
