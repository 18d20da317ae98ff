#!/usr/bin/env python3
"""What cluster.sh says, by the standard library alone.

    src/it/cluster.py BERTH_JAR HANDLERS_JAR [--quick] [--rate=N] [--only=NAME,...] [--keep]

Starts three nodes of its own, each in a network namespace where that is permitted, else all on
127.0.0.1; speaks to them by `berth` and by HTTP, disturbs and ends them. Ends with 1 when something
did not hold.
"""

import argparse
import collections
import ctypes
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


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Networks:
    """A network namespace for each of three nodes, which `nft` cuts off from another."""

    def __init__(self):
        self.holders = {}
        run("ip", "link", "add", "berth0", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.254/24", "dev", "berth0")
        run("ip", "link", "set", "berth0", "up")
        for i, name in enumerate(("n1", "n2", "n3"), 1):
            holder = subprocess.Popen(["unshare", "-n", "sleep", "7200"])
            self.holders[name] = holder
            until(lambda: os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"), 5)
            run("ip", "link", "add", f"berth{i}", "type", "veth", "peer", "name", "eth0",
                "netns", str(holder.pid))
            run("ip", "link", "set", f"berth{i}", "master", "berth0")
            run("ip", "link", "set", f"berth{i}", "up")
            self.within(name, "ip", "addr", "add", f"{self.host(name)}/24", "dev", "eth0")
            self.within(name, "ip", "link", "set", "eth0", "up")
            self.within(name, "ip", "link", "set", "lo", "up")
            self.within(name, "nft", "add table inet t; add chain inet t in"
                        " { type filter hook input priority 0; }")

    @staticmethod
    def host(name):
        return f"10.77.0.{name[1:]}"

    def prefix(self, name):
        return ["nsenter", "-t", str(self.holders[name].pid), "-n"]

    def within(self, name, *words):
        run(*self.prefix(name), *words)

    def drop(self, name, peers, share=100):
        """From now on it does not get so many packets of a hundred that these send."""
        for peer in peers:
            chance = "" if share == 100 else f"numgen random mod 100 < {share} "
            self.within(name, "nft", f"add rule inet t in ip saddr {self.host(peer)} {chance}drop")

    def heal(self, name):
        self.within(name, "nft", "flush chain inet t in")

    def enter(self, name):
        """Of this thread, for good."""
        with open(f"/proc/{self.holders[name].pid}/ns/net", encoding="utf-8") as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")

    def end(self):
        for holder in self.holders.values():
            holder.kill()


class OneHost:
    """All on this machine's loopback: nobody is cut off."""

    @staticmethod
    def host(_):
        return "127.0.0.1"

    @staticmethod
    def prefix(_):
        return []

    def enter(self, name):
        pass

    def end(self):
        pass


class Node:
    """One process, of a configuration that `berth cluster init` made."""

    def __init__(self, jar, folder, name, java, net):
        self.jar, self.folder, self.name, self.java, self.net = jar, folder, name, java, net
        self.host = net.host(name)
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
        command = [*self.net.prefix(self.name), "java", "-Xmx256m", "-XX:+UseSerialGC", *self.java, "-jar", self.jar, "run",
                   str(self.config), "--set", "berth.event_loops=2",
                   "--set", f"http_options.request_timeout_s={TIMEOUT_S}"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def get(self, path, timeout=5):
        """Of its admin server, which listens on its own loopback."""
        answers = []

        def ask():
            try:
                self.net.enter(self.name)
                answers.append(self.ask(path, timeout))
            except (OSError, http.client.HTTPException, ValueError) as failed:
                answers.append(failed)
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join()
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    def ask(self, path, timeout):
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

    A connect that is refused is tried at another node. So is, while a restart is planned, what an
    idle connection was closed under (RFC 9112, 9.3.1): that it ran not is what the records say.
    Anything else is an answer, or none.
    """

    def __init__(self, nodes, rate):
        self.nodes, self.rate = nodes, rate
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.next = 0
        self.late_s = 0.0
        self.over = threading.Event()
        self.planned = False  # a node is being restarted
        self.again = 0
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
            idle = node.name in kept
            if idle and select.select([kept[node.name].sock], [], [], 0)[0]:
                kept.pop(node.name).close()  # it was closed meanwhile
                idle = False
            try:
                if node.name not in kept:
                    connection = http.client.HTTPConnection(
                        node.host, node.http, timeout=TIMEOUT_S + MARGIN_S)
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
                if idle and self.planned:
                    self.again += 1
                    continue
                return node.name, f"{type(failed).__name__} on {'an idle' if idle else 'a new'} connection"
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
        self.net = Networks() if options.namespaces else OneHost()
        self.made = folder / "cluster"
        hosts = [f"--host=n{i}={self.net.host(f'n{i}')}" for i in (1, 2, 3) if options.namespaces]
        self.berth("cluster", "init", str(self.made), *hosts, at=None)
        self.nodes = [Node(self.jar, self.made, f"n{i}", options.java.split(), self.net)
                      for i in (1, 2, 3)]

    def berth(self, *words, at=0):
        address = [] if at is None else [f"--address=127.0.0.1:{self.nodes[at].admin}"]
        within = [] if at is None else self.net.prefix(self.nodes[at].name)
        done = subprocess.run(
            [*within, "java", "-XX:TieredStopAtLevel=1", "-jar", self.jar, *words, *address],
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
            node.send(signal.SIGTERM)
        for node in self.nodes:
            node.end()
        self.net.end()

    def lost(self, names):
        """What the controller said of others than these that it lost."""
        said = "".join(log.read_text(encoding="utf-8") for log in self.made.glob("n1-*.log"))
        return [line for line in said.splitlines() if re.search(r"ControlServer - node .*: lost", line)
                and "its node runs another process" not in line
                and not any(f"node {name}~" in line for name in names)]


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
    load.planned = True
    failed = disturb(cluster, load, "restart", node, restart, lambda: None, quiet=True)
    load.planned = False
    hold(f"restart {node.name}: none failed", not failed, str(failed[:3] or ""))
    return failed


def cut(name, victims, seconds, share=100):
    """The node does not get what these send to it: what it sends arrives."""
    def fault(cluster, load, node):
        others = [each for each in cluster.nodes if each is not node]
        peers = {"control": cluster.nodes[:1], "other": others[1:], "all": others}[victims]

        def begin():
            cluster.net.drop(node.name, [each.name for each in peers], share)

        def heal():
            time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
            cluster.net.heal(node.name)
        begun = time.monotonic()
        failed = disturb(cluster, load, name, node, begin, heal, quiet=True)
        hold(f"{name} {node.name}: healed with all replicas", len(cluster.replicas()) == 6)
        return failed
    return fault


def silenced(cluster, load, node):
    """The controller does not hear it: it is lost, though it runs, and comes back as another."""
    def fault():
        for each in cluster.nodes:
            if each is not node:
                cluster.net.drop(each.name, [node.name])

    def heal():
        time.sleep(2)
        for each in cluster.nodes:
            cluster.net.heal(each.name)
    return disturb(cluster, load, "not heard", node, fault, heal)


def emptied(cluster, load, node):
    """The control node starts with nothing: it commands nobody, until it has its state again."""
    state, kept = cluster.made / "n1-state", cluster.made / "n1-kept"
    before = {id for id, at in cluster.replicas(1).items() if at != "n1"}

    def fault():
        node.end(signal.SIGKILL)
        state.rename(kept)
        node.start()
        told = until(lambda: any("cluster" in line and ("refused" in line or "stands by" in line)
                                 for line in node.said().splitlines()), 30)
        hold("emptied n1: it says that nodes know another cluster", told is not None)
        time.sleep(5)
        asked = [each for each in load.between(time.monotonic() - 3, time.monotonic())
                 if each[1] in ("n2", "n3") and each[4] != 200]
        hold("emptied n1: requests flow on", not asked, str(asked[:3] or ""))

    def heal():
        node.end(signal.SIGKILL)
        shutil.rmtree(state)
        kept.rename(state)
        node.start()
    failed = disturb(cluster, load, "emptied", node, fault, heal, quiet=True)
    gone = before - set(cluster.replicas(1))
    hold("emptied n1: what ran elsewhere still runs", not gone, str(gone or ""))
    return failed


def certify(cluster, node, days):
    """Another certificate for a node, by the CA of the trial."""
    made = cluster.made
    request = made / f"{node.name}.csr"
    names = made / f"{node.name}.ext"
    names.write_text(f"subjectAltName=DNS:{node.name},DNS:localhost,IP:127.0.0.1,IP:{node.host}\n",
                     encoding="utf-8")
    run("openssl", "req", "-new", "-key", str(made / f"{node.name}-key.pem"), "-subj",
        f"/CN={node.name}", "-out", str(request))
    fresh = made / f"{node.name}.new"
    run("openssl", "x509", "-req", "-in", str(request), "-CA", str(made / "ca.pem"), "-CAkey",
        str(made / "ca-key.pem"), "-CAcreateserial", "-extfile", str(names), "-out", str(fresh), *days)
    fresh.rename(made / f"{node.name}.pem")


def certificates(cluster, load, node):
    """A new certificate is taken while it runs; one that is over is refused, and at a start too."""
    def fault():
        certify(cluster, node, ["-days", "30"])
        hold(f"certificates {node.name}: read again",
             until(lambda: "was read again" in node.said(), 20) is not None)

    def heal():
        node.end(signal.SIGTERM)
        valid = (cluster.made / f"{node.name}.pem").read_text(encoding="utf-8")
        certify(cluster, node, ["-days", "-1"])
        node.start()
        ended = until(lambda: node.process.poll() is not None, 20)
        hold(f"certificates {node.name}: none starts with one that is over",
             ended is not None and "expected: one for now" in node.said(), node.said()[-300:])
        (cluster.made / f"{node.name}.pem").write_text(valid, encoding="utf-8")
        node.start()
    load.planned = True
    failed = disturb(cluster, load, "certificates", node, fault, heal, quiet=True)
    load.planned = False
    hold(f"certificates {node.name}: none failed", not failed, str(failed[:3] or ""))
    return failed


FAULTS = {"kill": kill, "stop": stop, "handshake": half_handshakes, "roll": roll,
          "emptied": emptied, "certificates": certificates}
OF_NETWORKS = {"deaf": cut("hears one node not", "other", 8),
               "led": cut("hears the controller not", "control", 8),
               "loss": cut("loses 3 of 100", "all", 8, 3), "silenced": silenced}
WORKERS_ONLY = ("deaf", "led", "silenced", "certificates")


def disturbed(options, folder):
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
                 for _ in range(1 if name in ("handshake", "emptied", "certificates") else times)
                 if not (node is cluster.nodes[0] if name in WORKERS_ONLY
                         else name == "emptied" and node is not cluster.nodes[0])]
        if not options.quick:
            random.Random(options.seed).shuffle(order)
        for name, node in order:
            before = set(cluster.lost(()))
            {**FAULTS, **OF_NETWORKS}[name](cluster, load, node)
            blamed = [line for line in cluster.lost((node.name,)) if line not in before]
            hold(f"{name} {node.name}: no other was lost", not blamed, str(blamed[:3] or ""))
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
              f" {load.again} were sent again as their idle connections closed;"
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
    parser.add_argument("--only")
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.berth = os.path.abspath(options.berth)
    known = [*FAULTS, *(OF_NETWORKS if options.namespaces else [])]
    options.only = options.only.split(",") if options.only else known
    if set(options.only) - set(known):
        parser.error(f"--only (expected: some of {', '.join(known)})")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-cluster-"))
    try:
        disturbed(options, folder)
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
