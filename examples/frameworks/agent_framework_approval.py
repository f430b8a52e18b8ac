"""The refund agent on Microsoft Agent Framework: the tool requires an approval, and the stored session continues."""

import asyncio
import json
import os

from agent_framework import Agent, AgentSession, Content, Message, tool
from agent_framework.openai import OpenAIChatClient

import payment
import waiting

agent = Agent(
    OpenAIChatClient(model="gpt-5.2"),
    instructions="You are the support agent of a shop.",
    tools=[
        tool(payment.refund_charge, approval_mode="always_require"),
        tool(payment.list_refunds),
        tool(payment.charge_customer),
    ],
)
stored = waiting.STATE / "session.json"
requests = waiting.STATE / "requests.json"


async def main():
    if waiting.ANSWERS:
        session = AgentSession.from_dict(json.loads(stored.read_text()))
        asked = [Content.from_dict(one) for one in json.loads(requests.read_text())]
        answers = [one.to_function_approval_response(waiting.ANSWERS[one.id]) for one in asked]
        result = await agent.run(Message("user", answers), session=session)
    else:
        session = agent.create_session()
        result = await agent.run(os.environ["HAPAX_TASK"], session=session)
    stored.write_text(json.dumps(session.to_dict()))

    if asked := result.user_input_requests:
        requests.write_text(json.dumps([one.to_dict() for one in asked]))
        waiting.wait_for([waiting.question(one.id, one.function_call.parse_arguments()) for one in asked])
    else:
        print(result.text)


asyncio.run(main())
