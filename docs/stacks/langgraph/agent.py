import os

import stripe
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

stripe.api_key = os.environ["STRIPE_API_KEY"]


@tool
def charge_customer(customer: str, amount: int, currency: str, order: str) -> str:
    """Charge a customer for an order. The amount is in cents."""
    charge = stripe.Charge.create(
        amount=amount, currency=currency, customer=customer, metadata={"order": order}
    )
    return f"charged: {charge.id}"


agent = create_react_agent(ChatOpenAI(model="gpt-5.2"), [charge_customer], prompt="You are a billing agent.")

if __name__ == "__main__":
    state = agent.invoke({"messages": [("user", os.environ["HAPAX_TASK"])]})
    print(state["messages"][-1].content)
