"""stripe: makes a payment with a confirmed intent, and reads it by its id, in the list and by search.

Argument: `client` for a StripeClient, `module` for the functions of the module. Their defaults differ.
"""

import sys

import stripe
from client_report import REAL_HOSTS, report_write, service

url, key = service("payment")
if sys.argv[1] == "client":
    settings = {} if REAL_HOSTS else {"base_addresses": {"api": url}}
    intents = stripe.StripeClient(key, **settings).v1.payment_intents
else:
    stripe.api_key = key
    if not REAL_HOSTS:
        stripe.api_base = url
    intents = stripe.PaymentIntent


def ask(method, **parameters):
    return method(parameters) if sys.argv[1] == "client" else method(**parameters)


def write():
    return ask(
        intents.create,
        amount=4999,
        currency="usd",
        customer="cus_42",
        payment_method="pm_card_visa",
        payment_method_types=["card"],
        confirm=True,
        metadata={"order": "o1"},
    ).id


def get(id):
    try:
        return intents.retrieve(id).status == "succeeded"
    except stripe.InvalidRequestError as error:
        if error.code != "resource_missing":
            raise
        return False


def count():
    listed = [intent for intent in ask(intents.list, customer="cus_42").data if intent.metadata["order"] == "o1"]
    found = ask(intents.search, query="metadata['order']:'o1'").data
    assert len(listed) == len(found), "the list and the search do not agree"
    return len(found)


report_write(write, get, count)
