"""Requests to an instance that stops: load.py PORT SECONDS [--keep-alive]; SIGUSR1 ends new connections.

Prints "N answered, N refused, N lost" and exits with 1 if one was lost: a request on an accepted
connection without a whole 200. A refused connection is none: a client goes to another instance.
With --keep-alive a client uses its connection until the server closes it after a response.
"""

import http.client
import signal
import sys
import threading
import time

port, seconds = int(sys.argv[1]), float(sys.argv[2])
keep = "--keep-alive" in sys.argv
end = time.monotonic() + seconds
counts = {"answered": 0, "refused": 0, "lost": 0}
lock = threading.Lock()
removed = threading.Event()  # as a pod that its Service no longer names
signal.signal(signal.SIGUSR1, lambda *_: removed.set())


def count(what, why=""):
    with lock:
        counts[what] += 1
    if what == "lost":
        print(f"lost: {time.time():.3f} {why}", file=sys.stderr)


def client(index):
    body = bytes([97 + index % 26]) * (20 + index * 500)
    connection = None
    while time.monotonic() < end:
        if connection is None:
            if removed.is_set():
                return
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                connection.connect()
            except OSError:
                count("refused")
                return
        stream = index % 4 == 0
        try:
            if stream:
                connection.request("GET", "/stream?n=3")
            else:
                connection.request("POST", "/echo", body)
            answer = connection.getresponse()
            got = answer.read()
            whole = got.count(b"data:") == 3 if stream else got == body
            count("answered" if answer.status == 200 and whole else "lost", f"{answer.status} {got[:80]}")
            closes = answer.will_close
        except (OSError, http.client.HTTPException) as failed:
            count("lost", repr(failed))
            return
        if closes or not keep:
            connection.close()
            connection = None


threads = [threading.Thread(target=client, args=(i,)) for i in range(12)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(", ".join(f"{value} {name}" for name, value in counts.items()))
sys.exit(1 if counts["lost"] or not counts["answered"] else 0)
