"""What is done to a node of a trial, and what must be so while it is done."""

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
LARGE = 1_300_000  # bytes of a head: over what a message carries
http.client._MAXLINE = 2 * LARGE  # of a header, where that is let through
LONG_TTL_S = 250  # of a reservation that is released: far beyond the trial

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
        time.sleep(SETTLE_S)
        self.end = time.monotonic()
        hold(f"{self.name}: healed", self.healed is not None)

    def hit(self, came, ran, where):
        """Whether a request was under way while this lasted, and through its node."""
        through = came.held | {node for node, _ in ran.get(came.id, ())}
        through |= {node for replica, node in where.items() if replica in came.said}
        return (self.fails and came.left <= (self.end or time.monotonic()) and came.came >= self.begin
                and self.node.name in through)


def kill(trial, fault):
    fault.node.end(signal.SIGKILL)
    fault.see()
    if fault.node is trial.control:
        time.sleep(2)  # requests flow on without a controller
    fault.node.start()
    fault.heals()


def stop(trial, fault):
    """With 1 MiB and more in its sockets."""
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
    hold(f"{fault.name}: 1 MiB was in its sockets", unread >= MIB, f"{unread / MIB:.1f} MiB")
    fault.heals()


def handshake(trial, fault):
    """Peers that connect and say nothing; that do so once TLS is there."""
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
                pass  # a worker has no port for consensus, and control nodes alone one for control
    links = [peer for name, peer in made if name in ("control", "data")]
    hold(f"{fault.name}: peers came", len(links) >= 3, str(len(made)))
    hold(f"{fault.name}: those on links are ended", until(lambda: all(map(is_ended, links)), 10) is not None)
    for _, peer in made:
        peer.close()
    fault.heals()


def unread(trial, fault):
    """Its event loops stand still, so that they read no data link; it says that it lives."""
    until_ms = int(1000 * (time.time() + BLOCKED_S))
    for _ in range(8):
        threading.Thread(target=block, args=(fault.node, until_ms), daemon=True).start()
    for node in trial.cluster.nodes:
        trial.load.burst(node, 2, "1 MiB")
    fault.last(BLOCKED_S)
    hold(f"{fault.name}: a loop did not read", "blocked for" in fault.node.said())
    trial.stops.append((fault.node.name, fault.begin, time.monotonic()))
    fault.heals()
    hold(f"{fault.name}: it is not lost", not lost(trial, fault))


def block(node, until_ms):
    try:
        with socket.create_connection((node.client_host, node.http), 2 * BLOCKED_S) as peer:
            peer.sendall(f"GET /records?block={until_ms}&pid={node.process.pid} HTTP/1.1\r\nHost: it\r\n"
                         f"X-Id: block-{time.monotonic_ns()}\r\nConnection: close\r\n\r\n".encode())
            while peer.recv(4096):
                pass
    except OSError:
        pass  # it is lost with its loop


def lost(trial, fault):
    return [line for line in trial.control.lines()[fault.marks["n1"]:]
            if f"ControlServer - node {fault.node.name}~" in line and ": lost" in line]


def delay(trial, fault):
    """What it sends takes 200 ms."""
    fault.fails, fault.pairs = False, set()
    trial.cluster.net.delay(fault.node.name, 0.2)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def loss(trial, fault):
    """3 of 100 packets are lost on the way to it, and as many from it."""
    fault.pairs = set()
    trial.cluster.net.drop(fault.node.name, fault.others, 3)
    for each in fault.others:
        trial.cluster.net.drop(each, [fault.node.name], 3)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def deaf(trial, fault):
    """It hears neither of the others, which hear it."""
    fault.cuts(fault.others)
    trial.cluster.net.drop(fault.node.name, fault.others)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def one_way(trial, fault):
    """It does not hear the other worker."""
    other = [each for each in fault.others if each != "n1"]
    fault.cuts(other)
    trial.cluster.net.drop(fault.node.name, other)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()
    hold(f"{fault.name}: it is not lost", not lost(trial, fault))


def led(trial, fault):
    """It does not hear the controller."""
    fault.cuts(["n1"])
    trial.cluster.net.drop(fault.node.name, ["n1"])
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()


