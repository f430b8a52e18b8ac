"""The refund agent on Pydantic AI."""

import os

from pydantic_ai import Agent

from payment import list_refunds, refund_charge

agent = Agent(
    "openai:gpt-5.2",
    instructions="You are the support agent of a shop.",
    tools=[refund_charge, list_refunds],
)
result = agent.run_sync(os.environ["HAPAX_TASK"])
print(result.output)
