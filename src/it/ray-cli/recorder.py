"""A proxy that forwards every request to a server and records the exchange."""

import http.client
import http.server
import threading


class Recorder:
    """A recording proxy on the loopback; `exchanges` has the order of the responses."""

    TIMEOUT_S = 60

    def __init__(self, host, port):
        self.target = (host, port)
        self.exchanges = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                length = int(self.headers.get("Content-Length") or 0)
                recorder.pass_on(self, self.rfile.read(length))

            do_GET = do_PUT = do_DELETE = do_POST = pass_on

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def pass_on(self, client, body):
        headers = {name: value for name, value in client.headers.items() if name != "Host"}
        connection = http.client.HTTPConnection(*self.target, timeout=self.TIMEOUT_S)
        try:
            connection.request(client.command, client.path, body or None, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        self.exchanges.append(
            {
                "request": {
                    "method": client.command,
                    "path": client.path,
                    "headers": headers,
                    "body": body.decode(),
                },
                "response": {
                    "status": answer.status,
                    "content_type": answer.headers.get("Content-Type"),
                    "body": text.decode(),
                },
            }
        )
        client.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date"):
                client.send_header(name, value)
        client.send_header("Content-Length", str(len(text)))
        client.end_headers()
        client.wfile.write(text)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
