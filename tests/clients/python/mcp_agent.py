"""An agent that gets its tools over MCP, with the Python SDK. It charges and refunds, in at most three attempts each.

    mcp_agent.py TRANSPORT PROTOCOL KEYS

TRANSPORT is `http` (the endpoint in HAPAX_MCP_URL) or the path of hapax, which is started as `hapax mcp`.
PROTOCOL is what the SDK calls the mode: `legacy` (with `initialize`), `auto`, or a version without `initialize`.
KEYS is `keyed` (a key for each operation, made from the order) or `keyless`.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters

TRANSPORT, PROTOCOL, KEYS = sys.argv[1:]
ATTEMPTS = 3
TIMEOUT_SECONDS = 5


def server():
    """The endpoint, or the command that offers it."""
    if TRANSPORT == "http":
        return os.environ["HAPAX_MCP_URL"]
    return StdioServerParameters(command=TRANSPORT, args=["mcp"], env=dict(os.environ))


def tool_call(step, charges):
    """The tool for a step, and its arguments."""
    want = step["with"]
    label = {"metadata": {"order": want["order"]}}
    if step["do"] == "payment.charge":
        return "payment_create_charge", {k: want[k] for k in ("customer", "amount", "currency")} | label
    return "payment_create_refund", {"charge": charges[want["order"]], "amount": want["amount"]} | label


async def attempt(name, arguments, key):
    """Makes one call over a connection of its own: the body of the reply, or `None` after an error of the service."""
    async with Client(server(), mode=PROTOCOL, read_timeout_seconds=TIMEOUT_SECONDS) as client:
        cards = {card.name: card for card in (await client.list_tools()).tools}
        takes_key = "idempotency_key" in cards[name].input_schema["properties"]
        if KEYS == "keyed" and takes_key:
            arguments = arguments | {"idempotency_key": key}
        result = await client.call_tool(name, arguments)
        print(f"{client.protocol_version}: {name}: {result.content[0].text[:100]}")
        return None if result.is_error else result.structured_content["body"]


async def carry_out(name, arguments, key):
    for _ in range(ATTEMPTS):
        try:
            body = await attempt(name, arguments, key)
        except Exception as error:  # The SDK raises its own errors, and groups of those of its transport.
            print(f"{name}: no reply: {error!r}")
            continue
        if body is not None:
            return body
    return None


async def main():
    charges = {}
    for number, step in enumerate(json.loads(os.environ["HAPAX_STEPS"])):
        name, arguments = tool_call(step, charges)
        body = await carry_out(name, arguments, f"{number}-{name}-{step['with']['order']}")
        if body is None:
            return "unknown"
        if step["do"] == "payment.charge":
            charges[step["with"]["order"]] = body["id"]
    return "done"


outcome = asyncio.run(main())
with open(os.environ["HAPAX_RESULT"], "w") as file:
    json.dump({"outcome": outcome, "message": f"Over MCP: {outcome}."}, file)
