"""The faults of nodes in a trial, and the claims that must hold during each fault."""

import collections
import http.client
import json
import re
import shutil
import signal
import socket
import ssl
import threading
import time

from cluster_load import MINE, RESERVE, TIMEOUT_S
from cluster_nodes import REPLICAS, SLOTS, until

STOPPED_S = 10
BLOCKED_S = 6
CUT_S = 8
SETTLE_S = 0.5  # a loop finds its broken links when it runs again, and dials 200 ms later
MIB = 1 << 20
LARGE = 1_300_000  # bytes of a head: above the maximum of a message
http.client._MAXLINE = 2 * LARGE  # of a header, if such a head passes
LONG_TTL_S = 250  # of a released reservation: far longer than the trial

wrong = []


def hold(what, so, told=""):
    """Prints whether a claim holds, and records it if not."""
    if not so:
        wrong.append(what)
    print(f"  {'held' if so else 'NOT HELD'}: {what}{': ' if told else ''}{told}", flush=True)


class Fault:
    """One disturbance of a node, with its begin and end and its times to detection, replacement, healing."""

    def __init__(self, trial, kind, node):
        self.trial, self.kind, self.node, self.name = trial, kind, node, f"{kind} {node.name}"
        self.watcher = next(i for i, each in enumerate(trial.cluster.nodes) if each is not node)
        self.fails = True  # requests through the node may fail
        self.others = trial.others(node)
        self.pairs = {(each, node.name) for each in self.others}  # permitted (suspecting, suspected)
        self.detected = self.replaced = self.healed = self.end = None
        self.marks = trial.cluster.marks()
        self.begin = time.monotonic()

    def cuts(self, peers):
        """Permits suspicion in both directions between the node and these peers."""
        self.pairs = {pair for peer in peers for pair in ((peer, self.node.name), (self.node.name, peer))}

    def see(self):
        """Waits until another node detects the fault, and until the node's replicas run elsewhere."""
        trial, name = self.trial, self.node.name
        watcher = trial.cluster.nodes[self.watcher]
        if self.node is trial.control:  # without it no replica is replaced
            self.detected = until(lambda: any("ControlClient - controller unreachable" in line for line
                                              in watcher.lines()[self.marks[watcher.name]:]), 30)
        else:
            self.detected = until(lambda: watcher.members().get(name) != "ALIVE", 30)
        hold(f"{self.name}: detected", self.detected is not None)
        if self.node is trial.control:
            return
        left = until(lambda: len(trial.cluster.replicas(self.watcher)) == REPLICAS
                     and name not in trial.cluster.replicas(self.watcher).values(), 30)
        self.replaced = None if left is None else time.monotonic() - self.begin
        hold(f"{self.name}: its replicas are replaced", left is not None)

    def last(self, seconds):
        """Waits until the fault has lasted this time."""
        time.sleep(max(0.0, self.begin + seconds - time.monotonic()))

    def heals(self):
        """Waits until the cluster is healthy, and ends the fault."""
        self.healed = until(lambda: self.trial.cluster.healthy(self.watcher), 60)
        time.sleep(SETTLE_S)
        self.end = time.monotonic()
        hold(f"{self.name}: healed", self.healed is not None)

    def hit(self, came, ran, where):
        """Returns whether a request was in flight through the node during the fault."""
        through = came.held | {node for node, _ in ran.get(came.id, ())}
        through |= {node for replica, node in where.items() if replica in came.said}
        return (self.fails and came.left <= (self.end or time.monotonic()) and came.came >= self.begin
                and self.node.name in through)


def kill(trial, fault):
    fault.node.end(signal.SIGKILL)
    fault.see()
    if fault.node is trial.control:
        time.sleep(2)  # requests continue without a controller
    fault.node.start()
    fault.heals()


def stop(trial, fault):
    """Stops the node with at least 1 MiB unread in its sockets."""
    for node in trial.cluster.nodes:
        trial.load.burst(node, 4, "1 MiB")
    fault.node.send(signal.SIGSTOP)
    try:
        trial.load.burst(fault.node, 2, "1 MiB")
        fault.see()
        fault.last(STOPPED_S)
        unread = trial.cluster.waiting(fault.node)
    finally:
        fault.node.send(signal.SIGCONT)
        trial.stops.append((fault.node.name, fault.begin, time.monotonic()))
    hold(f"{fault.name}: at least 1 MiB unread in its sockets", unread >= MIB, f"{unread / MIB:.1f} MiB")
    fault.heals()


def handshake(trial, fault):
    """Connects peers that send nothing, some of them after the TLS handshake."""
    fault.fails, fault.pairs = False, set()
    made = []
    for name, port in fault.node.ports.items():
        for tls in (False, False, True):
            try:
                peer = socket.create_connection((fault.node.host, port), 2)
                if tls:
                    peer = trial.cluster.tls(trial.cluster.nodes[2]).wrap_socket(peer)
                made.append((name, peer))
            except OSError:
                pass  # a worker has no ports for consensus and control
    links = [peer for name, peer in made if name in ("control", "data")]
    hold(f"{fault.name}: peers connected", len(links) >= 3, str(len(made)))
    hold(f"{fault.name}: the node closes peers on link ports", until(lambda: all(map(is_ended, links)), 10) is not None)
    for _, peer in made:
        peer.close()
    fault.heals()


