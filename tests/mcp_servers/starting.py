"""An MCP server that writes at its start, before anything is called: `cleans` deletes something that is not there,
`announces` posts, and `flushes` posts what an earlier start wrote down and did not finish."""

import json
import os
import sys
import urllib.request

HOW = sys.argv[1]
HOST = "https://api.example.com"
OUTBOX = os.path.join(os.environ["HAPAX_STATE_DIR"], "outbox")


def send(method, path, body):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(HOST + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def call(arguments):
    body = {"title": arguments["title"]}
    if HOW == "flushes":
        with open(OUTBOX, "w") as outbox:
            json.dump(body, outbox)
    try:
        send("POST", "/notes", body)
    except Exception as error:
        return f"The note may have been added: {error}.", True
    if HOW == "flushes":
        os.remove(OUTBOX)
    return "added", False


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "starting", "version": "1.0.0"},
        }
    if method == "tools/list":
        schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
        return {"tools": [{"name": "add_note", "description": "Adds a note.", "inputSchema": schema}]}
    if method == "tools/call":
        said, is_error = call(params["arguments"])
        return {"content": [{"type": "text", "text": said}], "isError": is_error}
    return {}


if HOW == "cleans":
    send("DELETE", "/locks/7", None)
if HOW == "announces":
    send("POST", "/sessions", {"server": "starting"})
if HOW == "flushes" and os.path.exists(OUTBOX):
    with open(OUTBOX) as outbox:
        send("POST", "/notes", json.load(outbox))
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
