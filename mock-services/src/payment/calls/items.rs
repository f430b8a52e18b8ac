//! `items[…]` of a subscription: what a request asks for, and what comes of it on the items that are there.

use std::collections::BTreeMap;

use super::World;
use crate::payment::errors::{Problem, Refused, lacking_part, no_such};
use crate::payment::objects::Item;
use crate::payment::params::{self, Params};

/// Stripe's limit.
const MOST_ITEMS: usize = 20;

/// One item as a request describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    id: Option<String>,
    pub(crate) price: Option<String>,
    pub(crate) quantity: Option<i64>,
    deleted: bool,
    /// What else it asks for that changes what the item costs: discounts, tax rates.
    pub(crate) terms: Vec<String>,
}

/// Reads all items, in the order of their numbers.
pub(crate) fn read(params: &Params<'_>) -> Result<Vec<Asked>, Refused> {
    let mut asked: BTreeMap<usize, Asked> = BTreeMap::new();
    for (index, rest, value) in params.inside("items") {
        let name = format!("items[{index}]{rest}");
        let Ok(place) = index.parse::<usize>() else {
            return Err(Box::new(Problem::invalid("Invalid array").param("items")));
        };
        if asked.len() >= MOST_ITEMS && !asked.contains_key(&place) {
            let message = format!("A subscription can have up to {MOST_ITEMS} items.");
            return Err(Box::new(Problem::invalid(message).param("items")));
        }
        let item = asked.entry(place).or_default();
        match rest {
            "[id]" => item.id = Some(value.to_owned()),
            "[price]" | "[plan]" if is_price(value) => item.price = Some(value.to_owned()),
            "[price]" | "[plan]" => return Err(no_such("price", value, name)),
            "[quantity]" => item.quantity = Some(count(value, name)?),
            "[deleted]" => item.deleted = value == "true",
            _ if rest.starts_with("[price_data]") => {
                return Err(lacking_part("the parameter `items[price_data]`", "subscriptions", name));
            }
            // Notes on an item change nothing that anybody pays.
            _ if rest.starts_with("[metadata]") => {}
            _ => item.terms.push(format!("[{index}]{rest}={value}")),
        }
    }
    Ok(asked.into_values().collect())
}

fn count(value: &str, name: String) -> Result<i64, Refused> {
    let quantity = params::integer(value, name.clone())?;
    if quantity < 0 {
        let message = "This value must be greater than or equal to 0.";
        return Err(Box::new(Problem::invalid(message).code("parameter_invalid_integer").param(name)));
    }
    Ok(quantity)
}

/// Prices have ids of their own choice as long as they were plans.
fn is_price(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 255
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// What comes of the request: the items afterwards.
pub(crate) fn over(old: &[Item], asked: &[Asked], world: &World<'_>) -> Result<Vec<Item>, Refused> {
    let mut items = old.to_vec();
    for (place, ask) in asked.iter().enumerate() {
        match &ask.id {
            Some(id) => {
                let at = items
                    .iter()
                    .position(|item| item.id == *id)
                    .ok_or_else(|| no_such("subscription_item", id, format!("items[{place}][id]")))?;
                if ask.deleted {
                    items.remove(at);
                } else if let Some(item) = items.get_mut(at) {
                    item.price = ask.price.clone().unwrap_or_else(|| item.price.clone());
                    item.quantity = ask.quantity.unwrap_or(item.quantity);
                }
            }
            None => items.push(added(place, ask, &items, world)?),
        }
    }
    if items.is_empty() {
        return Err(Box::new(
            Problem::invalid("A subscription must have at least one active plan.").param("items"),
        ));
    }
    Ok(items)
}

fn added(place: usize, ask: &Asked, items: &[Item], world: &World<'_>) -> Result<Item, Refused> {
    let Some(price) = &ask.price else {
        let name = format!("items[{place}][price]");
        let message = format!("Missing required param: {name}.");
        return Err(Box::new(Problem::invalid(message).code("parameter_missing").param(name)));
    };
    if items.iter().any(|item| item.price == *price) {
        let message = format!("Cannot add multiple subscription items with the same plan: {price}");
        return Err(Box::new(Problem::invalid(message).param(format!("items[{place}][price]"))));
    }
    // The place tells several new items of one request apart.
    let name = format!("si_{place}_");
    let id = world.id(&name, 14).replacen(&name, "si_", 1);
    Ok(Item { id, created: world.now(), price: price.clone(), quantity: ask.quantity.unwrap_or(1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Request;

    #[test]
    fn items_are_read_in_the_order_of_their_numbers() {
        let request = Request::new("POST", "/")
            .body("items[1][price]=b&items[0][price]=a&items[0][quantity]=2&items[0][x][y]=z");
        let asked = read(&Params::read(&request).unwrap()).unwrap();
        let terms = vec!["[0][x][y]=z".to_owned()];
        assert_eq!(
            asked[0],
            Asked { price: Some("a".to_owned()), quantity: Some(2), terms, ..Asked::default() }
        );
        assert_eq!(asked[1].price.as_deref(), Some("b"));
        for body in [
            "items[x][price]=a",
            "items[0][price]=",
            "items[0][quantity]=-1",
            "items[0][quantity]=x",
            "items[]=1",
        ] {
            let request = Request::new("POST", "/").body(body);
            assert!(read(&Params::read(&request).unwrap()).is_err(), "{body}");
        }
    }
}
