"""An agent with one tool, a shell, and nothing else: it runs the commands that the model asks for. When the work is done
it asks for a title of the conversation, as programs do that list their sessions."""

import json
import os
import subprocess
import urllib.request

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Runs a command.", "parameters": SCHEMA}}]
messages = [{"role": "user", "content": os.environ["HAPAX_TASK"]}]


def ask(messages, **more):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "gpt-5", "messages": messages, **more}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]


while True:
    message = ask(messages, tools=TOOLS)
    messages.append({key: message[key] for key in ["role", "content", "tool_calls"] if key in message})
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        text = f"{ran.stdout}{ran.stderr}\nexit code: {ran.returncode}"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
ask([{"role": "user", "content": "Generate a title for this conversation: " + os.environ["HAPAX_TASK"]}])
