#!/usr/bin/env python3
"""Requests admin paths that are not in normal form, which a proxy in front might mistake for other
paths. None may reach the resource of its normal form.

    admin_paths.py --jar JAR [PART…]        a few seconds
"""

import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

READS = (
    "/metrics/../api/v1/nosuch/../logs", "//metrics", "/api//v1/logs", "/./metrics", "/metrics/.",
    "/%6detrics", "/api/v1/%2e%2e/v1/logs", "/x/..//metrics", "/-/healthz/../../metrics",
)
NORMAL = ("/metrics", "/-/healthz", "/api/v1/logs", "/api/serve/applications/")


def status(instance, method, path):
    with socket.create_connection(("127.0.0.1", instance.admin_port), timeout=5) as sock:
        sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return int((sock.recv(4096) or b"H 0 ").split(b" ", 2)[1])


def reads(jar):
    with Instance(jar) as instance:
        found = {path: status(instance, "GET", path) for path in READS}
        normal = {path: status(instance, "GET", path) for path in NORMAL}
        print("reads: " + ", ".join(f"{path} {code}" for path, code in found.items()), flush=True)
        return set(found.values()) == {400} and set(normal.values()) == {200}


def deletes(jar):
    with Instance(jar) as instance:
        found = status(instance, "DELETE", "/metrics/../api/v1/applications/prey")
        there, _ = instance.get("/hi")
        print(f"deletes: DELETE /metrics/../api/v1/applications/prey {found}; "
              f"the application responds {there}", flush=True)
        return found == 400 and there == 200


PARTS = {"reads": reads, "deletes": deletes}

if __name__ == "__main__":
    main(PARTS)
