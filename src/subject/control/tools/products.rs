//! Products and prices over Stripe's API.

use serde_json::Value;

use super::payment::{fits, has_metadata, metadata};
use super::{Observation, ToolError, read, required, rows, text};
use crate::scenario::Step;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

/// Fields of a product with a parameter of their own; all others are metadata.
const OF_PRODUCT: [&str; 4] = ["product", "name", "active", "description"];
/// Fields of a price with a parameter of their own.
const OF_PRICE: [&str; 6] = ["product", "unit_amount", "currency", "active", "interval", "nickname"];

/// The request that creates a product or a price.
pub(super) fn write(step: &Step) -> Result<ToolRequest, ToolError> {
    let (path, parameters, pairs) = match step.operation.as_str() {
        "payment.product" => {
            let pairs = vec![
                ("id", text(step, "product")),
                ("name", Some(required(step, "name")?)),
                ("active", text(step, "active")),
                ("description", text(step, "description")),
            ];
            ("/v1/products", &OF_PRODUCT[..], pairs)
        }
        "payment.price" => {
            let pairs = vec![
                ("product", Some(required(step, "product")?)),
                ("unit_amount", Some(required(step, "unit_amount")?)),
                ("currency", text(step, "currency").or(Some("usd".to_owned()))),
                ("active", text(step, "active")),
                ("recurring[interval]", text(step, "interval")),
                ("nickname", text(step, "nickname")),
            ];
            ("/v1/prices", &OF_PRICE[..], pairs)
        }
        _ => return Err(super::unknown(step)),
    };
    let mut form: Vec<(String, String)> =
        pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    form.extend(metadata(step, parameters).map(|(name, value)| (format!("metadata[{name}]"), value)));
    Ok(ToolRequest::new("payment", "POST", path.to_owned(), Content::Form(form)))
}

/// Reads whether there is such a product or price.
pub(super) fn observe(wire: &Wire<'_>, step: &Step) -> Result<Observation, ToolError> {
    let (path, is_this): (String, fn(&Value, &Step) -> bool) = match step.operation.as_str() {
        "payment.product" => ("/v1/products?limit=100".to_owned(), is_this_product),
        "payment.price" => {
            let product = escaped(&required(step, "product")?);
            (format!("/v1/prices?limit=100&product={product}"), is_this_price)
        }
        _ => return Err(super::unknown(step)),
    };
    let found = rows(read(wire, "payment", &path)?, "data");
    let is_there = found.iter().any(|one| is_this(one, step));
    Ok(if is_there { Observation::Done } else { Observation::Absent })
}

fn is_this_product(product: &Value, step: &Step) -> bool {
    fits(product, "id", text(step, "product"))
        && fits(product, "name", text(step, "name"))
        && has_metadata(product, step, &OF_PRODUCT)
}

fn is_this_price(price: &Value, step: &Step) -> bool {
    let recurring = price.get("recurring").unwrap_or(&Value::Null);
    fits(price, "unit_amount", text(step, "unit_amount"))
        && fits(price, "currency", text(step, "currency").map(|currency| currency.to_lowercase()))
        && fits(recurring, "interval", text(step, "interval"))
        && has_metadata(price, step, &OF_PRICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_services::service::Fields;
    use serde_json::json;

    fn step() -> Step {
        let with = Fields::new()
            .with("product", "prod_1")
            .with("unit_amount", 900)
            .with("interval", "month")
            .with("order", "ord_1");
        Step { operation: "payment.price".to_owned(), with }
    }

    #[test]
    fn a_price_is_written_with_its_parameters_and_metadata() {
        let Content::Form(form) = write(&step()).unwrap().content else { panic!("a form") };
        let form: Vec<String> = form.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "product=prod_1",
            "unit_amount=900",
            "currency=usd",
            "recurring[interval]=month",
            "metadata[order]=ord_1",
        ];
        assert_eq!(form, expected);
    }

    #[test]
    fn a_price_is_this_one_when_amount_interval_and_order_are_its_own() {
        let price = |amount: i64, interval: &str| {
            json!({"unit_amount": amount, "currency": "usd", "recurring": {"interval": interval},
                "metadata": {"order": "ord_1"}})
        };
        assert!(is_this_price(&price(900, "month"), &step()));
        assert!(!is_this_price(&price(901, "month"), &step()));
        assert!(!is_this_price(&price(900, "year"), &step()));
    }
}
