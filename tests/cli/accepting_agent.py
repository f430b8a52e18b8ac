"""An agent over HTTP that answers 202 and works in the background. With `store` it keeps the task in its state
directory, and goes on with it after a restart."""

import json
import os
import sys
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STORED = os.path.join(os.environ["HAPAX_STATE_DIR"], "task.json")
SYNCHRONOUS, STORES = "synchronous" in sys.argv, "store" in sys.argv
outcome = {}


def work():
    form = {"amount": 4999, "currency": "usd", "customer": "cus_42", "metadata[order]": "ord_1001"}
    headers = {"Authorization": "Bearer " + os.environ["HAPAX_PAYMENT_KEY"], "Idempotency-Key": "ord_1001"}
    url = os.environ["HAPAX_PAYMENT_URL"] + "/v1/charges"
    urllib.request.urlopen(urllib.request.Request(url, urllib.parse.urlencode(form).encode(), headers)).read()
    outcome["outcome"] = "done"


class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        task = self.rfile.read(int(self.headers["Content-Length"]))
        if STORES:
            with open(STORED, "wb") as file:
                file.write(task)
        if SYNCHRONOUS:
            work()
            return self.answer(200, outcome)
        self.answer(202, {"status_url": "/status"})
        threading.Thread(target=work).start()

    def do_GET(self):
        known = outcome or not STORES or os.path.exists(STORED)
        self.answer(200 if known else 404, outcome or {"status": "running" if STORES else "unknown task"})

    def answer(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass


if STORES and os.path.exists(STORED):
    threading.Thread(target=work).start()
ThreadingHTTPServer(("127.0.0.1", int(os.environ["HAPAX_PORT"])), Agent).serve_forever()
