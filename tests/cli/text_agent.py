"""An agent whose framework describes its tools in the prompt and parses the text of the model's answer.

    text_agent.py PROTOCOL API    react, json, code or other; chat, stream, messages or responses
"""

import ast
import json
import os
import re
import sys
import urllib.parse
import urllib.request

PROTOCOL, API = sys.argv[1:]
SIGNATURE = "(customer: str, amount: int, currency: str, order: str) -> str"
LISTED = f"""You have access to the following tools:

charge_card{SIGNATURE} - Charges a customer for an order.
list_charges(customer: str) -> str - Lists the charges of a customer.
"""
PROMPTS = {
    "react": LISTED
    + """
Thought: what to do
Action: one of [charge_card, list_charges]
Action Input: the input as a JSON object
Observation: the result of the action
Final Answer: the answer to the question""",
    "json": LISTED
    + """
Answer with one action in a fenced block:
```json
{"action": TOOL, "action_input": INPUT}
```
The action "Final Answer" ends the work.""",
    "code": f"""You solve tasks with Python, in a cycle of Thought, Code and Observation. You have these functions:
```python
def charge_card{SIGNATURE}:
    \"\"\"Charges a customer for an order.\"\"\"

def list_charges(customer: str) -> str:
    \"\"\"Lists the charges of a customer.\"\"\"
```
End with final_answer("the answer").""",
    "other": LISTED + "\nAnswer with one line: CALL tool WITH arguments.",
}


def send(url, key, data=None, headers=None):
    request = urllib.request.Request(url, data=data, headers={"Authorization": "Bearer " + key, **(headers or {})})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def charge_card(customer, amount, currency, order):
    form = {"customer": customer, "amount": amount, "currency": currency, "metadata[order]": order}
    data = urllib.parse.urlencode(form).encode()
    return send(os.environ["HAPAX_PAYMENT_URL"] + "/v1/charges", os.environ["HAPAX_PAYMENT_KEY"], data)


def list_charges(customer):
    query = urllib.parse.urlencode({"customer": customer})
    return send(os.environ["HAPAX_PAYMENT_URL"] + "/v1/charges?" + query, os.environ["HAPAX_PAYMENT_KEY"])


TOOLS = {"charge_card": charge_card, "list_charges": list_charges}


def ask(path, body):
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    return send(os.environ["OPENAI_BASE_URL"] + path, os.environ["OPENAI_API_KEY"], data, headers)


def generate(messages):
    system, rest = PROMPTS[PROTOCOL], [{"role": role, "content": text} for role, text in messages]
    if API == "messages":
        body = {"model": "claude-sonnet-4-6", "max_tokens": 1000, "system": system, "messages": rest}
        return json.loads(ask("/messages", {**body, "stop_sequences": ["Observation:"]}))["content"][0]["text"]
    if API == "responses":
        answer = json.loads(ask("/responses", {"model": "gpt-5.2", "instructions": system, "input": rest}))
        return answer["output"][0]["content"][0]["text"]
    body = {"model": "gpt-5.2", "messages": [{"role": "system", "content": system}, *rest], "stop": ["Observation:"]}
    if API == "chat":
        return json.loads(ask("/chat/completions", body))["choices"][0]["message"]["content"]
    events = [line[6:] for line in ask("/chat/completions", {**body, "stream": True}).splitlines() if line[:6] == "data: "]
    choices = [choice for event in events if event != "[DONE]" for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def parsed(text):
    """The name of the tool and its arguments, or no name and the last answer."""
    if PROTOCOL == "react":
        if "Final Answer:" in text:
            return None, text.split("Final Answer:")[1].strip()
        found = re.search(r"^Action: (.*)\nAction Input: (.*)", text, re.M)
        return found[1], json.loads(found[2])
    if PROTOCOL == "json":
        action = json.loads(re.search(r"```json\n(.*)```", text, re.S)[1])
        is_last = action["action"] == "Final Answer"
        return None if is_last else action["action"], action["action_input"]
    code = ast.parse(re.search(r"```python\n(.*)```", text, re.S)[1])
    call = next(node for node in ast.walk(code) if isinstance(node, ast.Call) and node.func.id != "print")
    if call.func.id == "final_answer":
        return None, ast.literal_eval(call.args[0])
    return call.func.id, {word.arg: ast.literal_eval(word.value) for word in call.keywords}


messages = [("user", os.environ["HAPAX_TASK"])]
for _ in range(20):
    text = generate(messages)
    name, value = parsed(text)
    if name is None:
        print(value)
        break
    try:
        result = TOOLS[name](**value)
    except Exception as error:
        result = f"Error: {error!r}"
    logs = "Execution logs:\n" if PROTOCOL == "code" else ""
    messages += [("assistant", text), ("user", f"Observation: {logs}{result}")]
