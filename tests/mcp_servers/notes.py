"""An MCP server over streamable HTTP that keeps notes in memory, and that hapax does not start. `keyed` takes a key;
`keyless` does not; `last-only` lists the last note alone, so that its read counts nothing."""

import json
import sys
import threading

from streamable_http import serve

HOW = sys.argv[1]
notes, by_key, lock = [], {}, threading.Lock()
text = {"type": "string"}


def tools():
    properties = {"title": text}
    if HOW == "keyed":
        properties["idempotency_key"] = text
    add = {"type": "object", "properties": properties, "required": ["title"]}
    none = {"type": "object", "properties": {}}
    return [
        {"name": "add_note", "description": "Adds a note.", "inputSchema": add},
        {"name": "list_notes", "description": "Lists all notes.", "inputSchema": none},
        {"name": "clear", "description": "Removes all notes.", "inputSchema": none},
    ]


def call(name, arguments):
    with lock:
        if name == "add_note":
            key, title = arguments.get("idempotency_key"), arguments["title"]
            if key in by_key:
                return (by_key[key], False) if by_key[key] == title else ("another note has this key", True)
            if key:
                by_key[key] = title
            notes.append(title)
            return title, False
        if name == "list_notes":
            return json.dumps(notes[-1:] if HOW == "last-only" else notes), False
        sys.exit("a tool was called that nobody named")


def answer(message):
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        if params["name"] == "clear":
            notes[:] = ["cleared"]
        said, is_error = call(params["name"], params.get("arguments", {}))
        return {"content": [{"type": "text", "text": said}], "isError": is_error}
    return {}


serve(0, answer)
