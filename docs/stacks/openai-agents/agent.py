import os

import stripe
from agents import Agent, Runner, function_tool

stripe.api_key = os.environ["STRIPE_API_KEY"]


@function_tool
def charge_customer(customer: str, amount: int, currency: str, order: str) -> str:
    """Charge a customer for an order. The amount is in cents."""
    charge = stripe.Charge.create(
        amount=amount, currency=currency, customer=customer, metadata={"order": order}
    )
    return f"charged: {charge.id}"


agent = Agent(name="Billing", instructions="You are a billing agent.", tools=[charge_customer])

if __name__ == "__main__":
    print(Runner.run_sync(agent, os.environ["HAPAX_TASK"]).final_output)
