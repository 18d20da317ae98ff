#!/usr/bin/env python3
"""A PUT of a jar announces bytes and sends none: once more than the store can hold, once less. No
revision for a rollback may be evicted because of it.

    history_eviction.py --jar JAR [PART…]        a few seconds
"""

import http.client
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402


def ask(instance, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", instance.admin_port, timeout=10)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def revisions(instance):
    _, text = ask(instance, "GET", "/api/v1/applications/prey/history")
    return len(json.loads(text)["revisions"])


def declared(instance, number):
    """Declares another revision and waits until it runs."""
    _, text = ask(instance, "GET", "/api/serve/applications/")
    entry = json.loads(text)["applications"]["prey"]["deployed_app_config"]
    entry["deployments"] = [{"name": "prey", "max_ongoing_requests": 1000 + number}]
    status, text = ask(instance, "PUT", "/api/v1/applications/prey", json.dumps(entry))
    end = time.monotonic() + 20
    while status == 200 and time.monotonic() < end:
        _, text = ask(instance, "GET", "/api/serve/applications/")
        if json.loads(text)["applications"]["prey"]["status"] == "RUNNING":
            return
        time.sleep(0.1)
    raise SystemExit("not deployed: " + text)


def put(instance, length):
    """Sends only a head; returns the status of the response, 0 for none within 2 s."""
    head = (f"PUT /api/v1/jars/{'0' * 64} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Length: {length}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", instance.admin_port), timeout=2) as sock:
        sock.sendall(head.encode())
        try:
            return int((sock.recv(4096) or b"H 0 ").split(b" ", 2)[1])
        except OSError:
            return 0


def announced(part, length, refused):
    def run(jar):
        with Instance(jar) as instance:
            for number in range(5):
                declared(instance, number)
            before = revisions(instance)
            found = put(instance, length)
            declared(instance, 99)  # makes an eviction visible
            after = revisions(instance)
            print(f"{part}: {length} bytes announced, none sent: {found or 'no response yet'}; "
                  f"revisions {before} -> {after} after one more", flush=True)
            return after == before + 1 and found == refused
    return run


PARTS = {
    "more-than-ever-fits": announced("more-than-ever-fits", 9_000_000_000, 507),
    "as-much-as-fits": announced("as-much-as-fits", 5_000_000_000, 0),
}

if __name__ == "__main__":
    main(PARTS)
