import json
import os

import stripe
from openai import OpenAI

stripe.api_key = os.environ["STRIPE_API_KEY"]
client = OpenAI()
tools = [{
    "type": "function",
    "name": "charge_customer",
    "description": "Charge a customer for an order. The amount is in cents.",
    "parameters": {
        "type": "object",
        "properties": {
            "customer": {"type": "string"},
            "amount": {"type": "integer"},
            "currency": {"type": "string"},
            "order": {"type": "string"},
        },
        "required": ["customer", "amount", "currency", "order"],
    },
}]


def charge_customer(customer, amount, currency, order):
    charge = stripe.Charge.create(
        amount=amount, currency=currency, customer=customer, metadata={"order": order}
    )
    return f"charged: {charge.id}"


messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]
while True:
    response = client.responses.create(model="gpt-5.2", input=messages, tools=tools)
    messages += response.output
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        result = charge_customer(**json.loads(call.arguments))
        messages.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
print(response.output_text)
