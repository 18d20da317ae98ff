#!/usr/bin/env python3
"""Runs the test that traffic.sh describes. Standard library only.

    src/it/traffic.py BERTH_JAR EXAMPLES_JAR [--seconds=10] [--rate=150]

Starts an instance, calls it by `berth` and by HTTP, and ends it. The exit code is 1 when a claim does
not hold.
"""

import argparse
import collections
import http.client
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")
LIMIT_S = 120
WORKERS = 32  # maximum of concurrent requests; further ones are late, which is counted
KEYS = 400
ROUTE = "/digits"
PICTURE = pathlib.Path("src/examples/images/7-3.png").read_bytes()

wrong = []


def hold(what, so, told=""):
    """Prints whether a claim holds, and records it if not."""
    if not so:
        wrong.append(what)
    print(f"  {'held' if so else 'NOT HELD'}: {what}{': ' if told else ''}{told}", flush=True)


def application(names, weights, more=""):
    """Returns a configuration of the application; `names` are its versions."""
    sides = ", ".join(f"{{deployment: {name}, weight: {each}}}" for name, each in weights.items())
    return f"""
applications:
  - name: digits
    route_prefix: {ROUTE}
    import_path: dev.berth.examples.Quickstart:versions
    args: {{names: [{", ".join(names)}]}}
    runtime_env: {{jars: [{EXAMPLES}]}}
    berth:
      traffic: [{sides}]
      {more}
"""


SHADOW = "shadow: [{deployment: v3, fraction: 0.5, compare: true}]"


def hashing(replicas):
    """Returns the deployment entry of v2, which routes keys by consistent hashing."""
    return (f"    deployments: [{{name: v2, num_replicas: {replicas}, request_router_config:"
            " {request_router_class: consistent_hash}}]\n")


