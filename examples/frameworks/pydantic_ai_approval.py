"""The refund agent on Pydantic AI: the tool requires an approval, and a new run continues the stored messages."""

import os

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, Tool

import payment
import waiting

agent = Agent(
    "openai:gpt-5.2",
    instructions="You are the support agent of a shop.",
    tools=[Tool(payment.refund_charge, requires_approval=True), payment.list_refunds, payment.charge_customer],
    output_type=[str, DeferredToolRequests],
)
stored = waiting.STATE / "messages.json"

if waiting.ANSWERS:
    result = agent.run_sync(
        message_history=ModelMessagesTypeAdapter.validate_json(stored.read_bytes()),
        deferred_tool_results=DeferredToolResults(approvals=waiting.ANSWERS),
    )
else:
    result = agent.run_sync(os.environ["HAPAX_TASK"])
stored.write_bytes(result.all_messages_json())

if isinstance(result.output, DeferredToolRequests):
    asked = result.output.approvals
    waiting.wait_for([waiting.question(one.tool_call_id, one.args_as_dict()) for one in asked])
else:
    print(result.output)
