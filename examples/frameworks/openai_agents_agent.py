"""The refund agent on the OpenAI Agents SDK."""

import os

from agents import Agent, Runner, function_tool

import payment

agent = Agent(
    name="Support",
    instructions="You are the support agent of a shop.",
    tools=[function_tool(payment.refund_charge), function_tool(payment.list_refunds)],
)
result = Runner.run_sync(agent, os.environ["HAPAX_TASK"])
print(result.final_output)
