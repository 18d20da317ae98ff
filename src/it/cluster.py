#!/usr/bin/env python3
"""What cluster.sh says, by the standard library alone.

    src/it/cluster.py BERTH_JAR HANDLERS_JAR [--quick] [--rate=N] [--only=NAME,...] [--keep]

Starts three nodes of its own, each in a network namespace where that is permitted, else all on the
loopback with relays between them; speaks to them by `berth` and by HTTP, disturbs and ends them.
Ends with 1 when something did not hold.
"""

import argparse
import collections
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time

from cluster_load import MARGIN_S, TIMEOUT_S, Load
from cluster_net import Namespaces, Relays
from cluster_nodes import LIMIT_S, REPLICAS, SLOTS, Cluster, until

TIMES = 10
WARMING_S = 6
STOPPED_S = 10
BLOCKED_S = 6
CUT_S = 8
MIB = 1 << 20

wrong = []


def hold(what, so, told=""):
    """Says whether something that must be so is."""
    if not so:
        wrong.append(what)
    print(f"  {'held' if so else 'NOT HELD'}: {what}{': ' if told else ''}{told}", flush=True)


class Fault:
    """One disturbance of a node: its time, and how long it took to be seen, made up for and healed."""

    def __init__(self, trial, kind, node):
        self.trial, self.kind, self.node, self.name = trial, kind, node, f"{kind} {node.name}"
        self.watcher = next(i for i, each in enumerate(trial.cluster.nodes) if each is not node)
        self.fails = True  # what went through the node may fail
        self.others = trial.others(node)
        self.pairs = {(each, node.name) for each in self.others}  # who may suspect whom
        self.detected = self.replaced = self.healed = self.end = None
        self.marks = trial.cluster.marks()
        self.begin = time.monotonic()

    def cuts(self, peers):
        """Between its node and these: each may suspect the other, as nothing tells them apart."""
        self.pairs = {pair for peer in peers for pair in ((peer, self.node.name), (self.node.name, peer))}

    def see(self):
        """Waits until another node knows, and until its replicas run elsewhere."""
        trial, name = self.trial, self.node.name
        watcher = trial.cluster.nodes[self.watcher]
        if self.node is trial.control:  # nobody replaces anything without it
            self.detected = until(lambda: any("ControlClient - no controller" in line for line
                                              in watcher.lines()[self.marks[watcher.name]:]), 30)
        else:
            self.detected = until(lambda: watcher.members().get(name) != "ALIVE", 30)
        hold(f"{self.name}: it is noticed", self.detected is not None)
        if self.node is trial.control:
            return
        left = until(lambda: len(trial.cluster.replicas(self.watcher)) == REPLICAS
                     and name not in trial.cluster.replicas(self.watcher).values(), 30)
        self.replaced = None if left is None else time.monotonic() - self.begin
        hold(f"{self.name}: its replicas are replaced", left is not None)

    def last(self, seconds):
        """Waits until it has lasted so long."""
        time.sleep(max(0.0, self.begin + seconds - time.monotonic()))

    def heals(self):
        """It is as before from now on."""
        self.healed = until(lambda: self.trial.cluster.healthy(self.watcher), 60)
        self.end = time.monotonic()
        hold(f"{self.name}: healed", self.healed is not None)

    def hit(self, came, ran, where):
        """Whether a request was under way while this lasted, and through its node."""
        through = came.held | {node for node, _ in ran.get(came.id, ())}
        through |= {node for replica, node in where.items() if replica in came.said}
        return (self.fails and came.left <= (self.end or time.monotonic()) and came.came >= self.begin
                and self.node.name in through)


