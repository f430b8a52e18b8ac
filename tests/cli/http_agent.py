"""An agent over HTTP as people write them: it knows nothing of hapax but the address of its payment service.

Usage: python3 http_agent.py WHAT [PORT]
"""

import json
import os
import re
import sys
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WHAT = sys.argv[1]
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ["HAPAX_PORT"])


def charge(task, url=None, key=None):
    """Does what the task says: `Charge customer cus_42 $49.99 for order ord_1001.`"""
    customer, dollars, cents, order = re.fullmatch(
        r"Charge customer (\w+) \$(\d+)\.(\d+) for order (\w+)\.", task
    ).groups()
    form = {"amount": dollars + cents, "currency": "usd", "customer": customer, "metadata[order]": order}
    request = urllib.request.Request(
        (url or os.environ["HAPAX_PAYMENT_URL"]) + "/v1/charges",
        data=urllib.parse.urlencode(form).encode(),
        headers={"Authorization": "Bearer " + (key or os.environ["HAPAX_PAYMENT_KEY"])},
    )
    return json.load(urllib.request.urlopen(request))["id"]


class Agent(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    polls = 0
    task = None

    def log_message(self, *_):
        pass

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, status, body, **headers):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def stream(self, events, ends=True):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            chunk = f": still here\n\ndata: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if ends:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def do_POST(self):
        getattr(self, "post_" + WHAT)(self.body())

    def post_result(self, body):
        if (self.path, self.headers["X-Api-Key"]) != ("/agents/run", "key_of_the_agent"):
            return self.answer(403, {"detail": "forbidden"})
        charge(body["input"]["prompt"])
        self.answer(200, {"result": {"text": "The order was placed."}})

    def post_refused(self, body):
        charge(body["task"])
        self.answer(500, {"result": {"text": "The order was placed."}})

    def post_created(self, body):
        charge(body["task"])
        self.answer(201, b"")

    def post_invalid(self, body):
        charge(body["task"])
        self.answer(200, b'{"result": {"text": "The order was placed."}')

    def chat_task(self, body):
        assert self.path == "/v1/chat/completions", self.path
        assert body["model"]
        return body["messages"][-1]["content"]

    def post_chat(self, body):
        charge(self.chat_task(body))
        text = 'I charged the card.\n{"outcome": "done", "message": "charged"}'
        self.answer(200, {"choices": [{"message": {"role": "assistant", "content": text}}]})

    def post_overclaim(self, body):
        self.chat_task(body)
        self.answer(200, {"choices": [{"message": {"role": "assistant", "content": "The order was placed."}}]})

    def deltas(self, *texts):
        return [{"choices": [{"delta": {"content": text}, "finish_reason": None}]} for text in texts]

    def post_chat_stream(self, body):
        charge(self.chat_task(body))
        self.stream([*self.deltas("The order ", "was pla", "ced."), "[DONE]"])

    def post_chat_cut(self, body):
        charge(self.chat_task(body))
        self.stream(self.deltas("The order was placed", " by nobody"), ends=False)

    def post_chat_unfinished(self, body):
        charge(self.chat_task(body))
        self.stream(self.deltas("The order was placed"))

    def post_tokens(self, body):
        charge(body["task"], body["payment"]["url"], body["payment"]["key"])
        self.stream([{"token": "The order was "}, {"step": 2}, {"token": "placed."}])

    def post_accepted(self, body):
        Agent.task = body["task"]
        self.answer(202, {"id": "run_1"}, Location="/runs/run_1")

    def post_accepted_in_body(self, body):
        Agent.task = body["task"]
        self.answer(202, {"status_url": f"http://{self.headers['Host']}/runs/run_1"})

    post_dropped = post_accepted

    def post_elsewhere(self, body):
        self.answer(202, {}, Location="http://example.com/runs/run_1")

    def do_GET(self):
        assert self.path == "/runs/run_1" and self.headers["Authorization"] == "Bearer token_of_the_agent"
        Agent.polls += 1
        if Agent.polls == 1:
            return self.answer(202, {"status": "queued"})
        if Agent.polls == 2:
            charge(Agent.task)
            if WHAT == "dropped":
                self.close_connection = True
                return
            return self.answer(200, {"status": "in_progress"})
        self.answer(200, {"status": "succeeded", "answer": "The order was placed."})


server = ThreadingHTTPServer(("127.0.0.1", PORT), Agent)
if len(sys.argv) > 3:
    # Whoever opens the other end of the pipe knows that the agent listens.
    open(sys.argv[3], "w").close()
server.serve_forever()
