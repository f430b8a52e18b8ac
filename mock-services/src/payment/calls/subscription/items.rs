//! `items[…]` of a subscription: the items of a request, and their result on the existing items.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::payment::calls::CallContext;
use crate::payment::errors::{PaymentError, Refused, no_such, unsupported_part};
use crate::payment::objects::{Price, SubscriptionItem};
use crate::payment::params::{self, Params};
use crate::payment::products::is_price;

/// Stripe's limit.
const MAX_ITEMS: usize = 20;

/// One item of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestedItem {
    id: Option<String>,
    pub(crate) price: Option<String>,
    pub(crate) quantity: Option<i64>,
    deleted: bool,
    /// Its other parameters that change the price: discounts, tax rates.
    pub(crate) terms: Vec<String>,
}

/// Reads all items, in the order of their indexes.
pub(crate) fn read(params: &Params<'_>) -> Result<Vec<RequestedItem>, Refused> {
    let mut requested: BTreeMap<usize, RequestedItem> = BTreeMap::new();
    for (index, rest, value) in params.inside("items") {
        let name = format!("items[{index}]{rest}");
        let Ok(place) = index.parse::<usize>() else {
            return Err(Box::new(PaymentError::invalid("Invalid array").param("items")));
        };
        if requested.len() >= MAX_ITEMS && !requested.contains_key(&place) {
            let message = format!("A subscription can have up to {MAX_ITEMS} items.");
            return Err(Box::new(PaymentError::invalid(message).param("items")));
        }
        let item = requested.entry(place).or_default();
        match rest {
            "[id]" => item.id = Some(value.to_owned()),
            "[price]" | "[plan]" if is_price(value) => item.price = Some(value.to_owned()),
            "[price]" | "[plan]" => return Err(no_such("price", value, name)),
            "[quantity]" => item.quantity = Some(quantity_of(value, name)?),
            "[deleted]" => item.deleted = value == "true",
            _ if rest.starts_with("[price_data]") => {
                return Err(unsupported_part("the parameter `items[price_data]`", "subscriptions", name));
            }
            // Metadata of an item changes no price.
            _ if rest.starts_with("[metadata]") => {}
            _ => item.terms.push(format!("[{index}]{rest}={value}")),
        }
    }
    Ok(requested.into_values().collect())
}

fn quantity_of(value: &str, name: String) -> Result<i64, Refused> {
    let quantity = params::integer(value, name.clone())?;
    if quantity < 0 {
        let message = "This value must be greater than or equal to 0.";
        return Err(Box::new(PaymentError::invalid(message).code("parameter_invalid_integer").param(name)));
    }
    Ok(quantity)
}

/// The currency of a new subscription: as requested, or that of its first price.
pub(crate) fn currency(
    requested: Option<&'static str>,
    items: &[RequestedItem],
    context: &CallContext<'_>,
) -> &'static str {
    let first = items.first().and_then(|item| item.price.as_deref());
    let created = || first.and_then(|id| context.state.prices.get(id)).map(|price| price.currency);
    requested.or_else(created).unwrap_or("usd")
}

/// The price of an item in a subscription with this currency.
fn price(
    id: &str,
    place: usize,
    currency: &'static str,
    context: &CallContext<'_>,
) -> Result<Arc<Price>, Refused> {
    let param = || format!("items[{place}][price]");
    let refused = |message: String| Err(Box::new(PaymentError::invalid(message).param(param())));
    match context.state.prices.get(id) {
        Some(price) if !price.active => {
            refused("The price specified is inactive. This field only accepts active prices.".to_owned())
        }
        Some(price) if price.recurring.is_none() => refused(
            "The price specified is set to `type=one_time` but this field only accepts prices with \
             `type=recurring`."
                .to_owned(),
        ),
        Some(price) if price.created_by_request && price.currency != currency => refused(format!(
            "The price specified only supports `{}`. This doesn't match the expected currency: \
             `{currency}`.",
            price.currency
        )),
        Some(price) if price.created_by_request => Ok(Arc::clone(price)),
        Some(price) => Ok(Arc::new(Price { currency, ..Price::clone(price) })),
        None if context.options.can_subscribe_to(id) => Ok(Arc::new(Price::initial(id, currency))),
        None => Err(no_such("price", id, param())),
    }
}

/// The items after the request.
pub(crate) fn items_after(
    old: &[SubscriptionItem],
    requested: &[RequestedItem],
    currency: &'static str,
    context: &CallContext<'_>,
) -> Result<Vec<SubscriptionItem>, Refused> {
    let mut items = old.to_vec();
    for (place, item_request) in requested.iter().enumerate() {
        match &item_request.id {
            Some(id) => {
                let at = items
                    .iter()
                    .position(|item| item.id == *id)
                    .ok_or_else(|| no_such("subscription_item", id, format!("items[{place}][id]")))?;
                if item_request.deleted {
                    items.remove(at);
                } else if let Some(item) = items.get_mut(at) {
                    if let Some(id) = item_request.price.as_ref().filter(|id| **id != item.price.id) {
                        item.price = price(id, place, currency, context)?;
                    }
                    item.quantity = item_request.quantity.unwrap_or(item.quantity);
                }
            }
            None => items.push(new_item(place, item_request, &items, currency, context)?),
        }
    }
    if items.is_empty() {
        return Err(Box::new(
            PaymentError::invalid("A subscription must have at least one active plan.").param("items"),
        ));
    }
    Ok(items)
}

fn new_item(
    place: usize,
    item_request: &RequestedItem,
    items: &[SubscriptionItem],
    currency: &'static str,
    context: &CallContext<'_>,
) -> Result<SubscriptionItem, Refused> {
    let Some(price_id) = &item_request.price else {
        let name = format!("items[{place}][price]");
        let message = format!("Missing required param: {name}.");
        return Err(Box::new(PaymentError::invalid(message).code("parameter_missing").param(name)));
    };
    if items.iter().any(|item| item.price.id == *price_id) {
        let message = format!("Cannot add multiple subscription items with the same plan: {price_id}");
        return Err(Box::new(PaymentError::invalid(message).param(format!("items[{place}][price]"))));
    }
    // The index distinguishes several new items of one request.
    let name = format!("si_{place}_");
    let id = context.id(&name, 14).replacen(&name, "si_", 1);
    Ok(SubscriptionItem {
        id,
        created: context.now(),
        price: price(price_id, place, currency, context)?,
        quantity: item_request.quantity.unwrap_or(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Request;

    #[test]
    fn items_are_read_in_the_order_of_their_indexes() {
        let request = Request::new("POST", "/")
            .body("items[1][price]=b&items[0][price]=a&items[0][quantity]=2&items[0][x][y]=z");
        let requested = read(&Params::read(&request).unwrap()).unwrap();
        let terms = vec!["[0][x][y]=z".to_owned()];
        assert_eq!(
            requested[0],
            RequestedItem {
                price: Some("a".to_owned()),
                quantity: Some(2),
                terms,
                ..RequestedItem::default()
            }
        );
        assert_eq!(requested[1].price.as_deref(), Some("b"));
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
