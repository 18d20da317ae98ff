#!/usr/bin/env python3
"""Runs the trial that cluster.sh describes. Standard library only.

    src/it/cluster.py BERTH_JAR HANDLERS_JAR [--quick] [--rate=N] [--only=NAME,...]
        [--messages=event_bus] [--keep]

Starts three nodes, each in a network namespace where that is permitted, else all on the loopback with
relays between them. Calls them by `berth` and by HTTP, disturbs and ends them. The exit code is 1 when
a claim does not hold.
"""

import argparse
import collections
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time

from cluster_faults import KINDS, Fault, hold, wrong
from cluster_load import MARGIN_S, TIMEOUT_S, Load
from cluster_net import Namespaces, Relays
from cluster_nodes import REPLICAS, SLOTS, Cluster, until

TIMES = 10
WARMING_S = 6


class Trial:
    def __init__(self, options, folder):
        self.options = options
        self.cluster = Cluster(options, folder, Namespaces() if options.namespaces else Relays())
        self.control = self.cluster.nodes[0]
        self.load = None
        self.faults = []
        self.stops = []  # (node, from, to) of stopped nodes
        self.ledgers = []  # ledgers that exceeded their bound or failed their audit
        self.looks = 0

    def others(self, node):
        return [each.name for each in self.cluster.nodes if each is not node]

    def one(self, kind, node):
        fault = Fault(self, KINDS[kind][0], node)
        self.faults.append(fault)
        KINDS[kind][2](self, fault)
        time.sleep(1)  # lets requests in flight complete
        suspected = [each for each in self.cluster.suspicions(fault.marks) if each[:2] not in fault.pairs]
        hold(f"{fault.name}: no node is suspected without a cause", not suspected,
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
            print(f"  not caused by the fault: {[(each, ran.get(each.id)) for each in other[:3]]}", flush=True)

    def explained(self, came):
        ran, where = self.cluster.ran, self.cluster.where
        return any(fault.hit(came, ran, where) for fault in self.faults)

    def most_loaded(self, names):
        """Returns the node with the most replicas, so that its fault has an effect."""
        count = collections.Counter(self.cluster.replicas().values())
        return max((each for each in self.cluster.nodes if each.name in names), key=lambda each: count[each.name])

    def watch(self):
        """Checks the ledgers every second until the load ends."""
        while not self.load.over.wait(1):
            for node in self.cluster.nodes:
                try:
                    for each in self.cluster.ledger(node):
                        self.looks += 1
                        taken = each["running"] + each["reserved"]
                        if taken > each["max_ongoing_requests"] or each["audit"] == "mismatch":
                            self.ledgers.append((node.name, each))
                except (OSError, ValueError):
                    pass  # a disturbed node

    def cpu_s(self):
        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in spent) + sum(
            each.cpu_s() for each in self.cluster.nodes if each.process.poll() is None)

    def run(self):
        spread = self.cluster.start()
        hold("replicas are spread over the nodes", sorted(spread.values()) == [2, 2, 2], str(dict(spread)))
        self.load = Load(self.cluster.nodes, self.options.rate)
        time.sleep(WARMING_S)  # responses of cold processes are not judged
        threading.Thread(target=self.watch, daemon=True).start()
        for node in self.cluster.nodes:
            self.load.burst(node, 2 * REPLICAS * SLOTS // 3)  # all slots, and half of that number waiting
        time.sleep(2)
        cpu, begin = self.cpu_s(), time.monotonic()
        time.sleep(5)
        calm = [each for each in self.load.between(begin, time.monotonic()) if each.what is not True and each.left > begin]
        hold("no request fails without a fault", not calm, str(calm[:3] or ""))
        print(f"{self.options.rate} requests per second take {(self.cpu_s() - cpu) / (time.monotonic() - begin):.2f}"
              " cores, client and nodes together", flush=True)
        cpu, begin = self.cpu_s(), time.monotonic()
        for kind, names in self.order():
            self.one(kind, self.most_loaded(names))
        print(f"with all faults: {(self.cpu_s() - cpu) / (time.monotonic() - begin):.2f} cores")
        time.sleep(2)
        self.load.stop()
        self.check()

    def order(self):
        """Returns (kind of fault, names of candidate nodes) in the order of the run."""
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
        """Returns whether the request's node was stopped during the request."""
        return any(name == came.node and begin < came.came and came.left < end
                   for name, begin, end in self.stops)

    def check(self):
        load, cluster = self.load, self.cluster
        ran = cluster.executions()
        failed = [each for each in load.came if each.what is not True and each.left > load.begun + WARMING_S]
        other = [each for each in failed if not self.explained(each)]
        hold("only requests through a faulty node fail", not other,
             str([(each, ran.get(each.id)) for each in other[:5]] or ""))
        slow = [each for each in load.came
                if each.came - each.left > TIMEOUT_S + MARGIN_S and not self.stood_still(each)]
        hold("every request to a running node completes by its deadline", not slow, str(slow[:3] or ""))
        twice = [id for id, each in ran.items() if len(each) > 1]
        hold("no request is executed twice", not twice, str(twice[:5] or ""))
        lost = [each for each in load.came if each.what is True and each.id not in ran
                and each.kind in ("plain", "64 KiB", "1 MiB", "stream", "use")]
        hold("no request completes without an execution", not lost, str(lost[:3] or ""))
        ended = [(id, how) for id, how in load.reserved.items()
                 if (first := len(ran.get(id, ()))) + (after := len(ran.get(id + "a", ()))) > 1
                 or how == "used" and (first, after) != (1, 0) or how in ("released", "expired") and first + after]
        hold("a reservation ends in one way: used, released or expired", not ended, str(ended[:5] or ""))
        hold(f"no replica executes more than {SLOTS} requests", cluster.most <= SLOTS, f"maximum {cluster.most}")
        hold("no ledger exceeds its bound or fails its audit", not self.ledgers, str(self.ledgers[:3] or ""))
        rest = until(lambda: not cluster.busy(), 15)
        hold("at rest each ledger is zero", rest is not None, "" if rest is not None else str(cluster.busy()[:3]))
        count = collections.Counter(each.kind for each in load.came)
        how = collections.Counter(str(each) for each in load.reserved.values())
        print(f"{len(load.came)} requests: {dict(count)}, {len(failed)} failed; reservations: {dict(how)};"
              f" {len(ran)} executions, {self.looks} ledgers checked; {load.again} requests resent after their"
              f" idle connections closed; maximum lag {load.late_s:.2f} s")

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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("handlers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rate", type=int, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--java", default="-XX:TieredStopAtLevel=1")
    parser.add_argument("--messages", choices=("direct", "event_bus"), default="direct")
    parser.add_argument("--only")
    parser.add_argument("--namespaces", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.berth = os.path.abspath(options.berth)
    options.only = options.only.split(",") if options.only else list(KINDS)
    if set(options.only) - set(KINDS):
        parser.error(f"--only: unknown kind (expected: some of {', '.join(KINDS)})")
    if options.namespaces and not Namespaces.delays():
        print("kernel without netem: delay is skipped; --no-namespaces --only=delay runs it", flush=True)
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
