#!/usr/bin/env python3
"""Sends heads for which Netty or Vert.x assumes a body that a proxy in front does not see. The head must
be refused or have no body, on both ports, so that the following bytes are the request that the proxy
meant.

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
    """Returns the statuses of all responses until the server closes."""
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
                print(f"{name}: {door} port responds {statuses}", flush=True)
                first = 200 if door == "serving" else 404
                well &= statuses == [first if status == "ok" else status for status in expected]
        return well
    return run


KEYS = "Sec-WebSocket-Key1: a\r\nSec-WebSocket-Key2: b\r\n"

PARTS = {
    # 8 bytes that Netty takes for a body; without them, 8 bytes of the next request.
    "keys": part("keys", KEYS, "XXXXXXXX", [400]),
    "keys-alone": part("keys-alone", KEYS, "", [400]),
    # An unknown field, which any proxy forwards.
    "content-zength": part("content-zength", "Content-Zength: 8\r\n", "", ["ok", 404]),
}

if __name__ == "__main__":
    main(PARTS)
