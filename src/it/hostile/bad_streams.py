#!/usr/bin/env python3
"""Over HTTP/2 a malformed stream must end alone: a concurrent request completes, and the connection
stays open. The same holds on the admin port with `berth.admin.http2: true`.

    bad_streams.py --jar JAR [PART…]        a few seconds
"""

import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import (  # noqa: E402
    DATA, GOAWAY, HEADERS, PRIORITY, RST_STREAM, Instance, frame, get_frame, main, preface, status_of)

CONTINUATION = 9
MOST = 16 << 10


def integer(value, first):
    """Encodes an integer with a prefix of 7 bits (RFC 7541, 5.1)."""
    if value < 127:
        return bytes([first | value])
    made = bytes([first | 127])
    value -= 127
    while value >= 128:
        made += bytes([value % 128 | 128])
        value //= 128
    return made + bytes([value])


def head_frames(stream, end, *pairs):
    block = b""
    for name, value in pairs:
        block += b"\0" + integer(len(name), 0) + name.encode()
        block += integer(len(value), 0) + value.encode()
    made = b""
    kind, flags = HEADERS, 1 if end else 0
    while len(block) > MOST:
        made += frame(kind, flags, stream, block[:MOST])
        kind, flags, block = CONTINUATION, 0, block[MOST:]
    return made + frame(kind, flags | 4, stream, block)


def request(method="GET", scheme="http", *more, path="/hi", host="a"):
    return ((":method", method), (":scheme", scheme), (":path", path), (":authority", host), *more)


def frames(sock, seconds=5):
    sock.settimeout(seconds)
    buffered = b""
    while True:
        try:
            more = sock.recv(1 << 16)
        except OSError:
            return
        if not more:
            return
        buffered += more
        while len(buffered) >= 9:
            length = int.from_bytes(buffered[:3], "big")
            if len(buffered) < 9 + length:
                break
            stream = int.from_bytes(buffered[5:9], "big") & 0x7FFFFFFF
            payload = buffered[9:9 + length]
            if buffered[3] == HEADERS and buffered[4] & PRIORITY:
                payload = payload[5:]
            yield buffered[3], stream, payload
            buffered = buffered[9 + length:]


def part(name, bad, expected, settings=()):
    """Sends `bad` on stream 3, beside a waiting request on stream 1, and before one on stream 5."""
    def run(jar):
        with Instance(jar, settings=settings) as instance:
            sock = socket.create_connection(("127.0.0.1", instance.port), timeout=5)
            sock.sendall(preface(1 << 20) + frame(4, 1, 0) + get_frame(1, "/wait") + bad)
            of_bad, of_next, end = None, None, "open"
            asked = False
            for kind, stream, payload in frames(sock):
                if kind == HEADERS and stream == 3:
                    of_bad = status_of(payload)
                elif kind == RST_STREAM and stream == 3 and of_bad is None:
                    of_bad = "reset"
                elif kind == HEADERS and stream == 5:
                    of_next = status_of(payload)
                    break
                elif kind == GOAWAY:
                    end = f"GOAWAY {struct.unpack('>I', payload[4:8])[0]}"
                if of_bad is not None and not asked and end == "open":
                    asked = True
                    sock.sendall(get_frame(5, "/hi"))
            print(f"{name}: {of_bad}, next {of_next}, connection {end}", flush=True)
            sock.close()
            return of_bad == expected and of_next == 200 and end == "open"
    return run


def on_admin(name, bad, expected):
    """The same on the admin port, which has no waiting requests."""
    def run(jar):
        with Instance(jar, settings=("berth.admin.http2=true",)) as instance:
            sock = socket.create_connection(("127.0.0.1", instance.admin_port), timeout=5)
            sock.sendall(preface(1 << 20) + frame(4, 1, 0) + bad)
            of_bad, of_next, end = None, None, "open"
            for kind, stream, payload in frames(sock):
                if kind == HEADERS and stream == 3:
                    of_bad = status_of(payload)
                    sock.sendall(head_frames(5, True, *request(path="/-/healthz", host="localhost")))
                elif kind == HEADERS and stream == 5:
                    of_next = status_of(payload)
                    break
                elif kind == GOAWAY:
                    end = f"GOAWAY {struct.unpack('>I', payload[4:8])[0]}"
            print(f"{name}: {of_bad}, next {of_next}, connection {end}", flush=True)
            sock.close()
            return of_bad == expected and of_next == 200 and end == "open"
    return run


