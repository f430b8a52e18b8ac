import os

import stripe
from pydantic_ai import Agent

stripe.api_key = os.environ["STRIPE_API_KEY"]
agent = Agent("openai:gpt-5.2", instructions="You are a billing agent.")


@agent.tool_plain
def charge_customer(customer: str, amount: int, currency: str, order: str) -> str:
    """Charge a customer for an order. The amount is in cents."""
    charge = stripe.Charge.create(
        amount=amount, currency=currency, customer=customer, metadata={"order": order}
    )
    return f"charged: {charge.id}"


if __name__ == "__main__":
    print(agent.run_sync(os.environ["HAPAX_TASK"]).output)
