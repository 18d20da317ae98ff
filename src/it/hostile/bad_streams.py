#!/usr/bin/env python3
"""Over HTTP/2 one malformed stream ends alone: a request beside it is answered, and the connection
goes on.

    bad_streams.py --jar JAR [PART…]        a few seconds
"""

import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import (  # noqa: E402
    DATA, GOAWAY, HEADERS, RST_STREAM, Instance, frame, get_frame, main, preface, status_of)

CONTINUATION = 9
PRIORITY = 0x20  # flag of HEADERS: five bytes before the block
MOST = 16 << 10


def integer(value, first):
    """An integer with a prefix of 7 bits (RFC 7541, 5.1)."""
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


def request(method="GET", scheme="http", *more):
    return ((":method", method), (":scheme", scheme), (":path", "/hi"), (":authority", "a"), *more)


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


def part(name, bad, expected):
    """`bad` is sent on stream 3, beside a request of stream 1 that waits, and before one of stream 5."""
    def run(jar):
        with Instance(jar) as instance:
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
    "body-short": part("body-short", body(5, (b"abc", True)), "reset"),
    "body-long": part("body-long", body(5, (b"abcdef", False)), "reset"),
}

if __name__ == "__main__":
    main(PARTS)
