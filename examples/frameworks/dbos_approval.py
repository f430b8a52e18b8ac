"""The refund agent as a DBOS workflow: it waits with `recv`, and the answer is sent with `send`."""

import json
import os

from dbos import DBOS, SetWorkflowID
from openai import OpenAI

import openai_tools
import payment
import waiting

DBOS(config={"name": "refund-agent", "system_database_url": f"sqlite:///{waiting.STATE / 'dbos.sqlite'}"})
client = OpenAI()
FUNCTIONS = {**openai_tools.FUNCTIONS, "charge_customer": payment.charge_customer}
TOOLS = [*openai_tools.TOOLS, openai_tools.CHARGE_CUSTOMER]


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


def is_approved(call_id, arguments):
    DBOS.write_stream("questions", waiting.question(call_id, arguments))
    return DBOS.recv(topic=call_id, timeout_seconds=7 * 24 * 60 * 60)


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
            arguments = json.loads(call["arguments"])
            if call["name"] == "refund_charge" and not is_approved(call["call_id"], arguments):
                result = "The refund was not approved."
            else:
                result = call_tool(call["name"], arguments)
            messages.append(
                {"type": "function_call_output", "call_id": call["call_id"], "output": json.dumps(result)}
            )


if __name__ == "__main__":
    # Continues the workflow where it was when the process ended.
    DBOS.launch()
    for call_id, decision in waiting.ANSWERS.items():
        DBOS.send("refund", decision, topic=call_id)
    if not waiting.ANSWERS:
        with SetWorkflowID("refund"):
            DBOS.start_workflow(refund_agent, os.environ["HAPAX_TASK"])
    answered = set(waiting.ANSWERS)
    # Ends when the workflow does. The questions up to the answered ones are old.
    for question in DBOS.read_stream("refund", "questions"):
        if answered:
            answered.discard(question["id"])
        else:
            waiting.wait_for([question])
            # The thread of the workflow waits for the answer, and would keep the process alive.
            os._exit(0)
    print(DBOS.retrieve_workflow("refund").get_result())