def mixed(jar):
    """Sends 200 streams, 50 at a time; each tenth is malformed in one of four ways."""
    ways = (
        (request("GET", "http", ("a", "x" * 9000)), 431), (request("G T"), 400),
        (request("GET", "ftp"), 400), (request("GET", "http", ("a", "x" * 33000)), 431))
    with Instance(jar) as instance:
        sock = socket.create_connection(("127.0.0.1", instance.port), timeout=5)
        sock.sendall(preface(1 << 20) + frame(4, 1, 0))
        wrong, end, answered = 0, "open", 0
        for first in range(0, 200, 50):
            expected = {}
            sent = b""
            for i in range(first, first + 50):
                head, status = ways[i // 10 % 4] if i % 10 == 5 else (request(), 200)
                expected[2 * i + 1] = status
                sent += head_frames(2 * i + 1, True, *head)
            try:
                sock.sendall(sent)
            except OSError:
                break  # the connection ended
            for kind, stream, payload in frames(sock):
                if kind == HEADERS:
                    answered += 1
                    wrong += status_of(payload) != expected.pop(stream)
                    if not expected:
                        break
                elif kind == GOAWAY:
                    end = f"GOAWAY {struct.unpack('>I', payload[4:8])[0]}"
        sock.close()
        print(f"mixed: of 200 streams {answered} completed, {wrong} with a wrong status, connection {end}",
              flush=True)
        return answered == 200 and wrong == 0 and end == "open"


def trailers(name, bytes_, expected):
    """Sends trailers above the limit on stream 3, beside a waiting request on stream 1."""
    sent = head_frames(3, False, *request("POST")) + frame(DATA, 0, 3, b"abc")
    return part(name, sent + head_frames(3, True, ("x", "y" * bytes_)), expected)


def block_over(jar):
    """A block above five times the limit, and many small CONTINUATION frames, end only their connection:
    other clients are served, and no memory stays occupied."""
    first = frame(HEADERS, 1, 1, b"\0\x01a\x7f\x81\x7f" + b"x" * 16000)
    attacks = {
        "block": first + frame(CONTINUATION, 0, 1, b"x" * MOST) * 2,
        "small": frame(HEADERS, 1, 1, b"\0") + frame(CONTINUATION, 0, 1, b"") * 5000}
    well = True
    with Instance(jar) as instance:
        for name, attack in attacks.items():
            end = None
            for _ in range(20):
                sock = socket.create_connection(("127.0.0.1", instance.port), timeout=5)
                try:
                    sock.sendall(preface(1 << 20) + frame(4, 1, 0) + attack)
                except OSError:
                    pass
                for kind, _, payload in frames(sock):
                    if kind == GOAWAY:
                        end = struct.unpack(">I", payload[4:8])[0]
                sock.close()
            found, _ = instance.get("/hi")
            print(f"block-over, {name}: 20 connections ended by GOAWAY {end}; others get {found}",
                  flush=True)
            well = well and end is not None and found == 200
    return well


def body(length, *pieces):
    return head_frames(3, False, *request("POST", "http", ("content-length", str(length)))) + b"".join(
        frame(DATA, 1 if last else 0, 3, piece) for piece, last in pieces)


PARTS = {
    "head-9k": part("head-9k", head_frames(3, True, *request("GET", "http", ("a", "x" * 9000))), 431),
    "head-10.5k": part(
        "head-10.5k", head_frames(3, True, *request("GET", "http", ("a", "x" * 10500))), 431),
    "head-32k": part(
        "head-32k", head_frames(3, True, *request("GET", "http", ("a", "x" * 32000))), 431),
    "method": part("method", head_frames(3, True, *request("G T")), 400),
    "scheme": part("scheme", head_frames(3, True, *request("GET", "ftp")), 400),
    "head-39k": part(
        "head-39k", head_frames(3, True, *request("GET", "http", ("a", "x" * 39000))), 431),
    "admin-head": on_admin(
        "admin-head", head_frames(3, True, *request("GET", "http", ("a", "x" * 10500))), 431),
    "admin-method": on_admin("admin-method", head_frames(3, True, *request("G T")), 400),
    "mixed": mixed,
    "trailers-9k": trailers("trailers-9k", 9000, 200),
    "trailers-33k": trailers("trailers-33k", 33000, 431),
    "block-over": block_over,
    "body-short": part("body-short", body(5, (b"abc", True)), "reset"),
    "body-stalled": part(
        "body-stalled", body(100, (b"abc", False)), 408, ("berth.limits.idle_timeout_s=2",)),
    "body-long": part("body-long", body(5, (b"abcdef", False)), "reset"),
}

if __name__ == "__main__":
    main(PARTS)
