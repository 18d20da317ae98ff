#!/usr/bin/env python3
"""Clients that do not read their responses must affect only themselves: other clients get every streamed
response whole, and as fast as without them.

    stalled_readers.py --jar JAR [--heap 128m|512m] [PART…]      at most about six minutes

Each part alternates calm and attack on one instance, so that each slice is compared with its neighbour.
The CPU time of the attackers is printed separately.
"""

import argparse
import os
import resource
import socket
import statistics
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import (  # noqa: E402
    WINDOW_UPDATE, Http2Crowd, Instance, frame, get_frame, preface,
)

ROUNDS = 3
SLICE_S = 4.0
READERS = 4
EVENTS_BYTES = 24 * 4096  # length of the response of /events


class Readers:
    """Threads that request and read a streamed response repeatedly."""

    def __init__(self, instance):
        self.instance = instance
        self.took = []
        self.wrong = {}
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(READERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            status, text = self.instance.get("/events", timeout=20)
            self.took.append(time.monotonic() - began)
            if status != 200 or len(text) != EVENTS_BYTES:
                why = f"{status} {text[:40]}" if status != 200 else f"{len(text)} bytes"
                self.wrong[why] = self.wrong.get(why, 0) + 1

    def slice(self):
        """Returns the p99 in ms and the number of responses of a slice."""
        self.took = []
        time.sleep(SLICE_S)
        took = sorted(self.took)
        return (took[int(0.99 * (len(took) - 1))] * 1000 if took else SLICE_S * 1000), len(took)

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


# --- attackers ---


class Http2:
    def __init__(self, port, path, dribble=False):
        self.crowd = Http2Crowd(port, 3, preface(0))
        self.crowd.send(lambda index: b"".join(get_frame(2 * i + 1, path) for i in range(100)))
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.listen, args=(dribble,), daemon=True)
        self.thread.start()

    def listen(self, dribble):
        due = time.monotonic() + 0.9
        while not self.over.is_set():
            self.crowd.listen(0.1)
            if dribble and time.monotonic() >= due:
                due += 0.9
                one = struct.pack(">I", 1)
                self.crowd.send(lambda index: b"".join(
                    frame(WINDOW_UPDATE, 0, 2 * i + 1, one) for i in range(100)))

    def close(self):
        self.over.set()
        self.thread.join()
        self.crowd.close()


class Http1:
    def __init__(self, port, path, connections=300):
        self.sockets = []
        for _ in range(connections):
            made = socket.socket()
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.settimeout(5)
            made.connect(("127.0.0.1", port))
            made.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            self.sockets.append(made)

    def close(self):
        for made in self.sockets:
            made.close()


def tcp_pages():
    """Returns the memory pages of the kernel for all TCP sockets of this machine."""
    with open("/proc/net/sockstat") as lines:
        return next(int(line.split()[-1]) for line in lines if line.startswith("TCP:"))


def settle(limit_s=20):
    """Waits until kernel memory is stable: filling the buffers of stalled readers is load itself."""
    end = time.monotonic() + limit_s
    before = -1
    time.sleep(1.0)
    while time.monotonic() < end and abs(tcp_pages() - before) > 64:
        before = tcp_pages()
        time.sleep(0.5)


PARTS = {
    "three-h2-window-0": lambda port: Http2(port, "/stream"),
    "300-h1-unread": lambda port: Http1(port, "/stream"),
    "h2-a-byte-each-0.9s": lambda port: Http2(port, "/stream", dribble=True),
    "300-h1-unread-1MiB": lambda port: Http1(port, "/shared"),
    "three-h2-unread-1MiB": lambda port: Http2(port, "/shared", dribble=True),
}
MUST_CUT = {"three-h2-unread-1MiB"}  # more bytes than the budget, and the clients read none


def run(jar, heap, name):
    label = f"{name} -Xmx{heap}"
    with Instance(jar, f"-Xmx{heap}") as instance:
        readers = Readers(instance)
        time.sleep(8)  # JIT warm-up
        calm, attacked, most = [readers.slice()], [], 0
        wrong_calm = dict(readers.wrong)
        mine = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(ROUNDS):
            attack = PARTS[name](instance.port)
            settle()
            attacked.append(readers.slice())
            most = max(most, instance.metric("berth_stream_bytes") or 0)
            attack.close()
            settle()
            calm.append(readers.slice())
        used = resource.getrusage(resource.RUSAGE_SELF)
        readers.end()
        end = time.monotonic() + 20
        held = None
        while time.monotonic() < end:
            held = instance.metric("berth_stream_bytes")
            if held == 0:
                break
            time.sleep(0.2)
        cut = instance.metric("berth_http_answers_stood_still_total")
        limit = instance.metric("berth_stream_bytes_limit")
        memory = instance.said_times("OutOfMemoryError")
        alive = instance.alive()
    quiet = [p99 for p99, _ in calm]
    pairs = list(zip(quiet, quiet[1:]))
    ratio = statistics.median(p / statistics.mean(pair) for (p, _), pair in zip(attacked, pairs))
    apart = max(max(pair) / min(pair) for pair in pairs)
    say = lambda what: print(f"{label}: {what}", flush=True)  # noqa: E731
    say("p99 ms calm " + " ".join(f"{p:.0f}" for p, _ in calm) + ", attacked "
        + " ".join(f"{p:.0f}" for p, _ in attacked))
    say(f"p99 attacked to calm {ratio:.2f} (median of pairs), calm to calm up to {apart:.2f}")
    say("responses calm " + " ".join(str(n) for _, n in calm) + ", attacked "
        + " ".join(str(n) for _, n in attacked))
    say(f"wrong responses {readers.wrong or 0} (calm {wrong_calm or 0})")
    say(f"maximum of response bytes {most / 1048576:.1f} of {(limit or 0) / 1048576:.1f} MiB, "
        f"afterwards {held}; evicted {cut}; out of memory {memory}; alive {alive}")
    say(f"CPU of clients {used.ru_utime + used.ru_stime - mine.ru_utime - mine.ru_stime:.1f} s")
    well = (
        not readers.wrong and alive and not memory and held == 0
        and (cut or name not in MUST_CUT) and ratio <= max(1.25, apart)
    )
    if not well:
        say("NOT HELD")
    return well


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jar", required=True)
    parser.add_argument("--heap", choices=("128m", "512m"))
    parser.add_argument("part", nargs="*", help=", ".join(PARTS))
    given = parser.parse_args()
    heaps = [given.heap] if given.heap else ["128m", "512m"]
    results = [
        run(os.path.abspath(given.jar), heap, name)
        for heap in heaps
        for name in PARTS
        if not given.part or name in given.part
    ]
    raise SystemExit(0 if all(results) else 1)


main()
