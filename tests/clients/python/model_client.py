"""Asks the model service with the real clients, streamed and not, and makes the tool calls that it asks for.

Prints one line of JSON: what each client received. With the name of an API (`chat`, `responses`, `messages`) it asks
that one once, with the default settings of the client, and prints the text. `tool_runner` prints what Anthropic's tool
runner received.
"""

import json
import sys

import anthropic
import openai

TASK = "Charge cus_42 4999 for order ord_1."
PROPERTIES = {
    "customer": {"type": "string"},
    "amount": {"type": "integer"},
    "order": {"type": "string"},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": list(PROPERTIES)}
ABOUT = {"name": "charge_card", "description": "Charges a customer."}
OUTPUT = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "done": {"type": "boolean"}},
    "required": ["summary", "done"],
    "additionalProperties": False,
}


def chat(stream):
    """OpenAI's chat completions: the calls, then the text after their results."""
    client = openai.OpenAI()
    tools = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": TASK}]

    def ask():
        if not stream:
            return client.chat.completions.create(model="gpt-5.2", messages=messages, tools=tools)
        with client.chat.completions.stream(
            model="gpt-5.2", messages=messages, tools=tools, stream_options={"include_usage": True}
        ) as events:
            for _ in events:
                pass
            return events.get_final_completion()

    first = ask()
    message = first.choices[0].message
    messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": '{"id": "ch_1"}'})
    last = ask()
    calls = [[call.function.name, json.loads(call.function.arguments)] for call in message.tool_calls]
    return {
        "calls": calls,
        "reasons": [first.choices[0].finish_reason, last.choices[0].finish_reason],
        "text": last.choices[0].message.content,
        "usage": last.usage.total_tokens > last.usage.completion_tokens > 0,
    }


def responses(stream):
    """OpenAI's responses. The second request continues the first by its id."""
    client = openai.OpenAI()
    tools = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]

    def ask(**more):
        if not stream:
            return client.responses.create(model="gpt-5.2", tools=tools, **more)
        with client.responses.stream(model="gpt-5.2", tools=tools, **more) as events:
            for _ in events:
                pass
            return events.get_final_response()

    first = ask(input=TASK)
    calls = [item for item in first.output if item.type == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call.call_id, "output": '{"id": "ch_1"}'} for call in calls
    ]
    last = ask(input=results, previous_response_id=first.id)
    return {
        "calls": [[call.name, json.loads(call.arguments)] for call in calls],
        "reasons": [first.status, last.status],
        "text": last.output_text,
        "usage": last.usage.total_tokens > last.usage.output_tokens > 0,
    }


def messages_api(stream):
    """Anthropic's messages."""
    client = anthropic.Anthropic()
    tools = [{**ABOUT, "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": TASK}]

    def ask():
        asked = dict(model="claude-opus-4-6", max_tokens=200, messages=messages, tools=tools)
        if not stream:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as events:
            for _ in events:
                pass
            return events.get_final_message()

    first = ask()
    calls = [block for block in first.content if block.type == "tool_use"]
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]})
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": '{"id": "ch_1"}'} for call in calls]
    messages.append({"role": "user", "content": results})
    last = ask()
    return {
        "calls": [[call.name, call.input] for call in calls],
        "reasons": [first.stop_reason, last.stop_reason],
        "text": last.content[0].text,
        "usage": last.usage.input_tokens > 0 and last.usage.output_tokens > 0,
    }


def tool_runner(stream):
    """The tool runner of Anthropic's client: its second request continues a thread."""
    made = []

    @anthropic.beta_tool
    def charge_card(customer: str, amount: int, order: str) -> str:
        """Charges a customer."""
        made.append(["charge_card", {"customer": customer, "amount": amount, "order": order}])
        return '{"id": "ch_1"}'

    answers = []
    for item in anthropic.Anthropic().beta.messages.tool_runner(
        model="claude-opus-4-6",
        max_tokens=200,
        tools=[charge_card],
        messages=[{"role": "user", "content": TASK}],
        stream=stream,
    ):
        answers.append(item.get_final_message() if stream else item)
    return {
        "calls": made,
        "reasons": [answer.stop_reason for answer in answers],
        "text": answers[-1].content[0].text,
        "usage": answers[-1].usage.input_tokens > 0 and answers[-1].usage.output_tokens > 0,
    }


def structured():
    """Structured output of each API."""
    chat = openai.OpenAI().chat.completions.create(
        model="gpt-5.2",
        messages=[{"role": "user", "content": "Report."}],
        response_format={"type": "json_schema", "json_schema": {"name": "report", "schema": OUTPUT}},
    )
    response = openai.OpenAI().responses.create(
        model="gpt-5.2",
        input="Report.",
        text={"format": {"type": "json_schema", "name": "report", "schema": OUTPUT}},
    )
    message = anthropic.Anthropic().messages.create(
        model="claude-opus-4-6",
        max_tokens=200,
        messages=[{"role": "user", "content": "Report."}],
        output_config={"format": {"type": "json_schema", "schema": OUTPUT}},
    )
    texts = [chat.choices[0].message.content, response.output_text, message.content[0].text]
    return [json.loads(text) for text in texts]


def errors():
    """The class and the code of the error for a model that does not exist, and of a bad request."""
    found = []
    user = [{"role": "user", "content": "x"}]
    for ask in [
        lambda: openai.OpenAI().chat.completions.create(model="gpt-none", messages=user),
        lambda: openai.OpenAI().responses.create(model="gpt-none", input="x"),
        lambda: anthropic.Anthropic().messages.create(model="claude-none", max_tokens=9, messages=user),
        lambda: openai.OpenAI().chat.completions.create(model="gpt-5.2", messages=[]),
        lambda: anthropic.Anthropic().messages.create(model="claude-opus-4-6", max_tokens=9, messages=[]),
        lambda: openai.OpenAI(api_key="wrong").models.list(),
    ]:
        try:
            ask()
            found.append("no error")
        except Exception as error:
            found.append([type(error).__name__, getattr(error, "code", None)])
    return found


def models():
    """The names of the models, as both clients list them."""
    return [[model.id for model in client.models.list()] for client in [openai.OpenAI(), anthropic.Anthropic()]]


def once(api):
    """The text of one answer."""
    user = [{"role": "user", "content": "Hello"}]
    if api == "chat":
        return openai.OpenAI().chat.completions.create(model="gpt-5.2", messages=user).choices[0].message.content
    if api == "responses":
        return openai.OpenAI().responses.create(model="gpt-5.2", input="Hello").output_text
    asked = dict(model="claude-opus-4-6", max_tokens=9, messages=user)
    return anthropic.Anthropic().messages.create(**asked).content[0].text


if sys.argv[1:] == ["tool_runner"]:
    print(json.dumps({"whole": tool_runner(False), "streamed": tool_runner(True)}))
    sys.exit(0)
if len(sys.argv) > 1:
    print(json.dumps(once(sys.argv[1])))
    sys.exit(0)

report = {}
for name, ask in [("chat", chat), ("responses", responses), ("messages", messages_api)]:
    report[name] = {"whole": ask(False), "streamed": ask(True)}
report["structured"] = structured()
report["errors"] = errors()
report["models"] = models()
print(json.dumps(report))
