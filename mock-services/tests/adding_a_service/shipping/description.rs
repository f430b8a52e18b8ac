//! The shipping service in the catalog, and its options in a scenario.

use std::sync::Arc;

use mock_services::catalog::{
    ClientVariable, ConfiguredService, EffectDescription, FieldKind, FieldKinds, RealHost,
    ServiceDescription, UsualValue, read_texts,
};
use mock_services::{Builder, ServiceOptions};
use serde_json::Value;
use yaml_reader::shape::{MapShape, Shape, optional};

use super::{Shipping, ShippingOptions};

const VARIABLES: &[ClientVariable] =
    &[ClientVariable::url("SHIPPING_BASE_URL"), ClientVariable::key("SHIPPING_API_KEY")];

const HOSTS: &[RealHost] = &[RealHost {
    host: "api.shipping.example",
    setting: "Let SHIPPING_BASE_URL reach the client; it is set to the mock.",
    profile: None,
}];

const BUY_VALUES: &[UsualValue] = &[UsualValue::new("weight", "1000")];

const KINDS: FieldKinds =
    &[(FieldKind::WhoAndHowMuch, &["country", "weight"]), (FieldKind::Label, &["order", "label"])];

static OPTIONS: MapShape<1> = MapShape::new([optional("refused_countries", Shape::TEXTS)]);

/// The catalog's description of the shipping service.
pub fn description() -> ServiceDescription {
    let buy = EffectDescription {
        past_tense: Some("shipped"),
        fix_unintended: Some("Buy one label for each parcel of the order, and cancel what is not sent."),
        ..EffectDescription::new("shipping.buy", &["order", "country", "label"])
            .usual(BUY_VALUES)
            .noun("shipping label", "shipping labels")
    };
    ServiceDescription {
        effects: vec![buy],
        reveals: ServiceDescription::revealed(&[("shipping.list", &["shipping.buy"])]),
        variables: VARIABLES,
        hosts: HOSTS,
        kinds: KINDS,
        options: OPTIONS.fields(),
        ..ServiceDescription::new(&Shipping::new(ShippingOptions::default()), |reader, map| {
            let [countries] = map.fields(&OPTIONS);
            let refused_countries = countries.map(|node| read_texts(reader, node)).unwrap_or_default();
            Arc::new(ShippingOptions { refused_countries })
        })
    }
}

impl ConfiguredService for ShippingOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Shipping::new(self.clone()), options)
    }
}
