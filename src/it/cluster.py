#!/usr/bin/env python3
"""What cluster.sh says, by the standard library alone.

    src/it/cluster.py BERTH_JAR HANDLERS_JAR [--quick] [--rate=N] [--only=NAME,...] [--keep]

Starts three nodes of its own on 127.0.0.1, speaks to them by `berth` and by HTTP, disturbs and ends
them. Ends with 1 when something did not hold.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 120
WORKERS = 256  # requests under way at once; more than that are late, which is counted
TIMEOUT_S = 8  # of a request, in the configuration
MARGIN_S = 3  # beyond it, for a loaded machine, until a request counts as not answered
TRIES = 10
HANDLER_MS = 20
WAITS = ("detected", "replaced", "healed")

wrong = []
table = []


def hold(what, so, told=""):
    """Says whether something that must be so is."""
    if not so:
        wrong.append(what)
    print(f"  {'held' if so else 'NOT HELD'}: {what}{': ' if told else ''}{told}", flush=True)


def until(so, limit_s=LIMIT_S):
    """Seconds until it is so; None when it is not by then."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit_s:
        try:
            if so():
                return time.monotonic() - begin
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            pass
        time.sleep(0.05)
    return None


class Node:
    """One process, of a configuration that `berth cluster init` made."""

    def __init__(self, jar, folder, name, java):
        self.jar, self.folder, self.name, self.java = jar, folder, name, java
        self.config = folder / f"{name}.yaml"
        text = self.config.read_text(encoding="utf-8")
        self.http = int(re.search(r"http_options:.*?port: (\d+)", text, re.S).group(1))
        self.admin = int(re.search(r"admin:.*?port: (\d+)", text, re.S).group(1))
        self.ports = {name: int(port) for name, port
                      in re.findall(r"(control|data|https|bus|consensus): (\d+)", text)}
        self.starts = 0
        self.process = None

    def start(self):
        self.starts += 1
        self.log = self.folder / f"{self.name}-{self.starts}.log"
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", *self.java, "-jar", self.jar, "run",
                   str(self.config), "--set", "berth.event_loops=2",
                   "--set", f"http_options.request_timeout_s={TIMEOUT_S}"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def get(self, path, timeout=5):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def members(self):
        """State by name, as this node has it."""
        status, said = self.get("/api/v1/cluster")
        return {each["name"]: each["state"] for each in said["nodes"]} if status == 200 else {}

    def send(self, which):
        self.process.send_signal(which)

    def end(self, which=signal.SIGTERM, limit_s=60):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(which)
        if which == signal.SIGTERM:
            self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Load:
    """An open loop over all nodes: request i leaves at i / rate, whatever came of those before.

    A connect that is refused is tried at another node; anything else is an answer, or none.
    """

    def __init__(self, nodes, rate):
        self.nodes, self.rate = nodes, rate
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.next = 0
        self.late_s = 0.0
        self.over = threading.Event()
        self.came = []  # (id, node that was asked, when it left, when it was answered, what)
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(WORKERS)]
        for each in self.threads:
            each.start()

    def run(self):
        kept = {}
        while not self.over.is_set():
            with self.lock:
                number = self.next
                self.next += 1
                due = self.begun + number / self.rate
            if self.over.wait(max(0.0, due - time.monotonic())):
                break
            left = time.monotonic()
            node, what = self.ask(kept, number)
            with self.lock:
                self.came.append((number, node, left, time.monotonic(), what))
                self.late_s = max(self.late_s, left - due)

    def ask(self, kept, number):
        first = number % len(self.nodes)
        for attempt in range(TRIES):
            node = self.nodes[(first + attempt) % len(self.nodes)]
            if node.name in kept and select.select([kept[node.name].sock], [], [], 0)[0]:
                kept.pop(node.name).close()  # it was closed meanwhile
            try:
                if node.name not in kept:
                    connection = http.client.HTTPConnection(
                        "127.0.0.1", node.http, timeout=TIMEOUT_S + MARGIN_S)
                    connection.connect()
                    kept[node.name] = connection
            except ConnectionRefusedError:
                if attempt % len(self.nodes) == len(self.nodes) - 1:
                    time.sleep(0.1)
                continue
            except OSError as failed:
                return node.name, type(failed).__name__
            connection = kept[node.name]
            try:
                connection.request("GET", f"/records?ms={HANDLER_MS}", headers={"X-Id": str(number)})
                answer = connection.getresponse()
                answer.read()
                if answer.headers.get("Connection", "").lower() == "close":
                    connection.close()
                    del kept[node.name]
                return node.name, answer.status
            except (OSError, http.client.HTTPException) as failed:
                connection.close()
                del kept[node.name]
                return node.name, type(failed).__name__
        return "", "refused everywhere"

    def between(self, begin, end):
        """Those that were under way then."""
        with self.lock:
            return [each for each in self.came if each[3] >= begin and each[2] <= end]

    def stop(self):
        self.over.set()
        for each in self.threads:
            each.join(TIMEOUT_S + MARGIN_S + 5)


