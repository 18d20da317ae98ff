"""A server between a client and a target: it records exchanges, and refuses some as a full queue does.

Paths below /once-503 get status 503 at the first request and are then forwarded; paths below
/never-503 get 503 with x-should-retry: false each time. The refusals ask for a wait of 1.2 s in
Retry-After-Ms and of 2 s in Retry-After, so that the wait of a client shows the header it follows.
"""

import http.client
import http.server
import json
import re
import threading
import time
import urllib.parse

HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}
REFUSED = re.compile(r"^/((once|never)-503(?:/again)?)(/.*)")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Drops the trace of a client that closed its connection."""


class Front:
    def __init__(self, target):
        self.target = urllib.parse.urlsplit(target)
        self.exchanges = []
        self.attempts = {}
        self.lock = threading.Lock()
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                front.serve(self)

            do_GET = do_DELETE = do_POST

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def serve(self, handler):
        body = self.body(handler)
        refused = REFUSED.match(handler.path)
        path = refused[3] if refused else handler.path
        if refused:
            with self.lock:
                times = self.attempts.setdefault(refused[1], [])
                times.append(time.monotonic())
                refuse = refused[2] == "never" or len(times) == 1
            if refuse:
                return self.refuse(handler, refused[2] == "never", path)
        return self.forward(handler, path, body)

    @staticmethod
    def body(handler):
        if "chunked" not in handler.headers.get("transfer-encoding", ""):
            return handler.rfile.read(int(handler.headers.get("content-length", 0)))
        body = b""
        while size := int(handler.rfile.readline().split(b";")[0], 16):
            body += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
        return body

    @staticmethod
    def refuse(handler, never, path):
        error = {"message": "the queue is full", "type": "overloaded_error"}
        if path.startswith("/v1/messages"):
            body = json.dumps({"type": "error", "error": error}).encode()
        else:
            body = json.dumps({"error": {**error, "param": None, "code": "queue_full"}}).encode()
        handler.send_response(503)
        handler.send_header("retry-after", "2")
        handler.send_header("retry-after-ms", "1200")
        if never:
            handler.send_header("x-should-retry", "false")
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def forward(self, handler, path, body):
        connection = http.client.HTTPConnection(self.target.hostname, self.target.port, timeout=120)
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in HOP}
        connection.request(handler.command, path, body if handler.command == "POST" else None, headers)
        response = connection.getresponse()
        handler.send_response(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in HOP:
                handler.send_header(name, value)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        received = b""
        while part := response.read1(65536):
            received += part
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")
        connection.close()
        with self.lock:
            self.exchanges.append({
                "method": handler.command, "path": path, "headers": handler.headers.items(),
                "body": body, "status": response.status,
                "answer_headers": response.getheaders(), "answer": received})
