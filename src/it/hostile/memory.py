#!/usr/bin/env python3
"""Clients that do not read their responses must not fill the heap. Refusals come before a handler runs,
the data port and the admin server respond meanwhile, and all memory is free after the clients leave.

    memory.py --jar JAR [PART…]        about six minutes, and three for each nearly-full-COLLECTOR
"""

import os
import resource
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Http2Crowd, Instance, Others, get_frame, main, preface  # noqa: E402


def say(part, *figures):
    print(f"{part}: " + "; ".join(figures), flush=True)


def after(part, instance, client, admin, allowed=(200, 503)):
    """Checks the claims common to all parts, after the attackers left."""
    clients, probes = client.end(), admin.end()
    end = time.monotonic() + 20
    while instance.alive() and time.monotonic() < end:
        if instance.get("/hi")[0] == 200 and instance.metric("serve_num_ongoing_http_requests") == 0:
            break
        time.sleep(0.1)
    status = instance.get("/hi")[0]
    left = instance.metric("serve_num_ongoing_http_requests")
    memory_errors = instance.said_times("OutOfMemoryError") + instance.said_times("OutOfDirectMemory")
    say(part, f"others got {clients}", f"admin health {probes}")
    say(part, f"afterwards /hi {status or 'no response'}", f"requests in flight {left}",
        f"out of memory {memory_errors} times", f"alive {instance.alive()}")
    return (
        instance.alive() and status == 200 and left == 0 and memory_errors == 0
        and client.only(*allowed) and admin.only(200)
    )


def crowd_of(part, path, heap, connections=60, streams=100, seconds=12):
    def run(jar):
        with Instance(jar, heap) as instance:
            client, admin = Others(instance), Others(instance, "/-/healthz", True, 0.25)
            crowd = Http2Crowd(instance.port, connections, preface(0))
            began = time.monotonic()
            for first in range(0, streams, 10):
                crowd.send(lambda index: b"".join(
                    get_frame(2 * stream + 1, path) for stream in range(first, first + 10)))
                crowd.listen(0.1)
            crowd.listen(seconds)
            asked = connections * streams
            held = instance.metric("serve_num_ongoing_http_requests")
            say(part, f"{heap}, {asked} x {path} in {time.monotonic() - began:.0f} s",
                f"heads {dict(sorted(crowd.heads.items()))}", f"resets {crowd.resets}",
                f"closed {crowd.closed}", f"in flight {held}")
            crowd.close()
            well = after(part, instance, client, admin)
            # A refused request gets a 503 and runs no handler.
            runs, refused = instance.runs_of(path), crowd.heads.get(503, 0)
            say(part, f"handler ran {runs} times", f"refused {refused}")
            return well and runs is not None and runs + refused <= asked
    return run


def idle(part, heap, connections=8000):
    """Opens connections that send one request each and then stay idle."""
    def run(jar):
        room = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        count = min(connections, room - 200)
        resource.setrlimit(resource.RLIMIT_NOFILE, (room, room))
        with Instance(jar, heap) as instance:
            client, admin = Others(instance), Others(instance, "/-/healthz", True, 0.25)
            opened, refused = [], 0
            for _ in range(count):
                try:
                    sock = socket.create_connection(("127.0.0.1", instance.port), timeout=5)
                    sock.sendall(b"GET /hi HTTP/1.1\r\nHost: a\r\n\r\n")
                    if sock.recv(1 << 12):
                        opened.append(sock)
                        continue
                    sock.close()
                except OSError:
                    pass
                refused += 1
            say(part, f"{heap}, {count} connections", f"served {len(opened)}",
                f"closed at once {refused}")
            time.sleep(2)
            for sock in opened:
                sock.close()
            return after(part, instance, client, admin, (200, 0))
    return run


def unread(part, heap, connections=300, each=40):
    """Requests buffered responses of 1 MiB, many per connection, and reads no byte."""
    def run(jar):
        with Instance(jar, heap) as instance:
            client, admin = Others(instance), Others(instance, "/-/healthz", True, 0.25)
            opened = []
            for _ in range(connections):
                sock = socket.socket()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                sock.settimeout(5)
                try:
                    sock.connect(("127.0.0.1", instance.port))
                    sock.sendall(b"GET /whole HTTP/1.1\r\nHost: a\r\n\r\n" * each)
                except OSError:
                    pass
                opened.append(sock)
            time.sleep(12)
            runs = instance.runs_of("/whole")
            say(part, f"{heap}, {connections} x {each} responses of 1 MiB", f"handler ran {runs} times")
            for sock in opened:
                sock.close()
            return after(part, instance, client, admin)
    return run


