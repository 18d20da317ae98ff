#!/usr/bin/env python3
"""Occupies the nine slots of a deployment by endless slow uploads over HTTP/1.1 and HTTP/2.

The deployment reads bodies as they arrive, so each upload holds a slot. Five more uploads go to a
deployment with five slots that takes whole bodies; these uploads must hold none. Measures the time until
other clients are served, and the responses to the uploads.

    python3 src/it/hostile/slow_uploads.py --jar target/berth.jar

Standard library only; needs berth-examples.jar beside the jar. About 45 seconds. Exits with 0 when each
slow upload got 408, an upload above the minimum rate got its response, and the slots are free again.
"""

import argparse
import http.client
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

START_S = 60
WATCH_S = 45  # with a byte every two seconds; the grace is 30 s
SIZE = 1_000_000
FIRST = 100_000  # more than the server reads of a body before it has a slot

CONFIG = """
http_options: {host: 127.0.0.1, port: %d, request_timeout_s: 600}
applications:
- name: checksum
  route_prefix: /checksum
  import_path: dev.berth.examples.Examples:checksum
  runtime_env: {jars: [%s]}
  deployments: [{name: checksum, num_replicas: 1, max_ongoing_requests: 9}]
- name: echo
  route_prefix: /echo
  import_path: dev.berth.examples.Quickstart:echo
  runtime_env: {jars: [%s]}
  deployments: [{name: echo, num_replicas: 1, max_ongoing_requests: 5}]
berth: {event_loops: 1, ephemeral: true, admin: {port: %d}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Instance:
    def __init__(self, jar, folder):
        self.port = free_port()
        self.admin = free_port()
        examples = os.path.join(os.path.dirname(jar), "berth-examples.jar")
        with open(os.path.join(folder, "berth.yaml"), "w") as config:
            config.write(CONFIG % (self.port, examples, examples, self.admin))
        self.log = os.path.join(folder, "berth.log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx256m", "-jar", jar, "run", "berth.yaml"],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + START_S
        while not self.serves("/checksum", 1):
            if time.monotonic() > end or self.process.poll() is not None:
                with open(self.log) as log:
                    sys.exit("the instance did not start:\n" + log.read())
            time.sleep(0.1)

    def serves(self, path, timeout):
        """Returns whether a short request gets a 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("POST", path, b"short")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Upload(threading.Thread):
    """An HTTP/1.1 upload: FIRST bytes at once, then `piece` bytes every `pause` seconds."""

    def __init__(self, port, path, piece, pause, size):
        super().__init__(daemon=True)
        self.port, self.path = port, path
        self.piece, self.pause, self.size = piece, pause, size
        self.status = None
        self.took = 0.0

    def run(self):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            head = "POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n"
            head %= (self.path, self.size)
            connection.sendall(head.encode() + b"x" * FIRST)
            left = self.size - FIRST
            connection.settimeout(self.pause)
            while time.monotonic() - began < WATCH_S:
                try:
                    if left > 0:
                        connection.sendall(b"x" * min(left, self.piece))
                        left -= min(left, self.piece)
                    answer = connection.recv(1 << 16)
                except socket.timeout:
                    continue
                except OSError:
                    answer = b""
                self.status = answer[9:12].decode() or "closed"
                break
        self.took = time.monotonic() - began


class Uploads(threading.Thread):
    """Uploads over one HTTP/2 connection, with a byte on each every two seconds."""

    def __init__(self, port, count):
        super().__init__(daemon=True)
        self.port = port
        self.statuses = {1 + 2 * i: None for i in range(count)}
        self.took = 0.0

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload

    @staticmethod
    def head():
        block = b""
        pairs = [":method", "POST", ":scheme", "http", ":path", "/checksum", ":authority", "t"]
        for i in range(0, len(pairs), 2):
            block += b"\0"
            for text in pairs[i : i + 2]:
                block += bytes([len(text)]) + text.encode()
        return block

    def run(self):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(4, 0, 0, b""))
            for stream in self.statuses:
                connection.sendall(self.frame(1, 4, stream, self.head()))
                connection.sendall(self.frame(0, 0, stream, b"x" * 10_000))
            connection.settimeout(0.2)
            received = b""
            sent = time.monotonic()
            while time.monotonic() - began < WATCH_S and None in self.statuses.values():
                try:
                    if time.monotonic() - sent >= 2:
                        sent = time.monotonic()
                        for stream, status in self.statuses.items():
                            if status is None:
                                connection.sendall(self.frame(0, 0, stream, b"x"))
                    piece = connection.recv(1 << 16)
                except socket.timeout:
                    continue
                except OSError:
                    piece = b""
                if not piece:
                    break
                received = self.frames(received + piece, time.monotonic() - began)

    def frames(self, received, now):
        while len(received) >= 9:
            length = int.from_bytes(received[:3], "big")
            if len(received) < 9 + length:
                break
            kind, stream = received[3], int.from_bytes(received[5:9], "big")
            payload = received[9 : 9 + length]
            if kind in (0, 3) and self.statuses.get(stream, "") is None:
                # recognised by the body, because the head may be compressed
                self.statuses[stream] = "408" if b"slower than" in payload else "ended"
                self.took = now
            received = received[9 + length :]
        return received


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--jar", required=True)
    jar = os.path.abspath(options.parse_args().jar)
    with tempfile.TemporaryDirectory() as folder:
        instance = Instance(jar, folder)
        try:
            fine = attack(instance)
        finally:
            instance.end()
    sys.exit(0 if fine else 1)


def attack(instance):
    honest = Upload(instance.port, "/echo", 1000, 1, FIRST + 30_000)  # 1 KB/s
    slow = [Upload(instance.port, "/checksum", 1, 2, SIZE) for _ in range(5)]
    gathered = [Upload(instance.port, "/echo", 1, 2, SIZE) for _ in range(5)]
    streams = Uploads(instance.port, 4)
    began = time.monotonic()
    for each in [honest, streams] + slow + gathered:
        each.start()
    time.sleep(2)
    free = instance.serves("/echo", 1)
    held = not instance.serves("/checksum", 1)
    while not (served := instance.serves("/checksum", 1)) and time.monotonic() - began < WATCH_S - 5:
        pass
    waited = time.monotonic() - began
    for each in [honest, streams] + slow + gathered:
        each.join(WATCH_S + 5)
    answered = [each.status for each in slow + gathered] + list(streams.statuses.values())
    print("nine slow uploads: others %s at first" % ("wait" if held else "are served"))
    print("five uploads to whole bodies: others %s" % ("are served" if free else "wait"))
    when = "%.0f s" % waited if served else "never, in %d s" % (WATCH_S - 5)
    print("others are served after: " + when)
    print("slow uploads with 408: %d of %d" % (answered.count("408"), len(answered)))
    print("an upload of 1 KB/s: %s after %.0f s" % (honest.status or "no response", honest.took))
    return free and held and served and honest.status == "200" and answered.count("408") == len(answered)


if __name__ == "__main__":
    main()
