#!/usr/bin/env python3
"""Each applicable bound must close a connection whose client never reads. The client would see the end
only after all unread bytes, so the test reads the server's gauge.

    unread_close.py --jar JAR [PART…]        at most about two minutes
"""

import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import RST_STREAM, Instance, frame, get_frame, main, preface  # noqa: E402

IDLE_S = 2
LATE_S = 5
SETTINGS = (
    f"berth.limits.stream_idle_timeout_s={IDLE_S}",
    "http_options.keep_alive_timeout_s=3",
    "berth.limits.request_bytes_total=67108864",
)


def connect(instance, *pieces):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(3)
    made.connect(("127.0.0.1", instance.port))
    try:
        for piece in pieces:
            made.sendall(piece)
    except OSError:
        pass  # the server accepts no more bytes, or closed; the caller checks which
    return made


def http1(path, version="1.1", more=""):
    return f"GET {path} HTTP/{version}\r\nHost: a\r\n{more}\r\n".encode()


def flood():
    code = struct.pack(">I", 8)
    return b"".join(
        get_frame(n, "/hi") + frame(RST_STREAM, 0, n, code) for n in range(11, 2011, 2))


WIDE = preface(0x7FFFFFFF, 0x7FFF0000)
WHOLE = b"".join(get_frame(n, "/whole") for n in range(1, 20, 2))


def closes(part, *pieces):
    def run(jar):
        with Instance(jar, "-Xmx256m", settings=SETTINGS) as instance:
            sock = connect(instance, *pieces)
            began = time.monotonic()
            seen = 0
            while time.monotonic() - began < 3 * IDLE_S + LATE_S:
                still = instance.metric("berth_http_connections")
                seen = max(seen, still or 0)
                if seen and still == 0:
                    break
                time.sleep(0.1)
            took = time.monotonic() - began
            print(f"{part}: connections {seen:.0f} -> {still:.0f} after {took:.1f} s", flush=True)
            sock.close()
            return seen > 0 and still == 0
    return run


def drained(jar):
    """A stop waits for stalled readers until its timeout, and then ends."""
    with Instance(jar, "-Xmx256m", settings=("berth.shutdown_timeout_s=4",)) as instance:
        socks = [connect(instance, http1("/stream")), connect(instance, WIDE, WHOLE)]
        admin = socket.create_connection(("127.0.0.1", instance.admin_port))
        admin.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        admin.settimeout(2)
        try:
            admin.sendall(http1("/metrics") * 200)
        except OSError:
            pass
        time.sleep(1)
        began = time.monotonic()
        instance.process.terminate()
        try:
            code = instance.process.wait(timeout=20)
        except Exception:
            code = None
        print(f"drain: ended with {code} after {time.monotonic() - began:.1f} s", flush=True)
        for sock in [*socks, admin]:
            sock.close()
        return code in (0, 1) and time.monotonic() - began < 8


PARTS = {
    "whole": closes("whole", http1("/whole") * 8),
    "close": closes("close", http1("/whole") * 8 + http1("/whole", more="Connection: close\r\n")),
    "stream": closes("stream", http1("/stream")),
    "stream-1.0": closes("stream-1.0", http1("/stream", "1.0")),
    "http2": closes("http2", WIDE, WHOLE),
    "flood": closes("flood", WIDE, WHOLE, flood()),
    "drain": drained,
}

if __name__ == "__main__":
    main(PARTS)
