#!/usr/bin/env python3
"""A small agent around a language model: it lets the model call tools until the model answers with a text. It needs
nothing but Python.

    agent.py           the tool that charges takes no idempotency key
    agent.py --keys    the tool takes a key, and sends it
"""

import json
import os
import sys
import urllib.parse
import urllib.request

MODEL_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
PAYMENT_URL = os.environ.get("HAPAX_PAYMENT_URL", "https://api.stripe.com")
PAYMENT_KEY = os.environ["HAPAX_PAYMENT_KEY"]
HAS_KEYS = "--keys" in sys.argv


def send(url, key, data=None, headers=None):
    request = urllib.request.Request(url, data=data, headers={"Authorization": "Bearer " + key, **(headers or {})})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def charge_card(customer, amount, currency, order, idempotency_key=None):
    form = {"customer": customer, "amount": amount, "currency": currency, "metadata[order]": order}
    headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
    return send(PAYMENT_URL + "/v1/charges", PAYMENT_KEY, urllib.parse.urlencode(form).encode(), headers)


def list_charges(customer):
    query = urllib.parse.urlencode({"customer": customer})
    return send(PAYMENT_URL + "/v1/charges?" + query, PAYMENT_KEY)


def tool(name, description, properties, required):
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TEXT = {"type": "string"}
CHARGE = {"customer": TEXT, "amount": {"type": "integer"}, "currency": TEXT, "order": TEXT}
KEY = {"idempotency_key": {"type": "string", "description": "The same for every attempt at one charge."}}
TOOLS = [
    tool("charge_card", "Charges a customer.", {**CHARGE, **(KEY if HAS_KEYS else {})}, list(CHARGE)),
    tool("list_charges", "Lists the charges of a customer.", {"customer": TEXT}, ["customer"]),
]
FUNCTIONS = {"charge_card": charge_card, "list_charges": list_charges}


def generate(messages):
    body = json.dumps({"model": "gpt-5.2", "messages": messages, "tools": TOOLS}).encode()
    headers = {"Content-Type": "application/json"}
    answer = send(MODEL_URL + "/chat/completions", os.environ["OPENAI_API_KEY"], body, headers)
    return answer["choices"][0]["message"]


def call(function):
    try:
        return json.dumps(FUNCTIONS[function["name"]](**json.loads(function["arguments"])))
    except Exception as error:
        return f"Error: {error}"


def main():
    messages = [
        {"role": "system", "content": "You work for a shop."},
        {"role": "user", "content": os.environ["HAPAX_TASK"]},
    ]
    for _ in range(20):
        message = generate(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            print(message["content"])
            return
        for made in message["tool_calls"]:
            result = call(made["function"])
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": result})
    sys.exit("the model did not come to an end")


main()
