//! Mail addresses in a scenario. Services record them in lower case, so they are compared in lower case.

use mock_services::catalog::{self, ValueForm};
use mock_services::service::{Fields, Value};

/// The fields of an operation or an effect, with mail addresses in lower case.
pub(super) fn in_lower_case(operation: &str, fields: &Fields) -> Fields {
    fields.iter().fold(Fields::new(), |all, (name, value)| {
        all.with(name.to_owned(), value_in_lower_case(operation, name, value.clone()))
    })
}

/// The value of one field, in lower case where it is a mail address.
pub(super) fn value_in_lower_case(operation: &str, name: &str, value: Value) -> Value {
    if catalog::value_form(operation, name) == Some(ValueForm::AnyCase) { lower(&value) } else { value }
}

fn lower(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(text.to_lowercase()),
        Value::List(texts) => Value::List(texts.iter().map(|text| text.to_lowercase()).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mail_addresses_are_in_lower_case() {
        let fields = Fields::new().with("to", "Ann@Example.com").with("subject", "Hello");
        assert_eq!(
            in_lower_case("email.send", &fields),
            Fields::new().with("to", "ann@example.com").with("subject", "Hello")
        );
        assert_eq!(in_lower_case("shop.send", &fields), fields);
        let list = Fields::new().with("to", vec!["A@x.example".to_owned()]);
        assert_eq!(
            in_lower_case("email.send", &list),
            Fields::new().with("to", vec!["a@x.example".to_owned()])
        );
    }
}
