"""A small agent on OpenAI's chat completions without a client library. It calls the tools that the model asks for; where
there is no payment service, as in a recording, the tool answers by itself. With an argument it words its task otherwise."""

import json
import os
import sys
import urllib.parse
import urllib.request

TOOL = {
    "name": "charge_card",
    "parameters": {
        "type": "object",
        "properties": {"customer": {"type": "string"}, "amount": {"type": "integer"}, "order": {"type": "string"}},
        "required": ["customer", "amount", "order"],
    },
}


def post(url, data, headers):
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=20) as answer:
        return json.loads(answer.read())


def ask(messages):
    body = {"model": "gpt-5.2", "messages": messages, "tools": [{"type": "function", "function": TOOL}]}
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    return post(url, json.dumps(body).encode(), headers)["choices"][0]["message"]


def charge(customer, amount, order):
    base = os.environ.get("HAPAX_PAYMENT_URL")
    if not base:
        return {"id": "ch_3recorded0000001", "status": "succeeded"}
    form = {"customer": customer, "amount": amount, "currency": "usd", "metadata[order]": order}
    headers = {"Authorization": f"Bearer {os.environ['HAPAX_PAYMENT_KEY']}", "Idempotency-Key": order}
    made = post(base + "/v1/charges", urllib.parse.urlencode(form).encode(), headers)
    return {"id": made["id"], "status": made["status"]}


task = "Charge customer cus_42 $49.99 for order ord_1001."
messages = [{"role": "user", "content": sys.argv[1] if len(sys.argv) > 1 else task}]
while True:
    message = ask(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        result = charge(**json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
if "HAPAX_RESULT" in os.environ:
    with open(os.environ["HAPAX_RESULT"], "w") as file:
        json.dump({"status": "done"}, file)
print(message["content"])
