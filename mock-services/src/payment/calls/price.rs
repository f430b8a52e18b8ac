//! `POST /v1/prices` and `POST /v1/prices/{id}`, and the prices that come with a new product. Creating a price
//! counts only in a scenario that names it. Changing a price that existed before is an effect.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::product::new_product;
use super::{ApiCall, CallContext, CallOutcome, set};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effect_fields;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, missing, no_such, not_found, unsupported_part};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{Price, Recurring};
use crate::payment::params::{Params, unknown_parameter};
use crate::service::Fields;

const TAX_BEHAVIORS: &[&str] = &["exclusive", "inclusive", "unspecified"];
/// The longest period of a price: three years.
const MAX_PERIOD: i64 = 3 * 365 * 24 * 60 * 60;

/// The names of the parameters with the terms of a price.
struct PriceNames {
    root: &'static str,
    currency: &'static str,
    unit_amount: &'static str,
    unit_amount_decimal: &'static str,
    tax_behavior: &'static str,
    recurring: &'static str,
    interval: &'static str,
    interval_count: &'static str,
    usage_type: &'static str,
    trial_period_days: &'static str,
}

const OF_PRICE: PriceNames = PriceNames {
    root: "",
    currency: "currency",
    unit_amount: "unit_amount",
    unit_amount_decimal: "unit_amount_decimal",
    tax_behavior: "tax_behavior",
    recurring: "recurring",
    interval: "recurring[interval]",
    interval_count: "recurring[interval_count]",
    usage_type: "recurring[usage_type]",
    trial_period_days: "recurring[trial_period_days]",
};

const OF_PRODUCT: PriceNames = PriceNames {
    root: "default_price_data",
    currency: "default_price_data[currency]",
    unit_amount: "default_price_data[unit_amount]",
    unit_amount_decimal: "default_price_data[unit_amount_decimal]",
    tax_behavior: "default_price_data[tax_behavior]",
    recurring: "default_price_data[recurring]",
    interval: "default_price_data[recurring][interval]",
    interval_count: "default_price_data[recurring][interval_count]",
    usage_type: "default_price_data[recurring][usage_type]",
    trial_period_days: "default_price_data[recurring][trial_period_days]",
};

/// What a new price costs, and how often.
#[derive(Debug)]
pub(crate) struct PriceTerms {
    currency: &'static str,
    unit_amount: Option<i64>,
    unit_amount_decimal: String,
    recurring: Option<Recurring>,
    tax_behavior: &'static str,
    metadata: MetadataChange,
}

impl PriceTerms {
    /// The terms of the default price of a new product.
    pub(crate) fn of_product(params: &Params<'_>) -> Result<Option<Self>, Refused> {
        params.has(OF_PRODUCT.root).then(|| PriceTerms::read(params, &OF_PRODUCT)).transpose()
    }

    fn read(params: &Params<'_>, names: &PriceNames) -> Result<Self, Refused> {
        let currency = Currency::read(params.required(names.currency)?)?.code;
        let (unit_amount, unit_amount_decimal) = amount(params, names)?;
        let metadata = match names.root {
            "" => MetadataChange::read(params)?,
            root => MetadataChange::read_inside(params, root)?,
        };
        Ok(PriceTerms {
            currency,
            unit_amount,
            unit_amount_decimal,
            recurring: recurring(params, names)?,
            tax_behavior: params.choice(names.tax_behavior, TAX_BEHAVIORS)?.unwrap_or("unspecified"),
            metadata,
        })
    }

    /// The fields of a request with these terms.
    fn describe(&self, fields: &mut Fields) {
        fields.set("currency", self.currency);
        if let Some(amount) = self.unit_amount {
            fields.set("unit_amount", amount);
        }
        if let Some(recurring) = &self.recurring {
            fields.set("interval", recurring.interval);
        }
        self.metadata.describe(fields);
    }

    /// A new price of a product with these terms.
    pub(crate) fn new_price(&self, product: &str, context: &CallContext<'_>) -> Price {
        let price = Price::bare(context.id("price_1", 23), product, self.currency, context.now());
        let price = Price {
            metadata: self.metadata.on_new_object(),
            tax_behavior: self.tax_behavior,
            unit_amount: self.unit_amount,
            unit_amount_decimal: self.unit_amount_decimal.clone(),
            created_by_request: true,
            ..price
        };
        match &self.recurring {
            Some(recurring) => price.recurring(recurring.clone()),
            None => price,
        }
    }
}

