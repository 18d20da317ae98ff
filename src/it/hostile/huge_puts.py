#!/usr/bin/env python3
"""Sends invalid declarations of up to 4 MB to an instance of 128 MB.

Measures the CPU time of the parsing thread and the delay of the admin port; the instance must survive.

    python3 src/it/hostile/huge_puts.py --jar target/berth.jar

Standard library only; Linux, for the CPU time of threads. Prints one line for each text; exits with 0
when each response came within bounds, and a thousand real applications were accepted.
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

LISTENS = re.compile(r"admin on 127\.0\.0\.1:(\d+)")
BYTES = 4 << 20
START_S = 60
ANSWER_S = 60
MOST_CPU_S = 1.0
MOST_STALL_S = 3.0  # generous for a busy machine; the CPU time has its own bound
MOST_ANSWER = 256 << 10
# Threads of the JVM itself, by the 15 characters of a name that Linux stores.
JVMS_OWN = ("C1 Comp", "C2 Comp", "GC", "G1", "VM ", "Sweeper", "Signal", "Common-")


class Instance:
    def __init__(self, jar, folder):
        self.log = os.path.join(folder, "berth.log")
        command = ["java", "-Xmx128m", "-jar", jar, "run", "--ephemeral", "--host", "127.0.0.1"]
        command += ["--port", "0", "--admin-port", "0", "--set", "berth.event_loops=1"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=log, stderr=subprocess.STDOUT
            )
        self.port = self.wait()

    def wait(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            with open(self.log) as log:
                found = LISTENS.search(log.read())
            if found:
                return int(found.group(1))
            time.sleep(0.05)
        sys.exit("the instance did not start: see " + self.log)

    def ask(self, method, path, body=None, timeout=ANSWER_S):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def cpu(self):
        """Returns the CPU seconds of each thread, by id."""
        seconds = {}
        tasks = "/proc/%d/task" % self.process.pid
        for thread in os.listdir(tasks):
            try:
                with open("%s/%s/stat" % (tasks, thread)) as stat:
                    name, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue  # the thread ended
            if not name.startswith(JVMS_OWN):
                ticks = rest.split()
                seconds[thread] = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
        return seconds

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Prober(threading.Thread):
    """Sends health requests to the admin port repeatedly."""

    def __init__(self, instance):
        super().__init__(daemon=True)
        self.instance = instance
        self.longest = 0.0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            began = time.monotonic()
            try:
                self.instance.ask("GET", "/-/healthz", timeout=10)
            except OSError:
                self.longest = max(self.longest, 10.0)
            self.longest = max(self.longest, time.monotonic() - began)


def attempt(instance, name, text, expected):
    body = text.encode()
    assert len(body) <= BYTES, name
    prober = Prober(instance)
    prober.start()
    before = instance.cpu()
    began = time.monotonic()
    try:
        status, answer = instance.ask("PUT", "/api/serve/applications/", body)
    except OSError as failed:
        status, answer = type(failed).__name__, b""
    took = time.monotonic() - began
    alive = instance.process.poll() is None
    after = instance.cpu() if alive else {}
    cpu = max((after[each] - before.get(each, 0) for each in after), default=float("nan"))
    prober.over.set()
    prober.join(15)
    alive = alive and instance.process.poll() is None
    fine = (
        alive
        and status == expected
        and cpu <= MOST_CPU_S
        and prober.longest <= MOST_STALL_S
        and len(answer) <= MOST_ANSWER
    )
    print(
        "%-34s %4d KB  status %s  %.1f s, thread %.2f s CPU  response %d KB  health %3.0f ms  %s"
        % (
            name,
            len(body) >> 10,
            status,
            took,
            cpu,
            len(answer) >> 10,
            prober.longest * 1000,
            "ok" if fine else "NOT HELD" if alive else "INSTANCE DIED",
        ),
        flush=True,
    )
    return fine


def listed(item, count):
    return '{"applications":[%s]}' % ",".join([item] * count)


def one(rest):
    return '{"applications":[{"import_path":"a.B",%s}]}' % rest


def laughs():
    lines = ["applications:", "- import_path: a.B", "  args:", "    l0: &l0 x"]
    for level in range(1, 10):
        aliases = ",".join(["*l%d" % (level - 1)] * 9)
        lines.append("    l%d: &l%d [%s]" % (level, level, aliases))
    return "\n".join(lines)


def texts():
    yield "300 000 empty applications", listed("{}", 300_000)
    yield "4 MB of empty applications", listed("{}", 1_300_000)
    yield "4 MB of empty lists", listed("[]", 1_300_000)
    yield "unknown keys", "{%s}" % ",".join('"num_replica_%d":1' % i for i in range(90_000))
    yield "a long key", '{"%s":1}' % ("k" * (BYTES - 10))
    yield "a long word", "x" * BYTES
    yield "blanks", " " * (BYTES - 2) + "{}"
    yield "a comment", "#" * BYTES
    yield "lists in lists", "[" * BYTES
    yield "mappings in mappings", "{a: " * (BYTES // 4)
    yield "keys in keys", "? " * (BYTES // 2)
    yield "lists of aliases of lists", laughs()
    yield "aliases of a long text", (
        "applications:\n- import_path: a.B\n  args:\n    a: &a %s\n    b: [%s]\n"
        % ("x" * 1_000_000, ",".join(["*a"] * 100_000))
    )
    yield "aliases of an application", (
        "applications:\n- &a {import_path: a.B}\n" + "- *a\n" * 800_000
    )
    yield "numbered anchors", "applications:\n" + "".join("- &a%d {}\n" % i for i in range(300_000))
    yield "a folder of jars, 300 000 times", one(
        '"runtime_env":{"jars":[%s]}' % ",".join(['"/usr/bin"'] * 300_000)
    )
    yield "paths up and up", (
        "applications: []\nhttp_options: {ssl_keyfile: '%s'}" % ("../" * (BYTES // 3 - 50))
    )
    yield "deployments of one name", one(
        '"deployments":[%s]' % ",".join(['{"name":"d"}'] * 60_000)
    )


def real(i):
    return {
        "name": "shop-%d" % i,
        "route_prefix": "/shop/%d" % i,
        "import_path": "com.acme.Shop:build",
        "args": {"currency": "EUR", "warehouses": ["north", "south"], "limit": 100},
        "deployments": [
            {
                "name": "d%d" % each,
                "num_replicas": 2,
                "max_ongoing_requests": 20,
                "max_queued_requests": 100,
                "graceful_shutdown_timeout_s": 10,
                "health_check_period_s": 5,
                "user_config": {"model": "small", "threshold": 0.5},
            }
            for each in range(4)
        ],
    }


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--jar", required=True)
    jar = os.path.abspath(options.parse_args().jar)
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        instance = Instance(jar, folder)
        try:
            for name, text in texts():
                if not attempt(instance, name, text, 400):
                    fine = False
                    instance.end()  # so that one text does not affect the next
                    instance = Instance(jar, folder)
            thousand = json.dumps({"applications": [real(i) for i in range(1000)]})
            fine = attempt(instance, "1 000 real applications", thousand, 200) and fine
        finally:
            instance.end()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
