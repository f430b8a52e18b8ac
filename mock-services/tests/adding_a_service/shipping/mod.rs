//! A shipping service: it sells labels for parcels and lists those that were sold.

mod description;

use mock_services::service::{
    Answer, Context, Decision, EffectFacts, Fields, Operation, Recognized, Request, Service,
};
use serde::Serialize;
use serde_json::{Value, json};

pub use description::description;

/// The indexes of the operations in [`Service::operations`].
const BUY: usize = 0;
const LIST: usize = 1;

/// The options of a scenario.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ShippingOptions {
    /// Countries that the service does not ship to.
    pub refused_countries: Vec<String>,
}

/// The shipping service.
#[derive(Debug)]
pub struct Shipping {
    options: ShippingOptions,
    operations: Vec<Operation>,
}

impl Shipping {
    /// A shipping service with these options.
    #[must_use]
    pub fn new(options: ShippingOptions) -> Self {
        let operations = vec![
            Operation::write("shipping.buy", &["order", "country", "weight"], &["order"]),
            Operation::read("shipping.list", &["order"]),
        ];
        Shipping { options, operations }
    }
}

/// A request that the service understood.
#[derive(Debug)]
pub enum ShippingCall {
    /// Buy a label.
    Buy(Label),
    /// List the labels of one order, or all of them.
    List(Option<String>),
}

/// A label for one parcel. It is also the only effect of the service: a label was sold.
#[derive(Debug, Clone, Serialize)]
pub struct Label {
    id: String,
    order: String,
    country: String,
    weight: i64,
}

impl Service for Shipping {
    type State = Vec<Label>;
    type Effect = Label;
    type Call = ShippingCall;

    fn name(&self) -> &str {
        "shipping"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, context: &Context) -> Result<Recognized<ShippingCall>, Answer> {
        match (request.method(), request.path()) {
            ("POST", "/labels") => {
                let body: Value = serde_json::from_slice(request.bytes()).unwrap_or_default();
                let text = |name: &str| body[name].as_str().map(str::to_owned);
                let (Some(order), Some(country)) = (text("order"), text("country")) else {
                    return Err(error(422, "order and country are required"));
                };
                let weight = body["weight"].as_i64().unwrap_or(1000);
                let label = Label { id: context.ids.uuid("label"), order, country, weight };
                Ok(Recognized { operation: BUY, fields: fields(&label), call: ShippingCall::Buy(label) })
            }
            ("GET", "/labels") => {
                let order = request.query_value("order");
                let fields = Fields::new().with_some("order", order.clone());
                Ok(Recognized { operation: LIST, fields, call: ShippingCall::List(order) })
            }
            _ => Err(error(404, "not found")),
        }
    }

    fn decide(&self, sold: &Vec<Label>, call: &ShippingCall, _context: &Context) -> Decision<Label> {
        match call {
            ShippingCall::Buy(label) if self.options.refused_countries.contains(&label.country) => {
                Decision::refuse(error(422, "we do not ship to this country"))
            }
            ShippingCall::Buy(label) => {
                Decision::accept(Answer::json(201, &json!(label)), vec![label.clone()])
            }
            ShippingCall::List(order) => {
                let is_meant = |label: &&Label| order.as_ref().is_none_or(|order| label.order == *order);
                let labels: Vec<&Label> = sold.iter().filter(is_meant).collect();
                Decision::read(Answer::json(200, &json!({ "labels": labels })))
            }
        }
    }

    fn apply(&self, sold: &mut Vec<Label>, label: &Label) {
        sold.push(label.clone());
    }

    fn describe(&self, label: &Label) -> Option<EffectFacts> {
        let fields = fields(label).with("label", label.id.as_str());
        Some(EffectFacts { effect: "shipping.buy".into(), id: label.id.clone(), fields })
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        error(status, "the service failed")
    }

    fn unauthorized(&self, _request: &Request, _context: &Context) -> Answer {
        error(401, "the API key is missing or wrong")
    }

    fn add_standard_headers(&self, answer: &mut Answer, _request: &Request, context: &Context) {
        answer.set_header("X-Request-Id", context.ids.uuid("request"));
    }

    fn key_prefix(&self) -> &'static str {
        "ship_"
    }
}

/// The fields that faults and the ledger can name.
fn fields(label: &Label) -> Fields {
    Fields::new()
        .with("order", label.order.as_str())
        .with("country", label.country.as_str())
        .with("weight", label.weight)
}

fn error(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "error": message }))
}