/// The amount of one unit, in whole and in decimal notation.
fn amount(params: &Params<'_>, names: &PriceNames) -> Result<(Option<i64>, String), Refused> {
    let negative = |name: &'static str| {
        let message = "Invalid non-negative integer";
        Box::new(PaymentError::invalid(message).code("parameter_invalid_integer").param(name))
    };
    match (params.integer(names.unit_amount)?, params.text(names.unit_amount_decimal)?) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: unit_amount, unit_amount_decimal.";
            Err(Box::new(PaymentError::invalid(message).param(names.unit_amount)))
        }
        (Some(amount), None) if amount < 0 => Err(negative(names.unit_amount)),
        (Some(amount), None) => Ok((Some(amount), amount.to_string())),
        (None, Some(text)) => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
            if whole.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 12 {
                let problem = PaymentError::invalid(format!("Invalid decimal: {text}"));
                return Err(Box::new(
                    problem.code("parameter_invalid_integer").param(names.unit_amount_decimal),
                ));
            }
            let is_whole = fraction.bytes().all(|byte| byte == b'0');
            let amount = whole.parse::<i64>().ok().filter(|_| is_whole);
            Ok((amount, if is_whole { whole.to_owned() } else { text.to_owned() }))
        }
        (None, None) => {
            let message =
                "Prices require an `unit_amount` or `unit_amount_decimal` parameter to be set.".to_owned();
            Err(Box::new(PaymentError::invalid(message).code("parameter_missing").param(names.unit_amount)))
        }
    }
}

fn recurring(params: &Params<'_>, names: &PriceNames) -> Result<Option<Recurring>, Refused> {
    const KNOWN: [&str; 4] = ["interval", "interval_count", "usage_type", "trial_period_days"];
    if !params.has(names.recurring) {
        return Ok(None);
    }
    let unknown = params.below(names.recurring).find(|(name, _)| !KNOWN.contains(name));
    if let Some((name, _)) = unknown {
        let full = format!("{}[{name}]", names.recurring);
        return Err(match name {
            "meter" => unsupported_part(&format!("the parameter `{full}`"), "prices", full),
            _ => unknown_parameter(full),
        });
    }
    let interval = params.choice(names.interval, &["day", "month", "week", "year"])?;
    let interval = interval.ok_or_else(|| missing(names.interval))?;
    let count = params.integer(names.interval_count)?.unwrap_or(1);
    let every = Recurring::every(count, interval);
    if count < 1 || every.period() > MAX_PERIOD {
        let message = "Invalid interval count: the period of a price is from one day to three years.";
        return Err(Box::new(PaymentError::invalid(message).param(names.interval_count)));
    }
    Ok(Some(Recurring {
        trial_period_days: params.integer(names.trial_period_days)?,
        usage_type: match params.choice(names.usage_type, &["licensed", "metered"])? {
            Some("metered") => {
                return Err(unsupported_part("the value `metered`", names.usage_type, names.usage_type));
            }
            _ => "licensed",
        },
        ..every
    }))
}

/// A price to create.
#[derive(Debug)]
pub(crate) struct CreatePrice {
    terms: PriceTerms,
    product: PricedProduct,
    active: bool,
    lookup_key: Option<String>,
    transfer_lookup_key: bool,
    nickname: Option<String>,
    expand: Expand,
}

/// The product of a new price.
#[derive(Debug)]
enum PricedProduct {
    Existing(String),
    New { name: String, active: bool, metadata: MetadataChange },
}

impl CreatePrice {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/prices";
        params.check_supported(&[allowed::PRICE, allowed::COMMON], allowed::PRICE_UNSUPPORTED, ENDPOINT)?;
        if params.choice("billing_scheme", &["per_unit", "tiered"])? == Some("tiered") {
            return Err(unsupported_part("the value `tiered`", ENDPOINT, "billing_scheme"));
        }
        let terms = PriceTerms::read(params, &OF_PRICE)?;
        let product = match (params.owned("product")?, params.has("product_data")) {
            (Some(product), false) => PricedProduct::Existing(product),
            (None, true) => PricedProduct::New {
                name: params.required("product_data[name]")?.to_owned(),
                active: params.boolean("product_data[active]")?.unwrap_or(true),
                metadata: MetadataChange::read_inside(params, "product_data")?,
            },
            (Some(_), true) => {
                let message = "You may only specify one of these parameters: product, product_data.";
                return Err(Box::new(PaymentError::invalid(message).param("product")));
            }
            (None, false) => {
                let message = "You must specify either `product` or `product_data` when creating a price.";
                return Err(Box::new(PaymentError::invalid(message).code("parameter_missing")));
            }
        };
        if let PricedProduct::Existing(id) = &product {
            fields.set("product", id.as_str());
        }
        let nickname = params.owned("nickname")?;
        if let Some(nickname) = &nickname {
            fields.set("nickname", nickname.as_str());
        }
        terms.describe(fields);
        Ok(CreatePrice {
            terms,
            product,
            active: params.boolean("active")?.unwrap_or(true),
            lookup_key: params.owned("lookup_key")?,
            transfer_lookup_key: params.boolean("transfer_lookup_key")?.unwrap_or(false),
            nickname,
            expand: Expand::read::<Price>(params)?,
        })
    }
}

