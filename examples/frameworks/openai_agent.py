"""The refund agent on OpenAI's client: a loop over the responses API."""

import json
import os

from openai import OpenAI

from openai_tools import FUNCTIONS, TOOLS

client = OpenAI()
messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]

while True:
    response = client.responses.create(
        model="gpt-5.2",
        instructions="You are the support agent of a shop.",
        tools=TOOLS,
        input=messages,
    )
    messages += response.output
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        result = FUNCTIONS[call.name](**json.loads(call.arguments))
        messages.append({"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(result)})

print(response.output_text)
