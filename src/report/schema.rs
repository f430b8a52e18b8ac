//! The JSON Schema of `report.json`, generated from the types: doc comments become descriptions.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};

use super::model::Report;

/// The JSON Schema of `report.json` (draft 2020-12), indented, with a final line break.
#[must_use]
pub fn report_schema_text() -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.root_schema_for::<Report>();
    RecursiveTransform(refuse_unknown_properties).transform(&mut schema);
    schema.insert("title".to_owned(), "report.json of hapax".into());
    format!("{:#}\n", schema.to_value())
}

/// An object with known properties allows no others.
fn refuse_unknown_properties(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

#[cfg(test)]
mod tests;