def unread(trial, fault):
    """Blocks the event loops, so that they read no data link, while the node still sends heartbeats."""
    until_ms = int(1000 * (time.time() + BLOCKED_S))
    for _ in range(8):
        threading.Thread(target=block, args=(fault.node, until_ms), daemon=True).start()
    for node in trial.cluster.nodes:
        trial.load.burst(node, 2, "1 MiB")
    fault.last(BLOCKED_S)
    hold(f"{fault.name}: an event loop was blocked", "blocked for" in fault.node.said())
    trial.stops.append((fault.node.name, fault.begin, time.monotonic()))
    fault.heals()
    hold(f"{fault.name}: the node is not declared lost", not lost(trial, fault))


def block(node, until_ms):
    try:
        with socket.create_connection((node.client_host, node.http), 2 * BLOCKED_S) as peer:
            peer.sendall(f"GET /records?block={until_ms}&pid={node.process.pid} HTTP/1.1\r\nHost: it\r\n"
                         f"X-Id: block-{time.monotonic_ns()}\r\nConnection: close\r\n\r\n".encode())
            while peer.recv(4096):
                pass
    except OSError:
        pass  # the connection ends with its loop


def lost(trial, fault):
    return [line for line in trial.control.lines()[fault.marks["n1"]:]
            if f"ControlServer - node {fault.node.name}~" in line and ": lost" in line]


def delay(trial, fault):
    """Delays all traffic from the node by 200 ms."""
    fault.fails, fault.pairs = False, set()
    trial.cluster.net.delay(fault.node.name, 0.2)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def loss(trial, fault):
    """Drops 3 of 100 packets to the node and from the node."""
    fault.pairs = set()
    trial.cluster.net.drop(fault.node.name, fault.others, 3)
    for each in fault.others:
        trial.cluster.net.drop(each, [fault.node.name], 3)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def deaf(trial, fault):
    """Drops all traffic to the node; the others still receive its traffic."""
    fault.cuts(fault.others)
    trial.cluster.net.drop(fault.node.name, fault.others)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def one_way(trial, fault):
    """Drops the traffic from the other worker to the node."""
    other = [each for each in fault.others if each != "n1"]
    fault.cuts(other)
    trial.cluster.net.drop(fault.node.name, other)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()
    hold(f"{fault.name}: the node is not declared lost", not lost(trial, fault))


def led(trial, fault):
    """Drops the traffic from the controller to the node."""
    fault.cuts(["n1"])
    trial.cluster.net.drop(fault.node.name, ["n1"])
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()
    if lost(trial, fault):  # the other worker then no longer pings it over the event bus
        fault.cuts(fault.others)


def silenced(trial, fault):
    """Drops all traffic from the node: it is declared lost while it runs, and registers again."""
    fault.cuts(fault.others)  # it receives no replies either
    for each in fault.others:
        trial.cluster.net.drop(each, [fault.node.name])
    fault.see()
    trial.cluster.net.heal()
    fault.heals()


def roll(trial, fault):
    fault.fails = False
    trial.load.planned = True
    fault.node.end(signal.SIGTERM)
    fault.node.start()
    fault.heals()
    trial.load.planned = False


def emptied(trial, fault):
    """Starts the control node with empty state: it commands no node until its state returns."""
    node, made = fault.node, trial.cluster.made
    state, kept = made / "n1-state", made / "n1-kept"
    before = trial.cluster.running("n2", "n3")
    node.end(signal.SIGKILL)
    state.rename(kept)
    node.start()
    told = until(lambda: re.search(r"ControlServer - node n[23]: refused: cluster", node.said()), 30)
    hold(f"{fault.name}: it logs that nodes belong to another cluster", told is not None)
    time.sleep(2)  # requests continue
    gone = before - trial.cluster.running("n2", "n3")
    hold(f"{fault.name}: replicas on other nodes still run", not gone, str(gone or ""))
    node.end(signal.SIGKILL)
    shutil.rmtree(state)
    kept.rename(state)
    node.start()
    fault.heals()
    gone = before - trial.cluster.running("n2", "n3")
    hold(f"{fault.name}: they still run after its state returned", not gone, str(gone or ""))


def reloaded(trial, fault):
    """Replaces the certificate of the running node."""
    fault.fails, fault.pairs = False, set()
    text = trial.cluster.certify(fault.node, 30)
    seen = until(lambda: shown(trial, fault.node) == ssl.PEM_cert_to_DER_cert(text), 20)
    hold(f"{fault.name}: links present the new certificate", seen is not None)
    fault.heals()


def shown(trial, node):
    with socket.create_connection((node.host, node.ports["data"]), 2) as peer:
        with trial.cluster.tls(node).wrap_socket(peer) as links:
            return links.getpeercert(binary_form=True)


