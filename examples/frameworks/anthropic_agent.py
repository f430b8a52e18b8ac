"""The refund agent on Anthropic's client: a loop over the messages API."""

import json
import os

from anthropic import Anthropic

from payment import list_refunds, refund_charge

FUNCTIONS = {"refund_charge": refund_charge, "list_refunds": list_refunds}
ORDER = {"type": "string", "description": "The id of the order."}
AMOUNT = {"type": "integer", "description": "The amount in cents."}


def tool(name, description, properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = [
    tool("refund_charge", "Refund the charge of an order.", {"order": ORDER, "amount": AMOUNT}),
    tool("list_refunds", "List the refunds of an order.", {"order": ORDER}),
]

client = Anthropic()
messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]

while True:
    response = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=1024,
        system="You are the support agent of a shop.",
        tools=TOOLS,
        messages=messages,
    )
    messages.append({"role": "assistant", "content": response.content})
    if response.stop_reason != "tool_use":
        break
    results = []
    for block in response.content:
        if block.type == "tool_use":
            result = json.dumps(FUNCTIONS[block.name](**block.input))
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": result})
    messages.append({"role": "user", "content": results})

print("".join(block.text for block in response.content if block.type == "text"))
