#!/usr/bin/env python3
"""Clients without a token occupy the admin port: silent connections, trickling heads, aborted jar
uploads, trickling uploads. Meanwhile the port must answer health within a second.

    admin_connections.py --jar JAR [PART…]        at most about two minutes
"""

import hashlib
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

SILENT = 300
LATE_HEAD_S = 13
JAR = b"not a jar, but bytes"
SHA_256 = hashlib.sha256(JAR).hexdigest()
UNKNOWN = "0" * 64


def connect(instance, sent=b""):
    made = socket.create_connection(("127.0.0.1", instance.admin_port), timeout=5)
    if sent:
        made.sendall(sent)
    return made


def head(sha256, length):
    return (f"PUT /api/v1/jars/{sha256} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Length: {length}\r\n\r\n").encode()


def status(instance, sent, timeout=5):
    """Sends bytes; returns the status of the response, 0 without a response."""
    try:
        with connect(instance, sent) as made:
            made.settimeout(timeout)
            return int((made.recv(4096) or b"HTTP/1.1 0 ").split(b" ", 2)[1])
    except OSError:
        return 0


def health(instance):
    began = time.monotonic()
    found, _ = instance.get("/-/healthz", instance.admin_port, timeout=3)
    return found, time.monotonic() - began


def holding(part, sent, least_ended=SILENT, **more):
    def run(jar):
        with Instance(jar, **more) as instance:
            held = [connect(instance, sent) for _ in range(SILENT)]
            time.sleep(0.5)
            found, took = health(instance)
            began = time.monotonic()
            ended = 0
            while time.monotonic() - began < LATE_HEAD_S and ended < least_ended:
                ended = 0
                for each in held:
                    each.setblocking(False)
                    try:
                        ended += not each.recv(1)
                    except BlockingIOError:
                        pass
                    except OSError:
                        ended += 1
                time.sleep(0.2)
            print(f"{part}: {SILENT} connections; health {found or 'no response'} after "
                  f"{took * 1000:.0f} ms; {ended} ended after {time.monotonic() - began:.0f} s",
                  flush=True)
            for each in held:
                each.close()
            return found == 200 and took < 1 and ended >= least_ended
    return run


def later_heads(jar):
    """After a first response, ten clients send a byte of their next head every 9 s and must be closed;
    ten silent clients keep their connections."""
    with Instance(jar) as instance:
        health = b"GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        late, silent = ([connect(instance, health) for _ in range(10)] for _ in range(2))
        for each in late + silent:
            each.recv(4096)
        began = time.monotonic()
        ended, after, sent = 0, 0, 0
        while time.monotonic() - began < 40 and ended < 10:
            if time.monotonic() - began >= 9 * sent:
                for each in late:
                    try:
                        each.send(health[sent:sent + 1])
                    except OSError:
                        pass
                sent += 1
            ended = sum(closed(each) for each in late)
            after = time.monotonic() - began
            time.sleep(0.2)
        kept = 10 - sum(closed(each) for each in silent)
        print(f"later-heads: {ended} of 10 late heads ended after {after:.0f} s; "
              f"{kept} of 10 silent connections kept", flush=True)
        for each in late + silent:
            each.close()
        return ended == 10 and 9.5 < after < 14 and kept == 10


def closed(sock):
    sock.setblocking(False)
    try:
        return not sock.recv(4096, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def given_up(jar):
    """Aborts uploads of a stored jar and of an unknown jar."""
    with Instance(jar) as instance:
        first = status(instance, head(SHA_256, len(JAR)) + JAR)
        for pause in (0, 0.1):
            for sha256 in (SHA_256, UNKNOWN) * 6:
                sock = connect(instance, head(sha256, 1_000_000) + b"x" * 1000)
                time.sleep(pause)
                sock.close()
        time.sleep(1)
        after = status(instance, head(SHA_256, len(JAR)) + JAR)
        places = instance.metric("berth_jar_uploads")
        print(f"given-up: first upload {first}; after 24 aborted uploads {after}, "
              f"{places:.0f} uploads in progress", flush=True)
        return first == 201 and after == 200 and places == 0


def trickling(jar):
    """Four uploads send a byte each half second."""
    with Instance(jar) as instance:
        socks = [connect(instance, head(UNKNOWN, 1_000_000)) for _ in range(4)]
        began = time.monotonic()
        found = 503
        while time.monotonic() - began < 30 and found == 503:
            for sock in socks:
                try:
                    sock.sendall(b"x")
                except OSError:
                    pass
            time.sleep(0.5)
            found = status(instance, head(SHA_256, len(JAR)) + JAR)
        print(f"trickling: another upload gets {found} after {time.monotonic() - began:.0f} s",
              flush=True)
        for sock in socks:
            sock.close()
        return found == 201


PARTS = {
    "silent": holding("silent", b""),
    "trickled-heads": holding("trickled-heads", b"GET /-/healthz HT"),
    # Before its protocol is known a connection may be silent for 60 s; at most 256 connections may be so.
    "silent-http2": holding(
        "silent-http2", b"", SILENT - 256, settings=("berth.admin.http2=true",)),
    "later-heads": later_heads,
    "given-up": given_up,
    "trickling": trickling,
}

if __name__ == "__main__":
    main(PARTS)