class Trial:
    def __init__(self, options, folder):
        self.options = options
        self.cluster = Cluster(options, folder, Namespaces() if options.namespaces else Relays())
        self.control = self.cluster.nodes[0]
        self.load = None
        self.faults = []
        self.stops = []  # (node, from, to) of those that stood still
        self.ledgers = []  # what was seen of them that must not be
        self.looks = 0

    def others(self, node):
        return [each.name for each in self.cluster.nodes if each is not node]

    # --- the faults ---

    def kill(self, fault):
        fault.node.end(signal.SIGKILL)
        fault.see()
        if fault.node is self.control:
            time.sleep(2)  # requests flow on without a controller
        fault.node.start()
        fault.heals()

    def stop(self, fault):
        """With 1 MiB and more in its sockets."""
        for node in self.cluster.nodes:
            self.load.burst(node, 4, "1 MiB")
        fault.node.send(signal.SIGSTOP)
        try:
            self.load.burst(fault.node, 2, "1 MiB")
            fault.see()
            fault.last(STOPPED_S)
            unread = self.cluster.waiting(fault.node)
        finally:
            fault.node.send(signal.SIGCONT)
            self.stops.append((fault.node.name, fault.begin, time.monotonic()))
        hold(f"{fault.name}: 1 MiB was in its sockets", unread >= MIB, f"{unread / MIB:.1f} MiB")
        fault.heals()

    def handshake(self, fault):
        """Peers that connect and say nothing; that do so once TLS is there."""
        fault.fails, fault.pairs = False, set()
        made = []
        for name, port in fault.node.ports.items():
            for tls in (False, False, True):
                try:
                    peer = socket.create_connection((fault.node.host, port), 2)
                    if tls:
                        peer = self.cluster.tls(self.cluster.nodes[2]).wrap_socket(peer)
                    made.append((name, peer))
                except OSError:
                    pass  # a worker has no port for consensus, and control nodes alone one for control
        links = [peer for name, peer in made if name in ("control", "data")]
        hold(f"{fault.name}: peers came", len(links) >= 3, str(len(made)))
        hold(f"{fault.name}: those on links are ended", until(lambda: all(map(is_ended, links)), 10) is not None)
        for _, peer in made:
            peer.close()
        fault.heals()

    def unread(self, fault):
        """Its event loops stand still, so that they read no data link; it says that it lives."""
        until_ms = int(1000 * (time.time() + BLOCKED_S))
        for _ in range(8):
            threading.Thread(target=self.block, args=(fault.node, until_ms), daemon=True).start()
        for node in self.cluster.nodes:
            self.load.burst(node, 2, "1 MiB")
        fault.last(BLOCKED_S)
        hold(f"{fault.name}: a loop did not read", "blocked for" in fault.node.said())
        self.stops.append((fault.node.name, fault.begin, time.monotonic()))
        fault.heals()
        hold(f"{fault.name}: it is not lost", not self.lost(fault))

    def block(self, node, until_ms):
        try:
            with socket.create_connection((node.client_host, node.http), 2 * BLOCKED_S) as peer:
                peer.sendall(f"GET /records?block={until_ms}&pid={node.process.pid} HTTP/1.1\r\nHost: it\r\n"
                             f"X-Id: block-{time.monotonic_ns()}\r\nConnection: close\r\n\r\n".encode())
                while peer.recv(4096):
                    pass
        except OSError:
            pass  # it is lost with its loop

    def lost(self, fault):
        return [line for line in self.control.lines()[fault.marks["n1"]:]
                if f"ControlServer - node {fault.node.name}~" in line and ": lost" in line]

    def delay(self, fault):
        """What it sends takes 200 ms."""
        fault.fails, fault.pairs = False, set()
        self.cluster.net.delay(fault.node.name, 0.2)
        fault.last(CUT_S)
        self.cluster.net.heal()
        fault.heals()

    def loss(self, fault):
        """3 of 100 packets are lost on the way to it, and as many from it."""
        fault.pairs = set()
        self.cluster.net.drop(fault.node.name, fault.others, 3)
        for each in fault.others:
            self.cluster.net.drop(each, [fault.node.name], 3)
        fault.last(CUT_S)
        self.cluster.net.heal()
        fault.heals()

    def deaf(self, fault):
        """It hears neither of the others, which hear it."""
        fault.cuts(fault.others)
        self.cluster.net.drop(fault.node.name, fault.others)
        fault.last(CUT_S)
        self.cluster.net.heal()
        fault.heals()

    def one_way(self, fault):
        """It does not hear the other worker."""
        other = [each for each in fault.others if each != "n1"]
        fault.cuts(other)
        self.cluster.net.drop(fault.node.name, other)
        fault.last(CUT_S)
        self.cluster.net.heal()
        fault.heals()
        hold(f"{fault.name}: it is not lost", not self.lost(fault))

    def led(self, fault):
        """It does not hear the controller."""
        fault.cuts(["n1"])
        self.cluster.net.drop(fault.node.name, ["n1"])
        fault.last(CUT_S)
        self.cluster.net.heal()
        fault.heals()

    def silenced(self, fault):
        """Nobody hears it: it is lost, though it runs, and comes back as another."""
        fault.cuts(fault.others)  # it gets no answers either
        for each in fault.others:
            self.cluster.net.drop(each, [fault.node.name])
        fault.see()
        self.cluster.net.heal()
        fault.heals()

    def roll(self, fault):
        fault.fails = False
        self.load.planned = True
        fault.node.end(signal.SIGTERM)
        fault.node.start()
        fault.heals()
        self.load.planned = False

    def emptied(self, fault):
        """The control node starts with nothing: it commands nobody, until it has its state again."""
        node, made = fault.node, self.cluster.made
        state, kept = made / "n1-state", made / "n1-kept"
        before = self.cluster.running("n2", "n3")
        node.end(signal.SIGKILL)
        state.rename(kept)
        node.start()
        told = until(lambda: any("cluster" in line and ("refused" in line or "stands by" in line)
                                 for line in node.said().splitlines()), 30)
        hold(f"{fault.name}: it says that nodes know another cluster", told is not None)
        time.sleep(2)  # requests flow on
        gone = before - self.cluster.running("n2", "n3")
        hold(f"{fault.name}: what ran elsewhere still runs", not gone, str(gone or ""))
        node.end(signal.SIGKILL)
        shutil.rmtree(state)
        kept.rename(state)
        node.start()
        fault.heals()
        gone = before - self.cluster.running("n2", "n3")
        hold(f"{fault.name}: and does so when it has it again", not gone, str(gone or ""))

    def reloaded(self, fault):
        """A new certificate is taken while it runs."""
        fault.fails, fault.pairs = False, set()
        text = self.cluster.certify(fault.node, 30)
        shown = until(lambda: self.shown(fault.node) == ssl.PEM_cert_to_DER_cert(text), 20)
        hold(f"{fault.name}: links show it", shown is not None)
        fault.heals()

    def shown(self, node):
        with socket.create_connection((node.host, node.ports["data"]), 2) as peer:
            with self.cluster.tls(node).wrap_socket(peer) as links:
                return links.getpeercert(binary_form=True)

    def expired(self, fault):
        """None starts with one that is over."""
        fault.fails = False
        file = self.cluster.made / f"{fault.node.name}.pem"
        valid = file.read_text(encoding="utf-8")
        self.load.planned = True
        fault.node.end(signal.SIGTERM)
        self.cluster.certify(fault.node, -1)
        fault.node.start()
        ended = until(lambda: fault.node.process.poll() is not None, 30)
        hold(f"{fault.name}: it does not start", ended is not None and "expected: one for now" in fault.node.said(),
             "" if ended else fault.node.said()[-300:])
        file.write_text(valid, encoding="utf-8")
        fault.node.start()
        fault.heals()
        self.load.planned = False

    # --- all of them ---

    def one(self, kind, node):
        fault = Fault(self, KINDS[kind][0], node)
        self.faults.append(fault)
        getattr(self, kind)(fault)
        time.sleep(1)  # for what was on its way
        suspected = [each for each in self.cluster.suspicions(fault.marks) if each[:2] not in fault.pairs]
        hold(f"{fault.name}: none is suspected without a cause", not suspected,
             "; ".join(f"by {who}: {line}" for who, _, line in suspected[:3]))
        spans = ", ".join(f"{what} {took:.2f} s" for what in ("detected", "replaced", "healed")
                          if (took := getattr(fault, what)) is not None)
        ran = self.cluster.executions()
        came = self.load.between(fault.begin, fault.end)
        failed = [each for each in came if each.what is not True]
        other = [each for each in failed if not self.explained(each)]
        told = collections.Counter(f"{each.kind} at {each.node}: {each.what}" for each in failed)
        print(f"{fault.name}: {spans}; {len(came)} requests, failed: {dict(told) or 0};"
              f" {time.monotonic() - fault.begin:.1f} s", flush=True)
        if other:
            print(f"  of these not by the fault: {[(each, ran.get(each.id)) for each in other[:3]]}", flush=True)

    def explained(self, came):
        ran, where = self.cluster.ran, self.cluster.where
        return any(fault.hit(came, ran, where) for fault in self.faults)

    def most_loaded(self, names):
        """The node of these with the most replicas: a fault of it is to matter."""
        count = collections.Counter(self.cluster.replicas().values())
        return max((each for each in self.cluster.nodes if each.name in names), key=lambda each: count[each.name])

    def watch(self):
        """Looks at the ledgers all the time."""
        while not self.load.over.wait(1):
            for node in self.cluster.nodes:
                try:
                    for each in self.cluster.ledger(node):
                        self.looks += 1
                        taken = each["running"] + each["reserved"]
                        if taken > each["max_ongoing_requests"] or each["audit"] == "mismatch":
                            self.ledgers.append((node.name, each))
                except (OSError, ValueError):
                    pass  # it is disturbed

    def cpu_s(self):
        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in spent) + sum(
            each.cpu_s() for each in self.cluster.nodes if each.process.poll() is None)

    def run(self):
        spread = self.cluster.start()
        hold("replicas are spread over the nodes", sorted(spread.values()) == [2, 2, 2], str(dict(spread)))
        self.load = Load(self.cluster.nodes, self.options.rate)
        time.sleep(WARMING_S)  # what cannot be served in time by cold processes is not judged
        threading.Thread(target=self.watch, daemon=True).start()
        for node in self.cluster.nodes:
            self.load.burst(node, 2 * REPLICAS * SLOTS // 3)  # all slots, and half as many wait
        time.sleep(2)
        cpu, begin = self.cpu_s(), time.monotonic()
        time.sleep(5)
        calm = [each for each in self.load.between(begin, time.monotonic()) if each.what is not True and each.left > begin]
        hold("nothing fails while nothing is wrong", not calm, str(calm[:3] or ""))
        print(f"{self.options.rate} requests a second take {(self.cpu_s() - cpu) / (time.monotonic() - begin):.2f}"
              " cores, client and nodes together", flush=True)
        cpu, begin = self.cpu_s(), time.monotonic()
        for kind, names in self.order():
            self.one(kind, self.most_loaded(names))
        print(f"with all faults {(self.cpu_s() - cpu) / (time.monotonic() - begin):.2f} cores")
        time.sleep(2)
        self.load.stop()
        self.check()

    def order(self):
        """Kinds, and of which nodes one is to be disturbed."""
        times = 1 if self.options.quick else TIMES
        order = []
        for kind in self.options.only:
            nodes = KINDS[kind][1]
            for i in range(times):
                order += [(kind, name.split()) for name in (nodes if kind == "roll" else [nodes[i % len(nodes)]])]
                if kind in ("kill", "stop"):
                    order.append((kind, ["n1"]))
        if not self.options.quick:
            random.Random(self.options.seed).shuffle(order)
        return order

    def stood_still(self, came):
        """Whether the node that it was sent to was stopped while it waited."""
        return any(name == came.node and begin < came.came and came.left < end
                   for name, begin, end in self.stops)

    def check(self):
        load, cluster = self.load, self.cluster
        ran = cluster.executions()
        failed = [each for each in load.came if each.what is not True and each.left > load.begun + WARMING_S]
        other = [each for each in failed if not self.explained(each)]
        hold("failures only of what went through a faulty node", not other,
             str([(each, ran.get(each.id)) for each in other[:5]] or ""))
        slow = [each for each in load.came
                if each.came - each.left > TIMEOUT_S + MARGIN_S and not self.stood_still(each)]
        hold("every request of a node that runs is answered by its deadline", not slow, str(slow[:3] or ""))
        twice = [id for id, each in ran.items() if len(each) > 1]
        hold("none is executed twice", not twice, str(twice[:5] or ""))
        lost = [each for each in load.came if each.what is True and each.id not in ran
                and each.kind in ("plain", "64 KiB", "1 MiB", "stream", "use")]
        hold("none is answered that did not run", not lost, str(lost[:3] or ""))
        ended = [(id, how) for id, how in load.reserved.items()
                 if (first := len(ran.get(id, ()))) + (after := len(ran.get(id + "a", ()))) > 1
                 or how == "used" and (first, after) != (1, 0) or how in ("released", "expired") and first + after]
        hold("a reservation is used, released or expires, one of them", not ended, str(ended[:5] or ""))
        hold(f"no replica works on more than {SLOTS}", cluster.most <= SLOTS, f"{cluster.most} at most")
        hold("no ledger is over its bound, or does not add up", not self.ledgers, str(self.ledgers[:3] or ""))
        rest = until(lambda: not cluster.busy(), 15)
        hold("at rest each ledger is zero", rest is not None, "" if rest is not None else str(cluster.busy()[:3]))
        count = collections.Counter(each.kind for each in load.came)
        how = collections.Counter(str(each) for each in load.reserved.values())
        print(f"{len(load.came)} requests: {dict(count)}, {len(failed)} failed; reservations: {dict(how)};"
              f" {len(ran)} executions, {self.looks} looks at ledgers; {load.again} were sent again as their"
              f" idle connections closed; the latest left {load.late_s:.2f} s late")

    def show(self):
        print("\n| fault | node | times | detected s | replaced s | healed s | requests | failed |")
        print("|---|---|---|---|---|---|---|---|")
        rows = collections.defaultdict(list)
        for fault in self.faults:
            if fault.end:
                who = "control" if fault.node is self.control else "worker"
                rows[fault.kind, who].append(fault)
        for (kind, who), faults in sorted(rows.items(), key=lambda each: [k[0] for k in KINDS.values()].index(each[0][0])):
            def span(what):
                took = sorted(getattr(each, what) for each in faults if getattr(each, what) is not None)
                return f"{took[len(took) // 2]:.1f} ({took[0]:.1f}–{took[-1]:.1f})" if took else "–"
            came = [each for fault in faults for each in self.load.between(fault.begin, fault.end)]
            told = collections.Counter(str(each.what) for each in came if each.what is not True)
            failed = ", ".join(f"{n} × {what}" for what, n in told.most_common()) or 0
            print(f"| {kind} | {who} | {len(faults)} | {span('detected')} | {span('replaced')} | {span('healed')} |"
                  f" {len(came)} | {failed} |")

    def end(self):
        if self.load:
            self.load.over.set()
            with open(self.cluster.folder / "failed", "w", encoding="utf-8") as file:
                for each in self.load.came:
                    if each.what is not True:
                        print(each, self.cluster.ran.get(each.id), self.explained(each), file=file)
        self.cluster.end()


def is_ended(peer):
    """Whether the other side has closed it."""
    peer.setblocking(False)
    try:
        while peer.recv(4096):
            pass
        return True
    except (ssl.SSLWantReadError, BlockingIOError):
        return False
    except OSError:
        return True


# What it is called in the table, and of which nodes the one with the most replicas is disturbed.
KINDS = {
    "kill": ("kill -9", ["n2 n3"]),
    "stop": ("SIGSTOP 10 s", ["n2 n3"]),
    "handshake": ("no handshake", ["n1", "n2", "n3"]),
    "unread": ("loops stand still 6 s", ["n2 n3", "n1"]),
    "delay": ("sends 200 ms late", ["n2", "n1", "n3"]),
    "loss": ("loses 3 of 100, both ways", ["n2", "n1", "n3"]),
    "one_way": ("hears the other worker not", ["n2 n3"]),
    "led": ("hears the controller not", ["n2 n3"]),
    "deaf": ("hears nobody", ["n2 n3"]),
    "silenced": ("is not heard", ["n2 n3"]),
    "roll": ("restart", ["n1", "n2", "n3"]),
    "emptied": ("starts emptied", ["n1"]),
    "reloaded": ("a new certificate", ["n2", "n1", "n3"]),
    "expired": ("an expired certificate", ["n2", "n3"]),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("handlers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rate", type=int, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--java", default="-XX:TieredStopAtLevel=1")
    parser.add_argument("--only")
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.berth = os.path.abspath(options.berth)
    options.only = options.only.split(",") if options.only else list(KINDS)
    if set(options.only) - set(KINDS):
        parser.error(f"--only (expected: some of {', '.join(KINDS)})")
    if options.namespaces and not Namespaces.delays():
        print("this kernel delays nothing: --no-namespaces --only=delay does", flush=True)
        options.only = [each for each in options.only if each != "delay"]
        if not options.only:
            sys.exit(0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the nodes end too
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-cluster-"))
    begin = time.monotonic()
    trial = Trial(options, folder)
    try:
        trial.run()
    finally:
        trial.end()
        trial.show()
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{'all held' if not wrong else 'did not hold: ' + '; '.join(wrong)}; {time.monotonic() - begin:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
