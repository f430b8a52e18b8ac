"""The refund agent on OpenAI's client: a loop over the responses API."""

import json
import os

from openai import OpenAI

from payment import list_refunds, refund_charge

FUNCTIONS = {"refund_charge": refund_charge, "list_refunds": list_refunds}
ORDER = {"type": "string", "description": "The id of the order."}
AMOUNT = {"type": "integer", "description": "The amount in cents."}


def tool(name, description, properties):
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": True}


TOOLS = [
    tool("refund_charge", "Refund the charge of an order.", {"order": ORDER, "amount": AMOUNT}),
    tool("list_refunds", "List the refunds of an order.", {"order": ORDER}),
]

client = OpenAI()
messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]

while True:
    response = client.responses.create(
        model="gpt-5.2",
        instructions="You are the support agent of a shop.",
        tools=TOOLS,
        input=messages,
    )
    messages += response.output
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        result = FUNCTIONS[call.name](**json.loads(call.arguments))
        messages.append({"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(result)})

print(response.output_text)