impl ApiCall for CreatePrice {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let (product, created) = match &self.product {
            PricedProduct::Existing(id) => {
                let known = context.state.product(context.options, id);
                (known.ok_or_else(|| no_such("product", id, "product"))?, None)
            }
            PricedProduct::New { name, active, metadata } => {
                let mut product = new_product(None, name, context);
                (product.active, product.metadata) = (*active, metadata.on_new_object());
                let product = Arc::new(product);
                (Arc::clone(&product), Some(PaymentChange::ProductCreated(product)))
            }
        };
        let taken_from =
            free_lookup_key(self.lookup_key.as_deref(), self.transfer_lookup_key, None, context)?;
        let price = Arc::new(Price {
            active: self.active,
            lookup_key: self.lookup_key.clone(),
            nickname: self.nickname.clone(),
            ..self.terms.new_price(&product.id, context)
        });
        let fresh = Fresh { product: Some(product), ..Fresh::default() };
        let answer = answers::created(Arc::clone(&price).expanded(&self.expand, context, &fresh));
        let changes = created.into_iter().chain([PaymentChange::PriceCreated(price)]).chain(taken_from);
        Ok(CallOutcome { answer, changes: changes.collect() })
    }
}

/// The change that takes a lookup key from the price that has it, if there is one. Without permission to
/// transfer the key, the request is refused.
fn free_lookup_key(
    key: Option<&str>,
    may_transfer: bool,
    owner: Option<&str>,
    context: &CallContext<'_>,
) -> Result<Option<PaymentChange>, Refused> {
    let Some(key) = key else { return Ok(None) };
    let mut prices = context.state.prices.rows().iter().filter(|price| Some(price.id.as_str()) != owner);
    let Some(other) = prices.find(|price| price.lookup_key.as_deref() == Some(key)) else {
        return Ok(None);
    };
    if !may_transfer {
        let message = format!("A price (`{}`) already uses that lookup key.", other.id);
        return Err(Box::new(PaymentError::invalid(message).param("lookup_key").executed()));
    }
    let without_key = Price { lookup_key: None, ..Price::clone(other) };
    Ok(Some(PaymentChange::PriceSaved(Arc::new(without_key))))
}

/// An update of a price. Its amount and its product never change.
#[derive(Debug)]
pub(crate) struct UpdatePrice {
    id: String,
    active: Option<bool>,
    lookup_key: Option<Option<String>>,
    transfer_lookup_key: bool,
    nickname: Option<Option<String>>,
    tax_behavior: Option<&'static str>,
    metadata: MetadataChange,
    expand: Expand,
}

impl UpdatePrice {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check_supported(
            &[allowed::PRICE_UPDATE, allowed::COMMON],
            allowed::PRICE_UPDATE_UNSUPPORTED,
            "POST /v1/prices/{id}",
        )?;
        fields.set("price", id.as_str());
        let active = params.boolean("active")?;
        if let Some(active) = active {
            fields.set("active", if active { "true" } else { "false" });
        }
        let metadata = MetadataChange::read(params)?;
        metadata.describe(fields);
        Ok(UpdatePrice {
            id,
            active,
            lookup_key: params.clearable("lookup_key")?,
            transfer_lookup_key: params.boolean("transfer_lookup_key")?.unwrap_or(false),
            nickname: params.clearable("nickname")?,
            tax_behavior: params.choice("tax_behavior", TAX_BEHAVIORS)?,
            metadata,
            expand: Expand::read::<Price>(params)?,
        })
    }
}

impl ApiCall for UpdatePrice {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = context.state.price(context.options, &self.id);
        let old = old.ok_or_else(|| not_found("price", &self.id))?;
        let mut price = Price::clone(&old);
        price.active = self.active.unwrap_or(old.active);
        let product = context.state.product(context.options, old.product.id());
        let default = product.and_then(|product| product.default_price.clone());
        if old.active && !price.active && default.is_some_and(|default| default.id() == old.id) {
            let message =
                "This price cannot be archived because it is the default price of its product.".to_owned();
            return Err(Box::new(PaymentError::invalid(message).executed()));
        }
        let key = self.lookup_key.as_ref().and_then(Option::as_deref);
        let taken_from = free_lookup_key(key, self.transfer_lookup_key, Some(&old.id), context)?;
        set(&mut price.lookup_key, &self.lookup_key);
        set(&mut price.nickname, &self.nickname);
        price.tax_behavior = self.tax_behavior.unwrap_or(old.tax_behavior);
        price.metadata = self.metadata.applied_to(&old.metadata)?;
        let changed = effect_fields::price(&old, &price).filter(|_| !old.created_by_request);
        let price = Arc::new(price);
        let answer = answers::created(Arc::clone(&price).expanded(&self.expand, context, &Fresh::default()));
        let change = match changed {
            Some(fields) => PaymentChange::PriceChanged(price, Arc::new(fields)),
            None => PaymentChange::PriceSaved(price),
        };
        Ok(CallOutcome { answer, changes: std::iter::once(change).chain(taken_from).collect() })
    }
}