class Cluster:
    def __init__(self, options, folder):
        self.jar, self.folder, self.options = options.berth, folder, options
        self.records = folder / "records"
        self.records.mkdir()
        self.stops = []  # (node, from, to) of those that stood still
        made = folder / "cluster"
        self.berth("cluster", "init", str(made), at=None)
        self.nodes = [Node(self.jar, made, f"n{i}", options.java.split()) for i in (1, 2, 3)]

    def berth(self, *words, at=0):
        address = [] if at is None else [f"--address=127.0.0.1:{self.nodes[at].admin}"]
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-jar", self.jar, *words, *address],
            capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode:
            raise SystemExit(f"berth {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def whole(self, at=0):
        return self.nodes[at].members() == {node.name: "ALIVE" for node in self.nodes}

    def replicas(self, at=0):
        """Node by replica, of those that run."""
        _, said = self.nodes[at].get("/api/serve/applications/")
        found = {}
        for application in said["applications"].values():
            for deployment in application["deployments"].values():
                for replica in deployment["replicas"]:
                    if replica["state"] == "RUNNING":
                        found[replica["replica_id"]] = replica["node_id"].split("~")[0]
        return found

    def start(self):
        for node in self.nodes:
            node.start()
        took = until(self.whole)
        if took is None:
            raise SystemExit("the cluster did not come up:\n" + "\n".join(
                f"--- {node.name}\n{node.said()[-4000:]}" for node in self.nodes))
        print(f"three nodes are one cluster after {took:.1f} s", flush=True)
        file = self.folder / "records.yaml"
        file.write_text(f"""
applications:
  - name: records
    route_prefix: /records
    import_path: RecordsApp:build
    args: {{folder: "{self.records}", slots: 4}}
    runtime_env: {{jars: ["{os.path.abspath(self.options.handlers)}"]}}
    deployments: [{{name: records, num_replicas: 6, max_replicas_per_node: 4}}]
""", encoding="utf-8")
        begin = time.monotonic()
        print(self.berth("deploy", str(file), "--wait"), end="")
        spread = collections.Counter(self.replicas().values())
        print(f"deployed after {time.monotonic() - begin:.1f} s: {dict(spread)}", flush=True)
        hold("replicas are spread over the nodes", sorted(spread.values()) == [2, 2, 2], str(dict(spread)))

    def executions(self):
        """How often each request ran."""
        ran = collections.Counter()
        for file in self.records.iterdir():
            ran.update(file.read_text(encoding="utf-8").split())
        return ran

    def ledgers(self):
        """Replicas whose slots are not all free, or that do not add up."""
        bad = []
        for node in self.nodes:
            status, said = node.get(f"/api/v1/ledger?node={node.name}", timeout=10)
            for each in said.get("replicas", []) if status == 200 else [{"node": node.name}]:
                if each.get("running") or each.get("reserved") or each.get("audit") == "MISMATCH":
                    bad.append(f"{node.name}: {json.dumps(each)[:300]}")
        return bad

    def stood_still(self, request):
        """Whether the node that it was sent to was stopped while it waited."""
        return any(name == request[1] and begin < request[3] and request[2] < end
                   for name, begin, end in self.stops)

    def end(self):
        for node in self.nodes:
            node.end()


def disturb(cluster, load, name, node, fault, heal, quiet=False):
    """One fault: what was failed by it, and how long it took to be seen, made up for and healed."""
    watcher = next(each for each in cluster.nodes if each is not node)
    at = cluster.nodes.index(watcher)
    begin = time.monotonic()
    fault()
    detected = replaced = None
    if not quiet and node is not cluster.nodes[0]:
        detected = until(lambda: watcher.members().get(node.name) != "ALIVE", 30)
        replaced = until(lambda: len(cluster.replicas(at)) == 6
                         and node.name not in cluster.replicas(at).values(), 30)
    elif not quiet:
        time.sleep(5)  # requests flow on without a controller
    heal_begin = time.monotonic()
    heal()
    healed = until(lambda: all(cluster.whole(i) for i in range(3)) and len(cluster.replicas(at)) == 6, 60)
    end = time.monotonic()
    time.sleep(1)
    failed = [each for each in load.between(begin, end) if each[4] != 200]
    row = (name, node.name, detected, replaced, healed, len(load.between(begin, end)),
           collections.Counter(f"{each[1]} {each[4]}" for each in failed))
    table.append(row)
    shown = ", ".join(f"{what} {'-' if took is None else f'{took:.2f} s'}"
                      for what, took in zip(WAITS, row[2:5]))
    print(f"{name} {node.name}: {shown}; {row[5]} requests, failed: {dict(row[6]) or 0};"
          f" {end - heal_begin:.1f} s", flush=True)
    hold(f"{name} {node.name}: healed", healed is not None)
    return failed


def kill(cluster, load, node):
    def again():
        node.process.wait()
        node.start()
    return disturb(cluster, load, "kill -9", node, lambda: node.end(signal.SIGKILL), again)


def stop(cluster, load, node):
    def fault():
        node.send(signal.SIGSTOP)

    def heal():
        time.sleep(max(0.0, 10 - (time.monotonic() - begun)))
        node.send(signal.SIGCONT)
        cluster.stops.append((node.name, begun, time.monotonic()))
    begun = time.monotonic()
    return disturb(cluster, load, "SIGSTOP 10 s", node, fault, heal)


def half_handshakes(cluster, load, node):
    """Peers that connect to each port, say nothing and read nothing."""
    sockets = []

    def fault():
        for port in node.ports.values():
            for _ in range(4):
                try:
                    sockets.append(socket.create_connection(("127.0.0.1", port), 2))
                except OSError:
                    pass  # a worker has no port for consensus
        time.sleep(4)
    failed = disturb(cluster, load, "no handshake", node, fault, lambda: None, quiet=True)
    for each in sockets:
        each.close()
    hold(f"no handshake {node.name}: nobody noticed", not failed, str(failed[:3] or ""))
    return failed


def roll(cluster, load, node):
    def restart():
        node.end(signal.SIGTERM)
        node.start()
    failed = disturb(cluster, load, "restart", node, restart, lambda: None, quiet=True)
    hold(f"restart {node.name}: none failed", not failed, str(failed[:3] or ""))
    return failed


FAULTS = {"kill": kill, "stop": stop, "handshake": half_handshakes, "roll": roll}


def run(options, folder):
    cluster = Cluster(options, folder)
    load = None
    try:
        cluster.start()
        load = Load(cluster.nodes, options.rate)
        time.sleep(3)
        begin = time.monotonic()
        time.sleep(3)
        calm = [each for each in load.between(begin, time.monotonic()) if each[4] != 200]
        hold("nothing fails while nothing is wrong", not calm, str(calm[:3] or ""))
        times = 1 if options.quick else 10
        order = [(name, node) for name in options.only for node in cluster.nodes
                 for _ in range(1 if name == "handshake" else times)]
        if not options.quick:
            random.Random(options.seed).shuffle(order)
        for name, node in order:
            FAULTS[name](cluster, load, node)
        time.sleep(2)
        load.stop()
        slow = [each for each in load.came if each[3] - each[2] > TIMEOUT_S + MARGIN_S
                and not cluster.stood_still(each)]
        hold("every request of a node that runs is answered by its deadline", not slow, str(slow[:3] or ""))
        twice = [each for each, n in cluster.executions().items() if n > 1]
        hold("none is executed twice", not twice, str(twice[:5] or ""))
        ran = cluster.executions()
        lost = [each for each in load.came if each[4] == 200 and str(each[0]) not in ran]
        hold("none is answered that did not run", not lost, str(lost[:3] or ""))
        rest = until(lambda: not cluster.ledgers(), 15)
        hold("at rest each ledger is zero", rest is not None,
             "" if rest is not None else str(cluster.ledgers()[:3]))
        states = collections.Counter(str(each[4]) for each in load.came)
        print(f"{len(load.came)} requests at {options.rate}/s: {dict(states)};"
              f" the latest left {load.late_s:.2f} s late")
    finally:
        if load:
            load.over.set()
        cluster.end()


def show():
    print("\n| fault | node | times | detected s | replaced s | healed s | requests | failed |")
    print("|---|---|---|---|---|---|---|---|")
    for key in dict.fromkeys((row[0], row[1]) for row in table):
        rows = [row for row in table if row[:2] == key]

        def span(i):
            took = sorted(row[i] for row in rows if row[i] is not None)
            return f"{took[len(took) // 2]:.2f} ({took[0]:.2f}-{took[-1]:.2f})" if took else ""
        failed = sum((row[6] for row in rows), collections.Counter())
        print(f"| {key[0]} | {key[1]} | {len(rows)} | {span(2)} | {span(3)} | {span(4)} |"
              f" {sum(row[5] for row in rows)} | {dict(failed) or 0} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("handlers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rate", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--java", default="-XX:TieredStopAtLevel=1")
    parser.add_argument("--only", default=",".join(FAULTS))
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.berth = os.path.abspath(options.berth)
    options.only = options.only.split(",")
    if set(options.only) - set(FAULTS):
        parser.error(f"--only (expected: some of {', '.join(FAULTS)})")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-cluster-"))
    try:
        run(options, folder)
    finally:
        show()
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print("all held" if not wrong else f"did not hold: {'; '.join(wrong)}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
