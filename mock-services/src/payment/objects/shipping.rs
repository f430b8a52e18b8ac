//! Postal addresses, and shipping details.

use serde::Serialize;

use crate::payment::params::Params;

/// A postal address.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct PostalAddress {
    pub(crate) city: Option<String>,
    pub(crate) country: Option<String>,
    pub(crate) line1: Option<String>,
    pub(crate) line2: Option<String>,
    pub(crate) postal_code: Option<String>,
    pub(crate) state: Option<String>,
}

/// The recipient and address of a shipment.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ShippingDetails {
    address: PostalAddress,
    carrier: Option<String>,
    name: Option<String>,
    phone: Option<String>,
    tracking_number: Option<String>,
}

impl PostalAddress {
    /// Reads `address`.
    pub(crate) fn read(params: &Params<'_>) -> Option<Self> {
        let mut address = PostalAddress::default();
        let mut any = false;
        for (name, rest, value) in params.inside("address") {
            any |= rest.is_empty() && address.set(name, value);
        }
        any.then_some(address)
    }

    pub(super) fn set(&mut self, name: &str, value: &str) -> bool {
        let slot = match name {
            "city" => &mut self.city,
            "country" => &mut self.country,
            "line1" => &mut self.line1,
            "line2" => &mut self.line2,
            "postal_code" => &mut self.postal_code,
            "state" => &mut self.state,
            _ => return false,
        };
        *slot = (!value.is_empty()).then(|| value.to_owned());
        true
    }
}

impl ShippingDetails {
    /// Reads `shipping`.
    pub(crate) fn read(params: &Params<'_>) -> Option<Box<Self>> {
        let mut shipping = ShippingDetails::default();
        let mut any = false;
        for (name, rest, value) in params.inside("shipping") {
            any = true;
            let slot = match (name, rest) {
                ("carrier", "") => &mut shipping.carrier,
                ("name", "") => &mut shipping.name,
                ("phone", "") => &mut shipping.phone,
                ("tracking_number", "") => &mut shipping.tracking_number,
                ("address", _) => {
                    let line =
                        rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or_default();
                    shipping.address.set(line, value);
                    continue;
                }
                _ => continue,
            };
            *slot = (!value.is_empty()).then(|| value.to_owned());
        }
        any.then(|| Box::new(shipping))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Request;

    #[test]
    fn an_address_is_read_at_both_depths() {
        let request = Request::new("POST", "/")
            .body("shipping[name]=A&shipping[address][city]=Ulm&address[city]=Bonn&address[x]=1");
        let params = Params::read(&request).unwrap();
        assert_eq!(PostalAddress::read(&params).unwrap().city.as_deref(), Some("Bonn"));
        assert_eq!(ShippingDetails::read(&params).unwrap().address.city.as_deref(), Some("Ulm"));
    }
}
