#!/usr/bin/env python3
"""A body that arrives after the response to its request is not part of the next request: no client gets a
408 for a head that it never began.

    unasked_408.py --jar JAR        about ten seconds
"""

import os
import re
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

CLIENTS = 40
HEAD_S = 2
SETTINGS = (f"berth.limits.header_read_timeout_s={HEAD_S}",)


def ask(port, number, results):
    """Sends a POST with a late and slow body, and then an ordinary request."""
    path = ("/-/nothing", "/-/healthz")[number % 2]
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            sock.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n".encode())
            sock.recv(1 << 16)
            time.sleep(0.05 * (number % 10))
            sock.sendall(b"hello")
            time.sleep(HEAD_S + 1)
            sock.sendall(b"hello" + b"GET /hi HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            came = b""
            while True:
                more = sock.recv(1 << 16)
                if not more:
                    break
                came += more
        found = re.findall(rb"HTTP/1.1 (\d+)", came)
        results.append(int(found[0]) if found else 0)
    except OSError:
        results.append(0)


def late(jar):
    with Instance(jar, settings=SETTINGS) as instance:
        results = []
        clients = [threading.Thread(target=ask, args=(instance.port, n, results))
                   for n in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        answers = {status: results.count(status) for status in sorted(set(results))}
        print(f"late bodies: the following requests got {answers}", flush=True)
        return answers == {200: CLIENTS}


if __name__ == "__main__":
    main({"late": late})
