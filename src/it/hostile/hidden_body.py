#!/usr/bin/env python3
"""A head that Netty or Vert.x gives a body of which a proxy in front knows nothing is refused, or has
no body: what follows it is not served as another request than the proxy meant, on both ports.

    hidden_body.py --jar JAR [PART…]        a few seconds
"""

import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

LAST = "GET /-/nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def told(port, text):
    """The status lines of all answers until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=15) as sock:
        sock.sendall(text.encode())
        came = b""
        while True:
            try:
                more = sock.recv(1 << 16)
            except OSError:
                more = b""
            if not more:
                break
            came += more
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", came)]


def part(name, fields, hidden, expected):
    def run(jar):
        with Instance(jar) as instance:
            well = True
            for door, port in (("serving", instance.port), ("admin", instance.admin_port)):
                head = f"GET /hi HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"
                statuses = told(port, head + hidden + LAST)
                print(f"{name}: {door} port answers {statuses}", flush=True)
                first = 200 if door == "serving" else 404
                well &= statuses == [first if status == "ok" else status for status in expected]
        return well
    return run


KEYS = "Sec-WebSocket-Key1: a\r\nSec-WebSocket-Key2: b\r\n"

PARTS = {
    # Of the 8 bytes that Netty takes for a body, and of those that it takes from the next request.
    "keys": part("keys", KEYS, "XXXXXXXX", [400]),
    "keys-alone": part("keys-alone", KEYS, "", [400]),
    # An unknown field, which any proxy passes on.
    "content-zength": part("content-zength", "Content-Zength: 8\r\n", "", ["ok", 404]),
}

if __name__ == "__main__":
    main(PARTS)
