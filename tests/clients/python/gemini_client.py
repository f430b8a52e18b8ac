"""Asks the model service with Google's client, streamed and not, and makes the tool calls that it asks for.

Prints one line of JSON: what the client received.
"""

import json

from google import genai
from google.genai import errors, types

CLIENT = genai.Client()
MODEL = "gemini-2.5-flash"
TASK = "Charge cus_42 4999 for order ord_1."
PROPERTIES = {"customer": {"type": "STRING"}, "amount": {"type": "INTEGER"}, "order": {"type": "STRING"}}
FUNCTION = {
    "name": "charge_card",
    "description": "Charges a customer.",
    "parameters": {"type": "OBJECT", "properties": PROPERTIES, "required": list(PROPERTIES)},
}
OUTPUT = {
    "type": "OBJECT",
    "properties": {"summary": {"type": "STRING"}, "done": {"type": "BOOLEAN"}},
    "required": ["summary", "done"],
}


def config(**more):
    """The settings of a request with the function."""
    return types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[types.Tool(function_declarations=[FUNCTION])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        **more,
    )


def work(stream):
    """The calls, then the text after their results."""
    contents = [types.Content(role="user", parts=[types.Part(text=TASK)])]

    def ask():
        asked = dict(model=MODEL, contents=contents, config=config())
        if not stream:
            return [CLIENT.models.generate_content(**asked)]
        return list(CLIENT.models.generate_content_stream(**asked))

    def parts(answers):
        return [part for answer in answers for part in answer.candidates[0].content.parts or []]

    first = ask()
    calls = [part.function_call for part in parts(first) if part.function_call]
    contents.append(types.Content(role="model", parts=[part for part in parts(first) if part.function_call]))
    results = [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"id": "ch_1"}))
        for call in calls
    ]
    contents.append(types.Content(role="user", parts=results))
    last = ask()
    usage = last[-1].usage_metadata
    return {
        "calls": [[call.name, call.args] for call in calls],
        "reasons": [first[-1].candidates[0].finish_reason.value, last[-1].candidates[0].finish_reason.value],
        "text": "".join(part.text or "" for part in parts(last)),
        "usage": usage.total_token_count > usage.candidates_token_count > 0,
    }


def automatic():
    """The client calls the function by itself."""
    made = []

    def charge_card(customer: str, amount: int, order: str) -> dict:
        """Charges a customer."""
        made.append(["charge_card", {"customer": customer, "amount": amount, "order": order}])
        return {"id": "ch_1"}

    answer = CLIENT.models.generate_content(
        model=MODEL, contents=TASK, config=types.GenerateContentConfig(tools=[charge_card])
    )
    return {"calls": made, "text": answer.text}


def forced(mode):
    """The names of the functions that a request with this mode gets."""
    calling = types.FunctionCallingConfig(mode=mode)
    answer = CLIENT.models.generate_content(
        model=MODEL, contents=TASK, config=config(tool_config=types.ToolConfig(function_calling_config=calling))
    )
    return [call.name for call in answer.function_calls or []]


def structured():
    """An answer that matches a schema."""
    settings = types.GenerateContentConfig(response_mime_type="application/json", response_schema=OUTPUT)
    answer = CLIENT.models.generate_content(model=MODEL, contents="Report.", config=settings)
    return json.loads(answer.text)


def thoughts():
    """Whether a thought comes before the text."""
    thinking = types.ThinkingConfig(include_thoughts=True)
    settings = types.GenerateContentConfig(thinking_config=thinking)
    answer = CLIENT.models.generate_content(model=MODEL, contents="Hello", config=settings)
    return [bool(part.thought) for part in answer.candidates[0].content.parts]


def failures():
    """The class, the code and the status of errors."""
    found = []
    for client, model in [(CLIENT, "gemini-none"), (genai.Client(api_key="wrong"), MODEL)]:
        try:
            client.models.generate_content(model=model, contents="x")
            found.append("no error")
        except errors.APIError as error:
            found.append([type(error).__name__, error.code, error.status])
    return found


print(
    json.dumps(
        {
            "whole": work(False),
            "streamed": work(True),
            "automatic": automatic(),
            "forced": [forced("ANY"), forced("NONE")],
            "structured": structured(),
            "thoughts": thoughts(),
            "errors": failures(),
            "models": [model.name for model in CLIENT.models.list()],
            "model": CLIENT.models.get(model=MODEL).name,
            "tokens": CLIENT.models.count_tokens(model=MODEL, contents="four").total_tokens,
        }
    )
)
