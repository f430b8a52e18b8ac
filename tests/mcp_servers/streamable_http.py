"""Streamable HTTP with plain JSON answers, for the small servers of the tests."""

import json
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(port, answer, notified=lambda message: None):
    """Serves requests with `answer` at http://127.0.0.1:PORT/mcp, for ever; prints the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in message or "method" not in message:
                notified(message)
                return self.reply(202, b"")
            result = answer(message)
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            self.reply(200, body, message["method"] == "initialize")

        def do_GET(self):
            self.reply(405, b"")

        def do_DELETE(self):
            self.reply(200, b"")

        def reply(self, status, body, starts_session=False):
            self.send_response(status)
            if body:
                self.send_header("Content-Type", "application/json")
            if starts_session:
                self.send_header("Mcp-Session-Id", uuid.uuid4().hex)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

        def handle(self):
            try:
                super().handle()
            except ConnectionError:
                pass  # A client that is gone is what the tests are about.

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()
