"""The HTTP libraries of Python: make a payment with a confirmed intent, and look it up by its id and by search.

Argument: requests, httpx, aiohttp or urllib.
"""

import sys
from urllib.parse import quote

from client_report import report_write, service

URL, KEY = service("payment", "https://api.stripe.com")
INTENTS = URL + "/v1/payment_intents"
PAYMENT = {
    "amount": "4999",
    "currency": "usd",
    "customer": "cus_42",
    "payment_method": "pm_card_visa",
    "payment_method_types[]": "card",
    "confirm": "true",
    "metadata[order]": "o1",
}


def ask_with_requests(url, form=None):
    import requests

    answer = requests.request("POST" if form else "GET", url, data=form, auth=(KEY, ""))
    answer.raise_for_status()
    return answer.json()


def ask_with_httpx(url, form=None):
    import httpx

    answer = httpx.request("POST" if form else "GET", url, data=form, auth=(KEY, ""))
    answer.raise_for_status()
    return answer.json()


def ask_with_aiohttp(url, form=None):
    import asyncio

    import aiohttp

    async def ask():
        async with aiohttp.ClientSession(auth=aiohttp.BasicAuth(KEY), raise_for_status=True) as session:
            async with session.request("POST" if form else "GET", url, data=form) as answer:
                return await answer.json()

    return asyncio.run(ask())


def ask_with_urllib(url, form=None):
    import base64
    import json
    from urllib.parse import urlencode
    from urllib.request import Request, urlopen

    user = base64.b64encode(f"{KEY}:".encode()).decode()
    data = urlencode(form).encode() if form else None
    with urlopen(Request(url, data, {"Authorization": f"Basic {user}"})) as answer:
        return json.load(answer)


ask = globals()[f"ask_with_{sys.argv[1]}"]


def status(error):
    """The status of an answer that the library has made an error of."""
    answer = getattr(error, "response", error)
    return getattr(answer, "status_code", None) or getattr(answer, "status", None)


def get(id):
    try:
        return ask(f"{INTENTS}/{id}")["status"] == "succeeded"
    except Exception as error:
        if status(error) != 404:
            raise
        return False


def count():
    query = quote("metadata['order']:'o1'")
    return len(ask(f"{INTENTS}/search?query={query}")["data"])


report_write(lambda: ask(INTENTS, PAYMENT)["id"], get, count)
