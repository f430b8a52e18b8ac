"""stripe: makes a product, and looks it up by its id, in the list and by search. Reads the price of another one."""

import os

import stripe
from client_report import report_write

stripe.api_key, stripe.api_base = os.environ["HAPAX_PAYMENT_KEY"], os.environ["HAPAX_PAYMENT_URL"]


def write():
    price = stripe.Price.retrieve("price_silver", expand=["product"])
    assert (price.unit_amount, price.recurring.interval, price.product.name) == (2000, "month", "silver")
    return stripe.Product.create(
        name="Gold", images=["https://example.com/gold.png"], shippable=False, metadata={"order": "o1"}
    ).id


def get(id):
    try:
        product = stripe.Product.modify(id, description="All of it")
    except stripe.InvalidRequestError as error:
        if (error.code, error.http_status) != ("resource_missing", 404):
            raise
        return False
    assert stripe.Product.retrieve(id).description == product.description == "All of it"
    return True


def count():
    found = stripe.Product.search(query="metadata['order']:'o1'").data
    listed = [each.id for each in stripe.Product.list(active=True, limit=1).auto_paging_iter()]
    assert [each.id for each in found] == listed
    return len(found)


report_write(write, get, count)
