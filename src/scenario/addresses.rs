//! Values that services record in one form: mail addresses and hosts in lower case, paths without a slash at their
//! end. A scenario can write them in another form.

use mock_services::catalog::{self, ValueForm};
use mock_services::service::{Fields, Value};

/// The fields of an operation or an effect, in the form in which the service records them.
pub(super) fn in_recorded_form(operation: &str, fields: &Fields) -> Fields {
    fields.iter().fold(Fields::new(), |all, (name, value)| {
        all.with(name.to_owned(), value_in_recorded_form(operation, name, value.clone()))
    })
}

/// The value of one field, in the form in which the service records it. Names of branches are recorded as they are.
pub(super) fn value_in_recorded_form(operation: &str, name: &str, value: Value) -> Value {
    let form = catalog::field(operation, name).form.filter(|form| *form != ValueForm::GitRef);
    match (form, value) {
        (Some(form), Value::Text(text)) => Value::Text(form.canonical(&text).into()),
        (Some(form), Value::List(texts)) => {
            Value::List(texts.iter().map(|text| form.canonical(text)).collect())
        }
        (_, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_addresses_hosts_and_paths_have_the_form_of_the_service() {
        let fields = Fields::new().with("to", "Ann@Example.com").with("subject", "Hello");
        assert_eq!(
            in_recorded_form("email.send", &fields),
            Fields::new().with("to", "ann@example.com").with("subject", "Hello")
        );
        assert_eq!(in_recorded_form("shop.send", &fields), fields);
        let list = Fields::new().with("to", vec!["A@x.example".to_owned()]);
        assert_eq!(
            in_recorded_form("email.send", &list),
            Fields::new().with("to", vec!["a@x.example".to_owned()])
        );
        let web = Fields::new().with("host", "API.example.com").with("path", "/v1/orders/");
        let recorded = Fields::new().with("host", "api.example.com").with("path", "/v1/orders");
        assert_eq!(in_recorded_form("web.post", &web), recorded);
    }
}
