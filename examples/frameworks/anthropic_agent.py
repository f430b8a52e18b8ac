"""The refund agent on Anthropic's client, with the tool runner that comes with it."""

import json
import os

from anthropic import Anthropic, beta_tool

import payment



@beta_tool
def refund_charge(order: str, amount: int) -> str:
    """Refund the charge of an order.

    Args:
        order: The id of the order.
        amount: The amount in cents.
    """
    return json.dumps(payment.refund_charge(order, amount))


@beta_tool
def list_refunds(order: str) -> str:
    """List the refunds of an order.

    Args:
        order: The id of the order.
    """
    return json.dumps(payment.list_refunds(order))


client = Anthropic()
runner = client.beta.messages.tool_runner(
    model="claude-sonnet-4-5",
    max_tokens=1024,
    system="You are the support agent of a shop.",
    tools=[refund_charge, list_refunds],
    messages=[{"role": "user", "content": os.environ["HAPAX_TASK"]}],
)
message = runner.until_done()
print("".join(block.text for block in message.content if block.type == "text"))