def expired(trial, fault):
    """Starts the node with an expired certificate, which it must refuse."""
    fault.fails = False
    file = trial.cluster.made / f"{fault.node.name}.pem"
    valid = file.read_text(encoding="utf-8")
    trial.load.planned = True
    fault.node.end(signal.SIGTERM)
    trial.cluster.certify(fault.node, -1)
    fault.node.start()
    ended = until(lambda: fault.node.process.poll() is not None, 30)
    hold(f"{fault.name}: the node does not start", ended is not None and "NotAfter: " in fault.node.said(),
         "" if ended else fault.node.said()[-300:])
    file.write_text(valid, encoding="utf-8")
    fault.node.start()
    fault.heals()
    trial.load.planned = False


def ask(node, method, path, body=None, headers=None):
    """Sends one request beside the load; returns status, body and seconds."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection(node.client_host, node.http, timeout=2 * TIMEOUT_S)
    try:
        connection.request(method, path, body, {"X-Id": f"asked-{time.monotonic_ns()}", **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read(), time.monotonic() - begin
    finally:
        connection.close()


def unfit(trial, fault):
    """Sends calls and responses with heads of 1.3 MB: they fail at once and alike on every node, and no
    other request fails. An earlier version retried each until its deadline, at the head of its queue,
    and so blocked its replica."""
    fault.fails, fault.pairs = False, set()
    came, threads = [], []
    for kind in ("child", "head"):
        for node in trial.cluster.nodes * 4 + [fault.node] * 16:  # more than its slots
            def go(node=node, kind=kind):
                try:
                    status, _, took = ask(node, "GET", f"/records?{kind}={LARGE}")
                except OSError as failed:
                    status, took = type(failed).__name__, 2 * TIMEOUT_S
                came.append((kind, status, took))
            threads.append(threading.Thread(target=go, daemon=True))
    for each in threads:
        each.start()
    for each in threads:
        each.join(3 * TIMEOUT_S)
    told = collections.Counter(f"{kind}: {status}" for kind, status, _ in came)
    slowest = max((took for _, _, took in came), default=0)
    hold(f"{fault.name}: each request fails at once", len(came) == len(threads) and slowest < TIMEOUT_S / 2
         and {status for _, status, _ in came} == {500}, f"{dict(told)}, slowest {slowest:.2f} s")
    fault.heals()


def released(trial, fault):
    """Releases slots of the node by the other worker while the node receives nothing from it. The slots
    must become free soon after, not after their 250 s; the final check at rest proves it."""
    asker = next(each for each in trial.cluster.nodes if each.name in fault.others and each.name != "n1")
    fault.cuts([asker.name])
    asked = json.dumps({"ttl_s": LONG_TTL_S, "wait_timeout_s": 5}).encode()

    def release(tokens):
        return collections.Counter(ask(asker, "DELETE", f"{RESERVE}/{token}", headers=MINE)[0]
                                   for token in tokens)
    held, elsewhere = [], []
    for _ in range(REPLICAS * SLOTS):  # a node acquires its own slots first
        status, got, _ = ask(asker, "POST", RESERVE, asked, MINE)
        if status == 201:
            made = json.loads(got)
            (held if made["node_id"].split("~")[0] == fault.node.name else elsewhere).append(made["token"])
        if len(held) >= 3:
            break
    told = release(elsewhere)  # the load needs them
    hold(f"{fault.name}: slots of the node are reserved", len(held) >= 3, str(len(held)))
    trial.cluster.net.drop(fault.node.name, [asker.name])
    told += release(held)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()
    hold(f"{fault.name}: each release is accepted", set(told) <= {200, 204}, str(dict(told)))


def is_ended(peer):
    """Returns whether the other side closed the connection."""
    peer.setblocking(False)
    try:
        while peer.recv(4096):
            pass
        return True
    except (ssl.SSLWantReadError, BlockingIOError):
        return False
    except OSError:
        return True


# By kind: name in the table, candidate nodes (the one with the most replicas is disturbed), function.
KINDS = {
    "kill": ("kill -9", ["n2 n3"], kill),
    "stop": ("SIGSTOP 10 s", ["n2 n3"], stop),
    "handshake": ("no handshake", ["n1", "n2", "n3"], handshake),
    "unread": ("event loops blocked 6 s", ["n2 n3", "n1"], unread),
    "delay": ("sends delayed by 200 ms", ["n2", "n1", "n3"], delay),
    "loss": ("packet loss 3 of 100, both directions", ["n2", "n1", "n3"], loss),
    "one_way": ("receives nothing from the other worker", ["n2 n3"], one_way),
    "led": ("receives nothing from the controller", ["n2 n3"], led),
    "deaf": ("receives nothing", ["n2 n3"], deaf),
    "silenced": ("sends nothing", ["n2 n3"], silenced),
    "unfit": ("heads of 1.3 MB", ["n2", "n1", "n3"], unfit),
    "released": ("slots released while unreachable", ["n2 n3"], released),
    "roll": ("restart", ["n1", "n2", "n3"], roll),
    "emptied": ("start with empty state", ["n1"], emptied),
    "reloaded": ("new certificate", ["n2", "n1", "n3"], reloaded),
    "expired": ("expired certificate", ["n2", "n3"], expired),
}
