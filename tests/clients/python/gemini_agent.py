"""A small agent on Google's client, which calls the tool by itself. In a sealed run it uses the real hosts; where there is
no payment service, as in a recording, the tool answers by itself."""

import json
import os
import urllib.parse
import urllib.request

from google import genai
from google.genai import types


def charge_card(customer: str, amount: int, order: str) -> dict:
    """Charges a customer; the amount is in cents."""
    key = os.environ.get("HAPAX_PAYMENT_KEY")
    if not key:
        return {"id": "ch_3recorded0000001", "status": "succeeded"}
    form = {"customer": customer, "amount": amount, "currency": "usd", "metadata[order]": order}
    url = os.environ.get("HAPAX_PAYMENT_URL", "https://api.stripe.com") + "/v1/charges"
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": order}
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        made = json.loads(answer.read())
    return {"id": made["id"], "status": made["status"]}


client = genai.Client()
chat = client.chats.create(model="gemini-2.5-flash", config=types.GenerateContentConfig(tools=[charge_card]))
answer = chat.send_message("Charge customer cus_42 $49.99 for order ord_1001.")
if "HAPAX_RESULT" in os.environ:
    with open(os.environ["HAPAX_RESULT"], "w") as file:
        json.dump({"status": "done"}, file)
print(answer.text)
