"""The tools of the agents in Python: plain functions that call Stripe's API, as one writes them first."""

import os

import requests

URL = os.environ.get("HAPAX_PAYMENT_URL", "https://api.stripe.com")
KEY = os.environ["HAPAX_PAYMENT_KEY"]


def call(method: str, path: str, **data) -> dict:
    answer = requests.request(method, URL + path, auth=(KEY, ""), timeout=30, **data)
    answer.raise_for_status()
    return answer.json()


def find_charge(order: str) -> str:
    charges = call("GET", "/v1/charges", params={"limit": 100})["data"]
    return next(charge["id"] for charge in charges if charge["metadata"].get("order") == order)


def refund_charge(order: str, amount: int) -> dict:
    """Refund the charge of an order.

    Args:
        order: The id of the order.
        amount: The amount in cents.
    """
    form = {"charge": find_charge(order), "amount": amount, "metadata[order]": order}
    return call("POST", "/v1/refunds", data=form)


def list_refunds(order: str) -> list[dict]:
    """List the refunds of an order.

    Args:
        order: The id of the order.
    """
    return call("GET", "/v1/refunds", params={"charge": find_charge(order)})["data"]


def charge_customer(customer: str, order: str, amount: int, currency: str) -> dict:
    """Charge a customer for an order.

    Args:
        customer: The id of the customer.
        order: The id of the order.
        amount: The amount in cents.
        currency: The currency, such as usd.
    """
    form = {"customer": customer, "amount": amount, "currency": currency, "metadata[order]": order}
    return call("POST", "/v1/charges", data=form)
