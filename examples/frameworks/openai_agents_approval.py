"""The refund agent on the OpenAI Agents SDK: the tool needs an approval, and the paused run is stored and resumed."""

import asyncio
import json
import os

from agents import Agent, Runner, RunState, function_tool

import payment
import waiting

agent = Agent(
    name="Support",
    instructions="You are the support agent of a shop.",
    tools=[
        function_tool(payment.refund_charge, needs_approval=True),
        function_tool(payment.list_refunds),
        function_tool(payment.charge_customer),
    ],
)
stored = waiting.STATE / "run.json"


async def main():
    if waiting.ANSWERS:
        state = await RunState.from_json(agent, json.loads(stored.read_text()))
        for one in state.get_interruptions():
            if waiting.ANSWERS[one.call_id]:
                state.approve(one)
            else:
                state.reject(one)
        result = await Runner.run(agent, state)
    else:
        result = await Runner.run(agent, os.environ["HAPAX_TASK"])

    if result.interruptions:
        stored.write_text(result.to_state().to_string())
        waiting.wait_for([waiting.question(one.call_id, json.loads(one.arguments)) for one in result.interruptions])
    else:
        print(result.final_output)


asyncio.run(main())
