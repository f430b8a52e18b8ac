#!/usr/bin/env python3
"""A careful agent: each charge and each mail exactly once. It needs nothing but Python.

1. The key comes from the order: it is the same for every attempt, every restart and every worker.
2. What is meant is written down before it is done, and after a restart it is still what was written down.
3. A lost answer, 429 and 5xx prove nothing: it looks before it repeats.
4. It waits as long as the service asks, and stops after three attempts.
5. It believes a success when it sees what was done, and says `unknown` when it cannot find out.
"""

import hashlib
import http.client
import json
import os
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request

ATTEMPTS = 3
LOOKS = 3  # A read can lag behind the write: one look that finds nothing proves little.
PAUSE, LONGEST_PAUSE = 0.5, 60  # Seconds: where the service names none, and what is not waited for.


def call(service, path, data=None, headers=()):
    """One request: status, headers and JSON of the answer. The status is 0 where no whole answer came."""
    headers = {"Authorization": "Bearer " + os.environ[f"HAPAX_{service}_KEY"], **dict(headers)}
    request = urllib.request.Request(os.environ[f"HAPAX_{service}_URL"] + path, data and data.encode(), headers)
    try:
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error  # An answer all the same.
        return answer.status, answer.headers, json.loads(answer.read()) if answer.status < 300 else None
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}, None


class Charge:
    def __init__(self, want):
        self.want, self.key = want, urllib.parse.quote(f"charge-{want['order']}", safe="")

    def send(self, key):
        form = {name: self.want[name] for name in ("amount", "currency", "customer")}
        form["payment_method"] = self.want.get("payment_method", "pm_card_visa")
        form |= {"payment_method_types[]": "card", "confirm": "true", "metadata[order]": self.want["order"]}
        return call("PAYMENT", "/v1/payment_intents", urllib.parse.urlencode(form), {"Idempotency-Key": key})

    def look(self):
        query = urllib.parse.urlencode({"customer": self.want["customer"], "limit": 100})
        status, _, found = call("PAYMENT", f"/v1/payment_intents?{query}")  # Not the search: it finds new things late.
        if status != 200:
            return "unknown"
        ours = [it for it in found["data"] if it["metadata"].get("order") == self.want["order"]]
        if any(it["status"] == "succeeded" for it in ours):
            return "done"
        return "unknown" if found["has_more"] else "absent"


class Mail:
    def __init__(self, want):
        tags = [{"name": "order", "value": want["order"]}] if "order" in want else []
        to = want["to"] if isinstance(want["to"], list) else [want["to"]]
        text = want.get("text", want["subject"])
        self.mail = {"from": "shop@example.com", "to": to, "subject": want["subject"], "text": text, "tags": tags}
        identity = json.dumps([to, want["subject"], tags])  # Not the text: a new wording is the same mail.
        self.key = "mail-" + hashlib.sha256(identity.encode()).hexdigest()[:32]

    def send(self, key):
        return call("EMAIL", "/emails", json.dumps(self.mail), {"Content-Type": "application/json", "Idempotency-Key": key})

    def look(self):
        status, _, found = call("EMAIL", "/emails?limit=100")
        if status != 200:
            return "unknown"
        for it in found["data"]:
            if it["to"] == self.mail["to"] and it["subject"] == self.mail["subject"]:
                status, _, whole = call("EMAIL", f"/emails/{it['id']}")  # The list does not show the order.
                if status != 200:
                    return "unknown"
                if whole["tags"] == self.mail["tags"]:  # On its way is not there yet, and no reason to send it again.
                    return {"delivered": "done", "bounced": "not-done"}.get(whole["last_event"], "unknown")
        return "unknown" if found["has_more"] else "absent"


def look(deed, times):
    for left in reversed(range(times)):
        seen = deed.look()
        if seen in ("done", "not-done") or not left:
            return seen
        time.sleep(PAUSE)


def carry_out(kind, want):
    """Does it exactly once, and says what came of it: done, not-done or unknown, and the status of the last answer."""
    file = pathlib.Path(os.environ["HAPAX_STATE_DIR"], kind(want).key + ".json")
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
        status, headers, _ = deed.send(note["key"])
        if 400 <= status < 500 and status not in (408, 409, 425, 429):
            return "not-done", status
        if status >= 500 and headers.get("Idempotent-Replayed") == "true":
            note["key"] += "-again"  # The service keeps its failure under this key: it would never succeed.
        if not 200 <= status < 300:
            asked = headers.get("Retry-After", "")
            pause = int(asked) if asked.isdigit() else PAUSE
            if pause > LONGEST_PAUSE:
                return "unknown", status
            time.sleep(pause)
        seen = look(deed, LOOKS)
    if seen == "absent":  # Said to be done or to be under way, and not to be seen: nobody can tell.
        seen = "unknown" if 200 <= status < 300 or status == 409 else "not-done"
    return seen, status


KNOWN = {"payment.charge": Charge, "email.send": Mail}
steps = json.loads(os.environ["HAPAX_STEPS"])
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
pathlib.Path(os.environ["HAPAX_RESULT"]).write_text(json.dumps({"outcome": outcome, "message": " ".join(told)}))
