"""An MCP server that misbehaves in the way that its argument names."""

import json
import os
import sys
import time

HOW = sys.argv[1]
SCHEMA = {"type": "object", "properties": {}}
if HOW == "endless-schema":
    SCHEMA = {"type": "object", "properties": {"filter": {"$ref": "#"}}, "required": ["filter"]}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def listed():
    names = {"twice": ["send", "send"], "changing": ["send", f"tool_{time.time_ns()}"]}
    return [{"name": name, "inputSchema": SCHEMA} for name in names.get(HOW, ["send"])]


def call(request):
    if HOW == "dies-in-call":
        os._exit(7)
    if HOW == "terminal":
        open("/dev/tty")
    if HOW in ("sampling", "elicitation"):
        params = {"messages": [], "maxTokens": 5}
        method = "sampling/createMessage"
        if HOW == "elicitation":
            method, params = "elicitation/create", {"message": "Sure?", "requestedSchema": SCHEMA}
        send({"id": "mine", "method": method, "params": params})
        answer = json.loads(sys.stdin.readline())
        text = "declined" if "error" in answer or answer["result"]["action"] == "decline" else "accepted"
        return {"content": [{"type": "text", "text": text}], "isError": True}
    return {"content": [{"type": "text", "text": "ok"}]}


if HOW == "silent":
    time.sleep(60)
if HOW == "dies":
    print("no configuration file", file=sys.stderr)
    sys.exit(3)
if HOW == "nonsense":
    print("Welcome to the server!", flush=True)
    time.sleep(60)
if HOW == "floods":
    while True:
        sys.stdout.write("x" * 65536)

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        if HOW == "wrong-answer":
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"hello": 1}}), flush=True)
            continue
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": HOW, "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": listed()}
    elif method == "tools/call":
        try:
            result = call(message)
        except OSError as error:
            result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": f"no {method}"}})
        continue
    send({"id": message["id"], "result": result})
