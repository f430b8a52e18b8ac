"""An agent with one tool, a shell, and nothing else: it runs the commands that the model asks for."""

import json
import os
import subprocess
import urllib.request

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Runs a command.", "parameters": SCHEMA}}]
messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]

while True:
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "gpt-5", "messages": messages, "tools": TOOLS}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append({key: message[key] for key in ["role", "content", "tool_calls"] if key in message})
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        text = f"{ran.stdout}{ran.stderr}\nexit code: {ran.returncode}"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
