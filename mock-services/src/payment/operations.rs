//! The operations of the service, by name.

use crate::service::Operation;

/// An operation; its number is its index in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaymentOperation {
    /// Money is captured.
    Charge,
    /// Money is authorized.
    Hold,
    /// Authorized money is captured.
    Capture,
    /// An intent is created, updated or canceled; no money moves.
    Intent,
    /// Money is refunded.
    Refund,
    /// A customer is created or updated.
    Customer,
    /// A subscription starts.
    Subscribe,
    /// The items of a subscription change.
    Upgrade,
    /// A subscription ends.
    Unsubscribe,
    /// The terms of a subscription change: a trial, an end, a discount.
    Amend,
    /// A subscription is updated to what it already is.
    NoChange,
    /// Only the labels of a charge, an intent, a refund or a subscription change.
    Relabel,
    /// A customer is deleted.
    DeleteCustomer,
    /// A payment method or a token is created, changed, attached or detached; no money moves.
    Method,
    /// A product is created.
    Product,
    /// A product changes.
    UpdateProduct,
    /// A product is deleted.
    DeleteProduct,
    /// A price is created.
    Price,
    /// A price changes.
    UpdatePrice,
    /// One charge, intent or refund, or the balance, is read.
    Get,
    /// Charges, intents or refunds are listed.
    List,
    /// Charges or intents are searched.
    Search,
    /// Customers are read.
    Customers,
    /// Subscriptions are read.
    Subscriptions,
    /// Payment methods or tokens are read.
    Methods,
    /// Products are read.
    Products,
    /// Prices are read.
    Prices,
}

/// All operations, each at the index of its number.
pub(crate) fn all() -> Vec<Operation> {
    const CHARGE: &[&str] =
        &["amount", "currency", "customer", "description", "order", "payment_intent", "charge", "metadata.*"];
    const HELD: &[&str] = &[
        "amount",
        "currency",
        "customer",
        "description",
        "order",
        "payment_intent",
        "charge",
        "capture_method",
        "metadata.*",
    ];
    const IDENTITY: &[&str] = &["order", "customer", "amount", "currency"];
    const SUBSCRIPTION: &[&str] = &["subscription", "customer", "price", "quantity", "order", "metadata.*"];
    const LABELS: &[&str] = &[
        "charge",
        "payment_intent",
        "refund",
        "subscription",
        "amount",
        "currency",
        "customer",
        "price",
        "quantity",
        "order",
        "metadata.*",
    ];
    vec![
        Operation::write("payment.charge", CHARGE, IDENTITY),
        Operation::write("payment.hold", HELD, IDENTITY),
        Operation::write(
            "payment.capture",
            &["payment_intent", "charge", "amount", "order", "metadata.*"],
            IDENTITY,
        ),
        Operation::write("payment.intent", HELD, &[]),
        Operation::write(
            "payment.refund",
            &["charge", "payment_intent", "amount", "reason", "order", "metadata.*"],
            &["charge", "amount", "order"],
        ),
        Operation::write(
            "payment.customer",
            &["customer", "email", "name", "description", "order", "metadata.*"],
            &["customer"],
        ),
        Operation::write("payment.subscribe", SUBSCRIPTION, &["customer", "price", "quantity"]),
        Operation::write("payment.upgrade", SUBSCRIPTION, &["subscription", "price", "quantity"]),
        Operation::write("payment.unsubscribe", &["subscription"], &["subscription"]),
        Operation::write("payment.amend", SUBSCRIPTION, &["subscription"]),
        Operation::write("payment.no-change", SUBSCRIPTION, &[]),
        Operation::write("payment.relabel", LABELS, &["charge", "payment_intent", "refund", "subscription"]),
        Operation::write("payment.delete-customer", &["customer"], &["customer"]),
        Operation::write(
            "payment.method",
            &["payment_method", "customer", "type", "order", "metadata.*"],
            &[],
        ),
        Operation::write(
            "payment.product",
            &["product", "name", "active", "order", "metadata.*"],
            &["product", "name"],
        ),
        Operation::write(
            "payment.update-product",
            &["product", "name", "active", "order", "metadata.*"],
            &["product"],
        ),
        Operation::write("payment.delete-product", &["product"], &["product"]),
        Operation::write(
            "payment.price",
            &["product", "unit_amount", "currency", "interval", "nickname", "order", "metadata.*"],
            &["product", "unit_amount", "currency", "interval"],
        ),
        Operation::write("payment.update-price", &["price", "active", "order", "metadata.*"], &["price"]),
        Operation::read("payment.get", &["object", "id"]),
        Operation::read("payment.list", &["object", "customer", "payment_intent", "charge"]),
        Operation::read("payment.search", &["object", "query"]),
        Operation::read("payment.customers", &["object", "id", "email", "query"]),
        Operation::read("payment.subscriptions", &["object", "id", "customer", "price", "status", "query"]),
        Operation::read("payment.methods", &["object", "id", "customer"]),
        Operation::read(
            "payment.products",
            &["object", "id", "active", "shippable", "type", "url", "ids", "query"],
        ),
        Operation::read(
            "payment.prices",
            &["object", "id", "active", "currency", "product", "type", "lookup_keys", "recurring", "query"],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::OperationKind;

    #[test]
    fn each_operation_has_the_index_of_its_number() {
        let all = all();
        assert_eq!(all[PaymentOperation::Charge as usize].name, "payment.charge");
        assert_eq!(all[PaymentOperation::Unsubscribe as usize].name, "payment.unsubscribe");
        assert_eq!(all[PaymentOperation::NoChange as usize].name, "payment.no-change");
        assert_eq!(all[PaymentOperation::DeleteCustomer as usize].name, "payment.delete-customer");
        assert_eq!(all[PaymentOperation::Subscriptions as usize].name, "payment.subscriptions");
        assert_eq!(all[PaymentOperation::Method as usize].name, "payment.method");
        assert_eq!(all[PaymentOperation::Methods as usize].name, "payment.methods");
        assert_eq!(all[PaymentOperation::UpdatePrice as usize].name, "payment.update-price");
        assert_eq!(all[PaymentOperation::Prices as usize].name, "payment.prices");
        assert_eq!(all.len(), PaymentOperation::Prices as usize + 1);
        let reads: Vec<_> = all
            .iter()
            .filter(|operation| operation.kind == OperationKind::Read)
            .map(|operation| &*operation.name)
            .collect();
        assert_eq!(
            reads,
            [
                "payment.get",
                "payment.list",
                "payment.search",
                "payment.customers",
                "payment.subscriptions",
                "payment.methods",
                "payment.products",
                "payment.prices"
            ]
        );
    }
}
