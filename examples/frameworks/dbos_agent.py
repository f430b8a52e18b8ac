"""The refund agent as a DBOS workflow: each call of the model and of a tool is a step.

A workflow that was interrupted continues after its last completed step when DBOS starts again.
"""

import json
import os

from dbos import DBOS, SetWorkflowID
from openai import OpenAI

from openai_tools import FUNCTIONS, TOOLS

database = os.path.join(os.environ["HAPAX_STATE_DIR"], "dbos.sqlite")
DBOS(config={"name": "refund-agent", "system_database_url": f"sqlite:///{database}"})
client = OpenAI()


@DBOS.step()
def ask_model(messages):
    response = client.responses.create(
        model="gpt-5.2",
        instructions="You are the support agent of a shop.",
        tools=TOOLS,
        input=messages,
    )
    return response.output_text, [item.model_dump(exclude_none=True) for item in response.output]


@DBOS.step()
def call_tool(name, arguments):
    return FUNCTIONS[name](**arguments)


@DBOS.workflow()
def refund_agent(task):
    messages = [{"role": "user", "content": task}]
    while True:
        text, output = ask_model(messages)
        messages += output
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            return text
        for call in calls:
            result = call_tool(call["name"], json.loads(call["arguments"]))
            messages.append(
                {"type": "function_call_output", "call_id": call["call_id"], "output": json.dumps(result)}
            )


if __name__ == "__main__":
    DBOS.launch()
    with SetWorkflowID(os.environ["HAPAX_TRIAL"]):
        print(refund_agent(os.environ["HAPAX_TASK"]))
