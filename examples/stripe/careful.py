#!/usr/bin/env python3
"""A careful agent with Stripe's and Resend's own clients: each charge and each mail exactly once. See requirements.txt.

1. The key comes from the order, not from the client, which makes a new one for each call.
2. What is meant is written down before it is done, and after a restart it is still what was written down.
3. A lost answer, 429 and 5xx prove nothing: it looks before it repeats, so the clients do not retry by themselves.
4. It waits as long as the service asks, and stops after three attempts.
5. It believes a success when it sees what was done, and says `unknown` when it cannot find out.
"""

import hashlib
import json
import os
import pathlib
import time
import urllib.parse

import resend
import stripe

ATTEMPTS = 3
LOOKS = 3  # A read can lag behind the write: one look that finds nothing proves little.
PAUSE, LONGEST_PAUSE = 0.5, 60  # Seconds: where the service names none, and what is not waited for.
ERRORS = (stripe.StripeError, resend.exceptions.ResendError, ValueError)


def setting(name):
    return os.environ[f"HAPAX_{name}"]


class Charge:
    def __init__(self, want):
        self.want, self.key = want, urllib.parse.quote(f"charge-{want['order']}", safe="")
        base = {"api": setting("PAYMENT_URL")}
        client = stripe.StripeClient(setting("PAYMENT_KEY"), base_addresses=base, max_network_retries=0)
        self.intents = client.v1.payment_intents

    def send(self, key):
        intent = {name: self.want[name] for name in ("amount", "currency", "customer")}
        intent["payment_method"] = self.want.get("payment_method", "pm_card_visa")
        intent |= {"payment_method_types": ["card"], "confirm": True, "metadata": {"order": self.want["order"]}}
        self.intents.create(intent, {"idempotency_key": key})

    def look(self):
        found = self.intents.list({"customer": self.want["customer"], "limit": 100})  # Not the search: it finds new things late.
        ours = [it for it in found.data if it.metadata.to_dict().get("order") == self.want["order"]]
        if any(it.status == "succeeded" for it in ours):
            return "done"
        return "unknown" if found.has_more else "absent"


class Mail:
    def __init__(self, want):
        resend.api_key, resend.api_url = setting("EMAIL_KEY"), setting("EMAIL_URL")
        tags = [{"name": "order", "value": want["order"]}] if "order" in want else []
        to = want["to"] if isinstance(want["to"], list) else [want["to"]]
        text = want.get("text", want["subject"])
        self.mail = {"from": "shop@example.com", "to": to, "subject": want["subject"], "text": text, "tags": tags}
        identity = json.dumps([to, want["subject"], tags])  # Not the text: a new wording is the same mail.
        self.key = "mail-" + hashlib.sha256(identity.encode()).hexdigest()[:32]

    def send(self, key):
        resend.Emails.send(self.mail, {"idempotency_key": key})

    def look(self):
        found = resend.Emails.list({"limit": 100})
        for it in found["data"]:
            if it["to"] == self.mail["to"] and it["subject"] == self.mail["subject"]:
                whole = resend.Emails.get(it["id"])  # The list does not show the order.
                if whole["tags"] == self.mail["tags"]:  # On its way is not there yet, and no reason to send it again.
                    return {"delivered": "done", "bounced": "not-done"}.get(whole["last_event"], "unknown")
        return "unknown" if found["has_more"] else "absent"


def look(deed, times):
    for left in reversed(range(times)):
        try:
            seen = deed.look()
        except ERRORS:
            seen = "unknown"
        if seen in ("done", "not-done") or not left:
            return seen
        time.sleep(PAUSE)


def send(deed, key):
    """One attempt: the status of the answer and its headers. The status is 0 where no whole answer came."""
    try:
        deed.send(key)
        return 200, {}
    except stripe.StripeError as error:
        return error.http_status or 0, error.headers
    except resend.exceptions.ResendError as error:
        # Resend's client calls a lost answer status 500, which proves as little.
        return int(error.code), error.headers
    except ValueError:
        return 0, {}


def carry_out(kind, want):
    """Does it exactly once, and says what came of it: done, not-done or unknown, and the status of the last answer."""
    file = pathlib.Path(setting("STATE_DIR"), kind(want).key + ".json")
    note = json.loads(file.read_text()) if file.exists() else {"want": want, "key": kind(want).key, "sent": False}
    deed, status = kind(note["want"]), 0
    seen = look(deed, LOOKS if note["sent"] else 1)
    for _ in range(ATTEMPTS):
        if seen in ("done", "not-done") or (seen == "unknown" and note["sent"]):
            break
        note["sent"] = True
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(note))
        draft.replace(file)  # Whole or not at all, should the process die here.
        status, headers = send(deed, note["key"])
        headers = {name.lower(): value for name, value in headers.items()}
        if 400 <= status < 500 and status not in (408, 409, 425, 429):
            return "not-done", status
        if status >= 500 and headers.get("idempotent-replayed") == "true":
            note["key"] += "-again"  # The service keeps its failure under this key: it would never succeed.
        if status != 200:
            asked = headers.get("retry-after", "")
            pause = int(asked) if asked.isdigit() else PAUSE
            if pause > LONGEST_PAUSE:
                return "unknown", status
            time.sleep(pause)
        seen = look(deed, LOOKS)
    if seen == "absent":  # Said to be done or to be under way, and not to be seen: nobody can tell.
        seen = "unknown" if status in (200, 409) else "not-done"
    return seen, status


KNOWN = {"payment.charge": Charge, "email.send": Mail}
steps = json.loads(setting("STEPS"))
strange = [step["do"] for step in steps if step["do"] not in KNOWN]
if strange or not steps:
    outcomes, told = {"not-done"}, [f"I do not know how to do {', '.join(strange) or 'a task without steps'}, so I did nothing."]
else:
    outcomes, told = set(), []
    for step in steps:
        outcome, status = carry_out(KNOWN[step["do"]], step["with"])
        outcomes.add(outcome)
        told.append(f"{step['do']}: {outcome}, last answer: {status or 'none'}.")
        if outcome != "done":
            break  # What follows may depend on it.
outcome = outcomes.pop() if len(outcomes) == 1 else "unknown"  # Some of it done and some not is neither.
pathlib.Path(setting("RESULT")).write_text(json.dumps({"outcome": outcome, "message": " ".join(told)}))
