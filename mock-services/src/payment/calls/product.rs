//! `POST /v1/products`, `POST /v1/products/{id}` and `DELETE /v1/products/{id}`. Creating a product counts
//! only in a scenario that names it. Changing or deleting a product that existed before is an effect.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::price::PriceTerms;
use super::{ApiCall, CallContext, CallOutcome, set};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effect_fields;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, missing, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::objects::{Expandable, MarketingFeature, Product};
use crate::payment::params::Params;
use crate::service::Fields;

/// A product to create or, with a path, to update.
#[derive(Debug)]
pub(crate) struct SaveProduct {
    /// The id in the path.
    of_path: Option<String>,
    /// The id that a new product is to have.
    id: Option<String>,
    name: Option<String>,
    active: Option<bool>,
    default_price: Option<String>,
    default_price_terms: Option<PriceTerms>,
    description: Option<Option<String>>,
    images: Option<Vec<String>>,
    features: Option<Vec<MarketingFeature>>,
    shippable: Option<bool>,
    statement_descriptor: Option<Option<String>>,
    tax_code: Option<Option<String>>,
    unit_label: Option<Option<String>>,
    url: Option<Option<String>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl SaveProduct {
    /// Reads the parameters.
    pub(crate) fn read(
        of_path: Option<String>,
        params: &Params<'_>,
        fields: &mut Fields,
    ) -> Result<Self, Refused> {
        let (more, endpoint) = match &of_path {
            Some(_) => (allowed::PRODUCT_UPDATE, "POST /v1/products/{id}"),
            None => (allowed::PRODUCT_CREATE, "POST /v1/products"),
        };
        let known = [allowed::PRODUCT, more, allowed::COMMON];
        params.check_supported(&known, allowed::PRODUCT_UNSUPPORTED, endpoint)?;
        let list = |name: &'static str| {
            let values = || params.inside(name).map(|(_, _, value)| value.to_owned()).collect::<Vec<_>>();
            params.has(name).then(values)
        };
        let features = list("marketing_features");
        let call = SaveProduct {
            id: if of_path.is_none() { params.owned("id")? } else { None },
            of_path,
            name: params.owned("name")?,
            active: params.boolean("active")?,
            default_price: params.owned("default_price")?,
            default_price_terms: PriceTerms::of_product(params)?,
            description: params.clearable("description")?,
            images: list("images"),
            features: features.map(|names| names.into_iter().map(|name| MarketingFeature { name }).collect()),
            shippable: params.boolean("shippable")?,
            statement_descriptor: params.clearable("statement_descriptor")?,
            tax_code: params.clearable("tax_code")?,
            unit_label: params.clearable("unit_label")?,
            url: params.clearable("url")?,
            metadata: MetadataChange::read(params)?,
            expand: Expand::read::<Product>(params)?,
        };
        if call.of_path.is_none() && call.name.is_none() {
            return Err(missing("name"));
        }
        for (name, value) in
            [("product", call.of_path.as_ref().or(call.id.as_ref())), ("name", call.name.as_ref())]
        {
            if let Some(value) = value {
                fields.set(name, value.as_str());
            }
        }
        if let Some(active) = call.active {
            fields.set("active", if active { "true" } else { "false" });
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    fn fill(&self, product: &mut Product, context: &CallContext<'_>) -> Result<(), Refused> {
        product.name = self.name.clone().unwrap_or_else(|| product.name.clone());
        product.active = self.active.unwrap_or(product.active);
        set(&mut product.description, &self.description);
        if let Some(images) = &self.images {
            product.images.clone_from(images);
        }
        if let Some(features) = &self.features {
            product.marketing_features.clone_from(features);
        }
        product.shippable = self.shippable.or(product.shippable);
        set(&mut product.statement_descriptor, &self.statement_descriptor);
        set(&mut product.tax_code, &self.tax_code);
        set(&mut product.unit_label, &self.unit_label);
        set(&mut product.url, &self.url);
        product.metadata = self.metadata.applied_to(&product.metadata)?;
        if let Some(id) = &self.default_price {
            let price = context.state.price(context.options, id);
            let price = price.ok_or_else(|| no_such("price", id, "default_price"))?;
            if price.product.id() != product.id {
                let message = format!("The price `{id}` does not belong to the product `{}`.", product.id);
                return Err(Box::new(PaymentError::invalid(message).param("default_price").executed()));
            }
            product.default_price = Some(Expandable::new(id));
        }
        Ok(())
    }
}

/// A new product.
pub(crate) fn new_product(id: Option<&str>, name: &str, context: &CallContext<'_>) -> Product {
    let id = id.map_or_else(|| context.id("prod_", 14), str::to_owned);
    Product { created_by_request: true, ..Product::bare(id, name.to_owned(), context.now()) }
}

fn existing_product(id: &str, context: &CallContext<'_>) -> Result<Arc<Product>, Refused> {
    context.state.product(context.options, id).ok_or_else(|| not_found("product", id))
}

impl ApiCall for SaveProduct {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old = match &self.of_path {
            Some(id) => existing_product(id, context)?,
            None => {
                if self.id.as_ref().is_some_and(|id| context.state.products.get(id).is_some()) {
                    let problem = PaymentError::invalid("Product already exists.");
                    return Err(Box::new(problem.code("resource_already_exists").executed()));
                }
                let name = self.name.as_deref().unwrap_or_default();
                Arc::new(new_product(self.id.as_deref(), name, context))
            }
        };
        let mut product = Product::clone(&old);
        self.fill(&mut product, context)?;
        product.updated = context.now();
        let price =
            self.default_price_terms.as_ref().map(|terms| Arc::new(terms.new_price(&product.id, context)));
        if let Some(price) = &price {
            product.default_price = Some(Expandable::new(&price.id));
        }
        let changed = effect_fields::product(&old, &product).filter(|_| !old.created_by_request);
        let product = Arc::new(product);
        let fresh = Fresh { price: price.clone(), ..Fresh::default() };
        let answer = answers::created(Arc::clone(&product).expanded(&self.expand, context, &fresh));
        let change = match (&self.of_path, changed) {
            (None, _) => PaymentChange::ProductCreated(product),
            (Some(_), Some(fields)) => PaymentChange::ProductChanged(product, Arc::new(fields)),
            (Some(_), None) => PaymentChange::ProductSaved(product),
        };
        let price = price.map(PaymentChange::PriceCreated);
        Ok(CallOutcome { answer, changes: std::iter::once(change).chain(price).collect() })
    }
}

/// A product to delete.
#[derive(Debug)]
pub(crate) struct DeleteProduct {
    id: String,
}

impl DeleteProduct {
    /// Reads the parameters; there are none.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[])?;
        fields.set("product", id.as_str());
        Ok(DeleteProduct { id })
    }
}

impl ApiCall for DeleteProduct {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let mut product = existing_product(&self.id, context)?;
        // A product that existed before has a price.
        let is_priced = !product.created_by_request
            || context.state.prices.rows().iter().any(|price| price.product.id() == self.id);
        if is_priced {
            let message =
                "This product cannot be deleted because it has one or more user-created prices.".to_owned();
            return Err(Box::new(PaymentError::invalid(message).executed()));
        }
        let answer = answers::ok(&product.deletion());
        Arc::make_mut(&mut product).deleted = true;
        Ok(CallOutcome { answer, changes: vec![PaymentChange::ProductDeleted(product)] })
    }
}
