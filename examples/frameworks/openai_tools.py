"""The tools in the form of OpenAI's responses API."""

import payment

FUNCTIONS = {"refund_charge": payment.refund_charge, "list_refunds": payment.list_refunds}
ORDER = {"type": "string", "description": "The id of the order."}
CUSTOMER = {"type": "string", "description": "The id of the customer."}
CURRENCY = {"type": "string", "description": "The currency, such as usd."}
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
CHARGE_CUSTOMER = tool(
    "charge_customer",
    "Charge a customer for an order.",
    {"customer": CUSTOMER, "order": ORDER, "amount": AMOUNT, "currency": CURRENCY},
)