def silenced(trial, fault):
    """Nobody hears it: it is lost, though it runs, and comes back as another."""
    fault.cuts(fault.others)  # it gets no answers either
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
    """The control node starts with nothing: it commands nobody, until it has its state again."""
    node, made = fault.node, trial.cluster.made
    state, kept = made / "n1-state", made / "n1-kept"
    before = trial.cluster.running("n2", "n3")
    node.end(signal.SIGKILL)
    state.rename(kept)
    node.start()
    told = until(lambda: re.search(r"ControlServer - node n[23]: refused: cluster", node.said()), 30)
    hold(f"{fault.name}: it says that nodes know another cluster", told is not None)
    time.sleep(2)  # requests flow on
    gone = before - trial.cluster.running("n2", "n3")
    hold(f"{fault.name}: what ran elsewhere still runs", not gone, str(gone or ""))
    node.end(signal.SIGKILL)
    shutil.rmtree(state)
    kept.rename(state)
    node.start()
    fault.heals()
    gone = before - trial.cluster.running("n2", "n3")
    hold(f"{fault.name}: and does so when it has it again", not gone, str(gone or ""))


def reloaded(trial, fault):
    """A new certificate is taken while it runs."""
    fault.fails, fault.pairs = False, set()
    text = trial.cluster.certify(fault.node, 30)
    seen = until(lambda: shown(trial, fault.node) == ssl.PEM_cert_to_DER_cert(text), 20)
    hold(f"{fault.name}: links show it", seen is not None)
    fault.heals()


def shown(trial, node):
    with socket.create_connection((node.host, node.ports["data"]), 2) as peer:
        with trial.cluster.tls(node).wrap_socket(peer) as links:
            return links.getpeercert(binary_form=True)


def expired(trial, fault):
    """None starts with one that is over."""
    fault.fails = False
    file = trial.cluster.made / f"{fault.node.name}.pem"
    valid = file.read_text(encoding="utf-8")
    trial.load.planned = True
    fault.node.end(signal.SIGTERM)
    trial.cluster.certify(fault.node, -1)
    fault.node.start()
    ended = until(lambda: fault.node.process.poll() is not None, 30)
    hold(f"{fault.name}: it does not start", ended is not None and "NotAfter: " in fault.node.said(),
         "" if ended else fault.node.said()[-300:])
    file.write_text(valid, encoding="utf-8")
    fault.node.start()
    fault.heals()
    trial.load.planned = False


def ask(node, method, path, body=None, headers=None):
    """Status, answer and seconds of one request that is not of the load."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection(node.client_host, node.http, timeout=2 * TIMEOUT_S)
    try:
        connection.request(method, path, body, {"X-Id": f"asked-{time.monotonic_ns()}", **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read(), time.monotonic() - begin
    finally:
        connection.close()


def unfit(trial, fault):
    """Calls within calls and responses with heads of 1.3 MB: they fail at once and alike on every node,
    and nothing beside them does. Before, each was tried for as long as it might take, at the head of
    its queue, and silenced its replica."""
    fault.fails, fault.pairs = False, set()
    came, threads = [], []
    for kind in ("child", "head"):
        for node in trial.cluster.nodes * 4 + [fault.node] * 16:  # more than it has slots for
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
    hold(f"{fault.name}: each fails at once", len(came) == len(threads) and slowest < TIMEOUT_S / 2
         and {status for _, status, _ in came} == {500}, f"{dict(told)}, the slowest in {slowest:.2f} s")
    fault.heals()


def released(trial, fault):
    """The other worker releases slots of this one while this one does not hear it: they are free soon
    after, not when their 250 s are over. That is judged when all is at rest."""
    asker = next(each for each in trial.cluster.nodes if each.name in fault.others and each.name != "n1")
    fault.cuts([asker.name])
    asked = json.dumps({"ttl_s": LONG_TTL_S, "wait_timeout_s": 5}).encode()

    def release(tokens):
        return collections.Counter(ask(asker, "DELETE", f"{RESERVE}/{token}", headers=MINE)[0]
                                   for token in tokens)
    held, elsewhere = [], []
    for _ in range(REPLICAS * SLOTS):  # a node takes its own first
        status, got, _ = ask(asker, "POST", RESERVE, asked, MINE)
        if status == 201:
            made = json.loads(got)
            (held if made["node_id"].split("~")[0] == fault.node.name else elsewhere).append(made["token"])
        if len(held) >= 3:
            break
    told = release(elsewhere)  # the load needs them
    hold(f"{fault.name}: slots of it are held", len(held) >= 3, str(len(held)))
    trial.cluster.net.drop(fault.node.name, [asker.name])
    told += release(held)
    fault.last(CUT_S)
    trial.cluster.net.heal()
    fault.heals()
    hold(f"{fault.name}: each release is accepted", set(told) <= {200, 204}, str(dict(told)))


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


# What it is called in the table, of which nodes the one with the most replicas is disturbed, and how.
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
