"""Streams one answer of the model over each API, with the real clients.

Prints one line of JSON: for each API the text and the arguments of tool calls that arrived, and the class of the
error, if there was one. With the argument `abort` it closes each stream after the first piece of text.
"""

import json
import sys

import anthropic
import openai

TASK = "Charge cus_42 4999 for order ord_1."
ABOUT = {"name": "charge_card", "description": "Charges a customer."}
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}, "order": {"type": "string"}}}


def chat():
    stream = openai.OpenAI(max_retries=0).chat.completions.create(
        model="gpt-5.2",
        messages=[{"role": "user", "content": TASK}],
        tools=[{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}],
        stream=True,
    )
    with stream:
        for chunk in stream:
            delta = chunk.choices[0].delta
            yield delta.content or "", "".join(call.function.arguments for call in delta.tool_calls or [])


def responses():
    stream = openai.OpenAI(max_retries=0).responses.create(
        model="gpt-5.2", input=TASK, tools=[{"type": "function", **ABOUT, "parameters": SCHEMA}], stream=True
    )
    with stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                yield event.delta, ""
            if event.type == "response.function_call_arguments.delta":
                yield "", event.delta


def messages():
    stream = anthropic.Anthropic(max_retries=0).messages.create(
        model="claude-opus-4-6",
        max_tokens=200,
        messages=[{"role": "user", "content": TASK}],
        tools=[{**ABOUT, "input_schema": SCHEMA}],
        stream=True,
    )
    with stream:
        for event in stream:
            if event.type == "content_block_delta":
                yield getattr(event.delta, "text", ""), getattr(event.delta, "partial_json", "")


def received(pieces):
    """What arrives of a stream."""
    text = arguments = ""
    error = None
    try:
        for more_text, more_arguments in pieces:
            text += more_text
            arguments += more_arguments
            if text and sys.argv[1:] == ["abort"]:
                break
    except Exception as failure:
        error = type(failure).__name__
    return {"text": text, "arguments": arguments, "error": error}


print(json.dumps([received(stream()) for stream in (chat, responses, messages)]))
