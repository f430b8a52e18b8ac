import os

import stripe
from fastapi import FastAPI
from pydantic import BaseModel
from pydantic_ai import Agent

stripe.api_key = os.environ["STRIPE_API_KEY"]
agent = Agent("openai:gpt-5.2", instructions="You are a billing agent.")
app = FastAPI()


@agent.tool_plain
def charge_customer(customer: str, amount: int, currency: str, order: str) -> str:
    """Charge a customer for an order. The amount is in cents."""
    charge = stripe.Charge.create(
        amount=amount, currency=currency, customer=customer, metadata={"order": order}
    )
    return f"charged: {charge.id}"


class Message(BaseModel):
    text: str


@app.post("/chat")
async def chat(message: Message) -> Message:
    result = await agent.run(message.text)
    return Message(text=result.output)
