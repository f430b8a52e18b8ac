"""stripe: makes a customer and a payment method, as Stripe's guides do, and then makes a payment with it."""

import os

import stripe
from client_report import report_write

stripe.api_key, stripe.api_base = os.environ["HAPAX_PAYMENT_KEY"], os.environ["HAPAX_PAYMENT_URL"]


def write():
    customer = stripe.Customer.create(email="ann@example.com")
    method = stripe.PaymentMethod.create(type="card", card={"token": "tok_visa"}, billing_details={"name": "Ann"})
    stripe.PaymentMethod.attach(method.id, customer=customer.id)
    methods = stripe.PaymentMethod.list(customer=customer.id, type="card")
    assert [each.id for each in methods.auto_paging_iter()] == [method.id]
    assert stripe.PaymentMethod.retrieve(method.id).customer == customer.id
    return stripe.PaymentIntent.create(
        amount=4999,
        currency="usd",
        customer=customer.id,
        payment_method=method.id,
        confirm=True,
        off_session=True,
        metadata={"order": "o1"},
    ).id


def get(id):
    try:
        return stripe.PaymentIntent.retrieve(id, expand=["payment_method"]).payment_method.card.last4 == "4242"
    except stripe.InvalidRequestError as error:
        if error.code != "resource_missing":
            raise
        return False


def count():
    return len(stripe.PaymentIntent.search(query="metadata['order']:'o1'").data)


report_write(write, get, count)