def exhaust(part, heap):
    """User code that allocates all memory: only its requests get a 500."""
    def run(jar):
        with Instance(jar, heap) as instance:
            admin = Others(instance, "/-/healthz", True, 0.25)
            statuses = [instance.get("/exhaust", timeout=30)[0] for _ in range(5)]
            hi = [instance.get("/hi")[0] for _ in range(20)]
            probes = admin.end()
            say(part, f"{heap}, five requests that allocate all memory: {statuses}", f"then /hi {sorted(set(hi))}",
                f"admin health {probes}", f"alive {instance.alive()}")
            return statuses == [500] * 5 and set(hi) == {200} and instance.alive()
    return run


def filled(part, *jvm):
    """User code that retains all memory: the process ends with a dedicated exit code."""
    def run(jar):
        with Instance(jar, *jvm) as instance:
            began = time.monotonic()
            kept, step = 0, 4096
            while instance.alive() and time.monotonic() - began < 60:
                status, _ = instance.get(f"/keep?kb={step}", timeout=5)
                kept += step if status == 200 else 0
                if status != 200 and step > 16:
                    step //= 2
                time.sleep(0.02)
            code = instance.process.poll()
            last = [line for line in instance.said().splitlines() if "halt" in line]
            say(part, f"{' '.join(jvm)}, retained {kept} KB", f"exit code {code}",
                f"after {time.monotonic() - began:.0f} s", *(last[-1:]))
            return code == 5
    return run


def nearly_full(part, collector, heap_mb=512, seconds=180):
    """A healthy server with a live set of 90 % of its maximum survives and serves every client."""
    def run(jar):
        with Instance(jar, f"-Xmx{heap_mb}m", f"-XX:+Use{collector}GC") as instance:
            # The old generation is two thirds for collectors with a young generation of a fixed share.
            most = heap_mb * 1048576 * (2 / 3 if collector in ("Serial", "Parallel") else 1)
            live, end = instance.live_bytes(), time.monotonic() + 60
            while live < 0.9 * most and time.monotonic() < end:
                instance.get(f"/keep?kb={max(16, int((0.9 * most - live) / 2048))}", timeout=10)
                live = instance.live_bytes()
            client, admin = Others(instance), Others(instance, "/-/healthz", True, 0.25)
            time.sleep(seconds)
            said = client.end(), admin.end()
            say(part, f"live {100 * live / most:.1f} % of {most / 1048576:.0f} MB for {seconds} s",
                f"others got {said[0]}", f"admin health {said[1]}",
                f"then live {100 * (instance.live_bytes() or 0) / most:.1f} %",
                f"alive {instance.alive()}")
            return instance.alive() and client.only(200) and admin.only(200) and live >= 0.89 * most
    return run


PARTS = {
    "streams": crowd_of("streams", "/stream", "-Xmx128m"),
    "streams-64m": crowd_of("streams-64m", "/stream", "-Xmx64m"),
    "waiting": crowd_of("waiting", "/wait", "-Xmx128m"),
    "idle": idle("idle", "-Xmx128m"),
    "unread": unread("unread", "-Xmx128m"),
    "exhaust": exhaust("exhaust", "-Xmx128m"),
    "filled": filled("filled", "-Xmx128m"),
    **{f"filled-{gc}": filled(f"filled-{gc}", "-Xmx256m", f"-XX:+Use{gc}GC")
       for gc in ("Serial", "Parallel", "G1", "Z")},
    # A tenth of 512 MB is too little for ZGC of JDK 17 itself, regardless of the program.
    **{f"nearly-full-{gc}": nearly_full(f"nearly-full-{gc}", gc, heap_mb=mb)
       for gc, mb in (("Serial", 512), ("Parallel", 512), ("G1", 512), ("Z", 1024))},
}

if __name__ == "__main__":
    main(PARTS)