class Instance:
    def __init__(self, jar, folder):
        self.jar, self.folder = jar, folder
        self.log_name = folder + "/berth.log"
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", jar, "run"]
        command += ["--state-dir", folder + "/state", "--host", "127.0.0.1"]
        command += ["--port", "0", "--admin-port", "0", "--set", "berth.event_loops=2"]
        with open(self.log_name, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            found = LISTENS.search(self.said())
            if found:
                self.port, self.admin = int(found.group(1)), int(found.group(2))
                return
            time.sleep(0.05)
        self.stop()
        raise SystemExit("the instance did not start:\n" + self.said())

    def said(self):
        return pathlib.Path(self.log_name).read_text(encoding="utf-8")

    def berth(self, *words):
        """Runs a command of `berth` against the instance; returns its output."""
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-jar", self.jar, *words,
             f"--address=127.0.0.1:{self.admin}"],
            capture_output=True, text=True, timeout=LIMIT_S,
        )
        if done.returncode:
            raise SystemExit(f"berth {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def deploy(self, text):
        file = self.folder + "/digits.yaml"
        pathlib.Path(file).write_text(text, encoding="utf-8")
        self.berth("deploy", file, "--wait")

    def told(self):
        """Returns the route's entry of GET /api/v1/traffic."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=60)
        connection.request("GET", "/api/v1/traffic?route=%2Fdigits")
        said = json.loads(connection.getresponse().read())
        connection.close()
        return said["routes"][0]

    def sides(self):
        """Returns the requests so far, by version."""
        return {each["deployment"]: each["requests"] for each in self.told()["traffic"]}

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def ask(connection, key=None):
    """Sends one picture; returns the status and the replica."""
    headers = {"Content-Type": "image/png"}
    if key is not None:
        headers["X-Serve-Shard-Key"] = key
    connection.request("POST", ROUTE, PICTURE, headers)
    answer = connection.getresponse()
    body = answer.read()
    replica = answer.headers.get("X-Berth-Replica", "##")
    if answer.status == 200 and json.loads(body).get("digit", 7) != 7:
        return "another digit", "##"
    return answer.status, replica


def version_of(replica):
    return replica.split("#")[1]


class Load:
    """An open loop: request i is sent at i / rate, independently of previous results."""

    def __init__(self, port, rate):
        self.port, self.rate = port, rate
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.next = 0
        self.late_s = 0.0
        self.over = threading.Event()
        self.came = []  # (send time, status, version)
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(WORKERS)]
        for each in self.threads:
            each.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.over.is_set():
            with self.lock:
                due = self.begun + self.next / self.rate
                self.next += 1
            if self.over.wait(max(0.0, due - time.monotonic())):
                break
            late = time.monotonic() - due
            try:
                status, replica = ask(connection)
                version = version_of(replica)
            except (OSError, http.client.HTTPException) as cut:
                status, version = type(cut).__name__, ""
                connection.close()
            with self.lock:
                self.came.append((due, status, version))
                self.late_s = max(self.late_s, late)
        connection.close()

    def stop(self):
        self.over.set()
        for each in self.threads:
            each.join(60)

    def since(self, begin, end=math.inf):
        """Returns counts by version and failures by status, of requests sent in the interval."""
        with self.lock:
            some = [each for each in self.came if begin <= each[0] < end]
        failed = collections.Counter(str(status) for _, status, _ in some if status != 200)
        return collections.Counter(each[2] for each in some if each[1] == 200), dict(failed)


def share(counts, version, expected):
    """Returns whether a version's count is within four sigma plus one request of its share."""
    number = sum(counts.values())
    sigma = math.sqrt(number * expected * (1 - expected))
    return number > 0 and abs(counts[version] - number * expected) <= 4 * sigma + 1


def held(counts):
    number = max(1, sum(counts.values()))
    return ", ".join(f"{name} {n} ({100 * n / number:.1f} %)" for name, n in sorted(counts.items()))


def keys(port, name=version_of):
    """Returns the version, or another property of the replica, that each key routes to."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    to = {}
    for i in range(KEYS):
        status, replica = ask(connection, f"user-{i}")
        if status != 200:
            raise SystemExit(f"request with a key: {status} (expected: 200)")
        to[f"user-{i}"] = name(replica)
    connection.close()
    return to


def moved(before, after):
    return [(before[key], after[key]) for key in before if before[key] != after[key]]


def sticky(before, after, keys_of):
    return 100 * sum(before[key] == after[key] for key in keys_of) / len(keys_of)


def phase(load, what, seconds):
    """Continues the load for some seconds; prints and returns its results."""
    begin = time.monotonic()
    time.sleep(seconds)
    counts, failed = load.since(begin)
    print(f"{what}: {held(counts)}; failed: {failed or 0}", flush=True)
    return counts


def run(options, folder):
    instance = Instance(options.berth, folder)
    seconds = options.seconds
    try:
        instance.deploy(application(["v1", "v2", "v3"], {"v1": 90, "v2": 10}, SHADOW) + hashing(3))
        load = Load(instance.port, options.rate)
        time.sleep(2)
        counts = phase(load, "90/10 with a shadow", seconds)
        hold("v2 gets its 10 %", share(counts, "v2", 0.1))
        hold("no client gets a response of v3", counts["v3"] == 0)
        shadow = instance.told()["shadow"][0]
        print("  shadow: " + json.dumps(shadow))
        hold("half of the requests are copied, or skipped for lack of a slot",
             0.4 < (shadow["copied"] + shadow["skipped_busy"]) / sum(instance.sides().values()) < 0.6
             and shadow["copied"] > 0)
        hold("the shadow's responses are equal", shadow["status_same"] > 0
             and shadow["status_other"] == 0 and shadow["body_same"] > 0 == shadow["body_other"])

        before = keys(instance.port)
        hold("a key keeps its version", keys(instance.port) == before)
        print(f"keys: {held(collections.Counter(before.values()))}")

        print("berth traffic /digits v1=50 v2=50")
        begin = time.monotonic()
        print(instance.berth("traffic", ROUTE, "v1=50", "v2=50"), end="")
        counts = phase(load, "50/50", seconds)
        hold("v2 gets its 50 %", share(counts, "v2", 0.5))
        hold("no request failed during the change of weights", not load.since(begin)[1], str(load.since(begin)[1] or ""))
        halves = keys(instance.port)
        there = moved(before, halves)
        print(f"keys: {held(collections.Counter(halves.values()))}; {len(there)} of {KEYS} moved")
        hold("keys moved only from v1 to v2", set(there) == {("v1", "v2")})
        hold("the share of moved keys equals the change of weights", abs(len(there) / KEYS - 0.4) < 0.08)

        print("add a replica to the three of v2")
        replicas = keys(instance.port, str)
        again = keys(instance.port, str)
        of_v2 = [key for key in halves if halves[key] == "v2"]
        print(f"keys of v2 before: sticky share {sticky(replicas, again, of_v2):.1f} % among"
              f" {len({replicas[key] for key in of_v2})} replicas")
        # A key whose replica is full at the moment routes to the next replica.
        hold("a key of v2 keeps its replica", sticky(replicas, again, of_v2) >= 95)
        begin = time.monotonic()
        more = application(["v1", "v2", "v3"], {"v1": 50, "v2": 50}, SHADOW)
        instance.deploy(more + hashing(4))
        phase(load, "four replicas of v2", seconds / 2)
        added = keys(instance.port, str)
        stays = sticky(replicas, added, of_v2)
        print(f"keys of v2 after: sticky share {stays:.1f} % among"
              f" {len({added[key] for key in of_v2})} replicas")
        hold("no key moved between versions", not moved(halves, keys(instance.port)))
        hold("at most the share of the new replica plus 15 % moved", 100 - stays <= 25 + 15)
        new = {added[key] for key in of_v2} - {replicas[key] for key in of_v2}
        others = [key for key in of_v2 if added[key] != replicas[key] and added[key] not in new]
        hold("the keys moved to the new replica", len(new) == 1 and len(others) <= 0.05 * len(of_v2),
             f"{len(others)} elsewhere")
        hold("no request failed meanwhile", not load.since(begin)[1], str(load.since(begin)[1] or ""))
        print("berth traffic /digits")
        print(instance.berth("traffic", ROUTE), end="")
        print(instance.berth("traffic", ROUTE, "--explain", "header=X-Serve-Shard-Key: user-7"), end="")

        print("remove v1")
        begin = time.monotonic()
        instance.deploy(application(["v2", "v3"], {"v2": 1}, SHADOW) + hashing(4))
        counts = phase(load, "v2 alone", seconds)
        hold("all requests go to v2", set(counts) == {"v2"}, held(counts))
        hold("no request failed during the removal", not load.since(begin)[1],
             str(load.since(begin)[1] or ""))

        print("berth rollback digits")
        begin = time.monotonic()
        print(instance.berth("rollback", "digits", "--wait"), end="")
        counts = phase(load, "rolled back", seconds)
        hold("v1 and v2 share the requests again", share(counts, "v2", 0.5))
        hold("no request failed during the rollback", not load.since(begin)[1],
             str(load.since(begin)[1] or ""))
        back = keys(instance.port)
        hold("each key has its previous version", back == halves)
        load.stop()
        all_of_them, failed = load.since(0)
        print(f"{sum(all_of_them.values())} requests at {options.rate}/s, by version:"
              f" {held(all_of_them)}; failed: {failed or 0}; maximum lag {load.late_s:.2f} s")
        hold("no request failed", not failed)
        hold("the loop was open", load.late_s < 5)
    finally:
        instance.stop()


def main():
    global EXAMPLES
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("examples")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=150)
    options = parser.parse_args()
    if options.seconds < 5 or options.rate < 1:
        parser.error("--seconds, --rate: too small (expected: at least 5, at least 1)")
    EXAMPLES = os.path.abspath(options.examples)
    folder = tempfile.mkdtemp(prefix="berth-traffic-")
    try:
        run(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("all held" if not wrong else f"did not hold: {'; '.join(wrong)}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
