#!/usr/bin/env python3
"""A careless agent with Stripe's and Resend's own clients, as one writes it on a good day. See requirements.txt.

Stripe's client sends a key with each charge, but a new one for each call: the retry around it makes a second charge. Resend's
sends none. And when the attempts have run out, the agent says that all is done.
"""

import json
import os
import time

import resend
import stripe


def setting(name):
    return os.environ[f"HAPAX_{name}"]


def charge(want):
    client = stripe.StripeClient(setting("PAYMENT_KEY"), base_addresses={"api": setting("PAYMENT_URL")})
    return client.v1.payment_intents.create(
        {
            "amount": want["amount"],
            "currency": want["currency"],
            "customer": want["customer"],
            "payment_method": want.get("payment_method", "pm_card_visa"),
            "payment_method_types": ["card"],
            "confirm": True,
            "metadata": {"order": want["order"]},
        }
    )


def send_mail(want):
    mail = {"from": "shop@example.com", "text": want["subject"], **want}
    if "order" in mail:
        mail["tags"] = [{"name": "order", "value": mail.pop("order")}]
    resend.api_key, resend.api_url = setting("EMAIL_KEY"), setting("EMAIL_URL")
    return resend.Emails.send(mail)


def with_retries(action, want):
    for _ in range(3):
        try:
            return action(want)
        except Exception as error:
            print("trying again:", error)
            time.sleep(0.5)


def claim(outcome, message):
    with open(setting("RESULT"), "w") as file:
        json.dump({"outcome": outcome, "message": message}, file)


KNOWN = {"payment.charge": charge, "email.send": send_mail}

for step in json.loads(setting("STEPS")):
    if step["do"] not in KNOWN:
        claim("not-done", f"I do not know how to do {step['do']}.")
        break
    with_retries(KNOWN[step["do"]], step["with"])
else:
    claim("done", "All done.")
