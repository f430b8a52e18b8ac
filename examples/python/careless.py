#!/usr/bin/env python3
"""A careless agent, as one writes it on a good day. It needs nothing but Python.

Three things are wrong with it: it repeats whatever failed without asking whether it had happened, each time with a new key,
and when it has run out of attempts it says that all is done.
"""

import json
import os
import time
import urllib.parse
import urllib.request
import uuid


def post(service, path, data, kind):
    request = urllib.request.Request(
        os.environ[f"HAPAX_{service}_URL"] + path,
        data=data.encode(),
        headers={
            "Authorization": "Bearer " + os.environ[f"HAPAX_{service}_KEY"],
            "Content-Type": kind,
            "Idempotency-Key": str(uuid.uuid4()),
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def charge(want):
    form = {
        "amount": want["amount"],
        "currency": want["currency"],
        "customer": want["customer"],
        "payment_method": want.get("payment_method", "pm_card_visa"),
        "payment_method_types[]": "card",
        "confirm": "true",
        "metadata[order]": want["order"],
    }
    return post("PAYMENT", "/v1/payment_intents", urllib.parse.urlencode(form), "application/x-www-form-urlencoded")


def send_mail(want):
    mail = {"from": "shop@example.com", "text": want["subject"], **want}
    if "order" in mail:
        mail["tags"] = [{"name": "order", "value": mail.pop("order")}]
    return post("EMAIL", "/emails", json.dumps(mail), "application/json")


def with_retries(action, want):
    for _ in range(3):
        try:
            return action(want)
        except Exception as error:
            print("trying again:", error)
            time.sleep(0.5)


def claim(outcome, message):
    with open(os.environ["HAPAX_RESULT"], "w") as file:
        json.dump({"outcome": outcome, "message": message}, file)


KNOWN = {"payment.charge": charge, "email.send": send_mail}

for step in json.loads(os.environ["HAPAX_STEPS"]):
    if step["do"] not in KNOWN:
        claim("not-done", f"I do not know how to do {step['do']}.")
        break
    with_retries(KNOWN[step["do"]], step["with"])
else:
    claim("done", "All done.")
