"""The load of a trial: an open loop of several kinds of requests over all nodes, with their results.

Request i is sent at i / rate, independently of previous results. Of 20 in turn 11 are plain, 4 send and
receive 64 KiB, 1 sends and receives 1 MiB, 3 are streams. The last reserves a slot over HTTP at one node
and then uses it, releases it or lets it expire at others. Each has an id, which the handler records.
"""

import collections
import http.client
import json
import os
import select
import threading
import time

WORKERS = 800  # maximum of concurrent requests; further ones are late, which is counted
TIMEOUT_S = 8  # of a request, in the configuration
MARGIN_S = 3  # tolerance beyond TIMEOUT_S for a loaded machine
TRIES = 10
EVENTS = 10
TOKEN = "a-secret-of-the-trial"
TTL_S = 2  # of a used or released reservation; half of it for an expiring one
WAIT_S = 6  # for a reservation: longer than routers try an unresponsive node
RESERVE = "/-/api/v1/applications/records/deployments/records/reservations"
MINE = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
BODIES = {"64 KiB": os.urandom(64 * 1024), "1 MiB": os.urandom(1024 * 1024)}
KINDS = ("plain",) * 11 + ("64 KiB",) * 4 + ("1 MiB",) + ("stream",) * 3 + ("reservation",)

# One request. `held`: names of its nodes, as far as its client knows; `what`: True for the expected
# result, else the result; `said`: the replica's name and, on failure, the start of the response.
Came = collections.namedtuple("Came", "id kind node left came what held said")


class Load:
    """The open loop. After a refused connect the client tries another node. During a planned restart it
    also resends a request whose idle connection closed (RFC 9112, 9.3.1); the records prove that the
    request did not run. Any other outcome is a response or a failure.
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
        self.came = []
        self.idle = {node.name: [] for node in nodes}  # connections, most recently used last
        self.reserved = {}  # end of each reservation as its client saw it, by id
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(WORKERS)]
        for each in self.threads:
            each.start()

    def work(self):
        client = Client(self)
        while not self.over.is_set():
            with self.lock:
                number = self.next
                self.next += 1
                due = self.begun + number / self.rate
            if self.over.wait(max(0.0, due - time.monotonic())):
                break
            self.late_s = max(self.late_s, time.monotonic() - due)
            kind = KINDS[number % len(KINDS)]
            if kind == "reservation":
                client.reservation(number)
            else:
                client.one(str(number), kind, number)

    def burst(self, node, number, kind="plain"):
        """Sends requests beside the loop, all at once, to one node."""
        def go(i):
            Client(self).one(f"burst-{time.monotonic_ns()}-{i}", kind, self.nodes.index(node))
        for i in range(number):
            threading.Thread(target=go, args=(i,), daemon=True).start()

    def between(self, begin, end):
        """Returns the requests that were in flight during the interval."""
        with self.lock:
            return [each for each in self.came if each.came >= begin and each.left <= end]

    def stop(self):
        self.over.set()
        for each in self.threads:
            each.join(TIMEOUT_S + MARGIN_S + 5)


class Client:
    """One worker of the load; all workers share the idle connections."""

    def __init__(self, load):
        self.load = load

    def one(self, number, kind, first):
        body = BODIES.get(kind)
        path = f"?events={EVENTS}&ms=5" if kind == "stream" else "?ms=5" if body else "?ms=20"

        def well(status, got):
            return status == 200 and (got == body if body else
                                      kind != "stream" or got.count(b"data:") == EVENTS)
        return self.send(number, kind, first, "POST" if body else "GET", f"/records{path}", well, body)

    def reservation(self, number):
        """Reserves at one node, ends the reservation at the next, and tries it again at the third."""
        first, how = number, ("use", "release", "expire")[number // 60 % 3]
        name, ttl = str(number), TTL_S / 2 if how == "expire" else TTL_S
        asked = json.dumps({"ttl_s": ttl, "wait_timeout_s": WAIT_S}).encode()
        for attempt in range(len(self.load.nodes)):
            came, got = self.send(name + "r", "reserve", first + attempt, "POST", RESERVE,
                                  lambda status, got: status == 201 or self.leaves(got), asked, MINE)
            if not self.leaves(got):
                break
        if came.what is not True or self.leaves(got):
            return
        made = json.loads(got)
        token = made["token"]
        held = {came.node, made["node_id"].split("~")[0]}
        under = {"X-Berth-Reservation": token}
        ended = None
        if how == "use":
            came, _ = self.send(name, "use", first + 1, "GET", "/records?ms=20", lambda s, _: s == 200,
                                headers=under, held=held)
            ended = "used" if came.what is True else None
            wanted = 409
        elif how == "release":
            came, _ = self.send(name + "d", "release", first + 1, "DELETE", f"{RESERVE}/{token}",
                                lambda s, _: s in (200, 204), headers=MINE, held=held)
            ended = "released" if came.what is True else None
            wanted = 410
        else:
            time.sleep(1.5 * ttl)
            ended, wanted = "expired", 410
        with self.load.lock:
            self.load.reserved[name] = ended
        # In each case an ended token must not run a request.
        self.send(name + "a", "again" if ended else "again, unknown", first + 2, "GET", "/records?ms=20",
                  lambda s, _: s == wanted or not ended and s in (200, 409, 410),
                  headers=under, held=held | {came.node})

    def leaves(self, got):
        """Returns whether a restarting node refused a reservation; the client then uses other nodes."""
        return self.load.planned and b"This node is being drained." in got

    def send(self, number, kind, first, method, path, well, body=None, headers=None, held=()):
        nodes = self.load.nodes
        left = time.monotonic()
        node, what, said, got = "", "refused everywhere", "", b""
        for attempt in range(TRIES):
            asked = nodes[(first + attempt) % len(nodes)]
            try:
                connection, idle = self.connection(asked)
            except ConnectionRefusedError:
                if attempt % len(nodes) == len(nodes) - 1:
                    time.sleep(0.1)
                continue
            except OSError as failed:
                node, what = asked.name, type(failed).__name__
                break
            node = asked.name
            try:
                connection.request(method, path, body, {
                    "X-Id": number, "Accept": "application/json", "X-Berth-Explain": "1", **(headers or {})})
                answer = connection.getresponse()
                said = answer.headers.get("X-Berth-Replica", "")
                got = answer.read()
                what = True if well(answer.status, got) else answer.status
                if what is not True:
                    said += " " + got[:400].decode("utf-8", "replace")
                if answer.headers.get("Connection", "").lower() == "close":
                    connection.close()
                else:
                    self.load.idle[node].append(connection)
                break
            except (OSError, http.client.HTTPException) as failed:
                connection.close()
                if idle and self.load.planned:
                    with self.load.lock:
                        self.load.again += 1
                    continue
                what = f"{type(failed).__name__} on {'an idle' if idle else 'a new'} connection"
                break
        came = Came(number, kind, node, left, time.monotonic(), what, set(held) | {node}, said)
        with self.load.lock:
            self.load.came.append(came)
        return came, got

    def connection(self, node):
        """Returns a connection and whether it was idle before."""
        idle = self.load.idle[node.name]
        while idle:
            try:
                kept = idle.pop()
            except IndexError:
                break  # another worker was faster
            poll = select.poll()
            poll.register(kept.sock, select.POLLIN)
            if not poll.poll(0):
                return kept, True
            kept.close()  # the node closed it meanwhile
        fresh = http.client.HTTPConnection(node.client_host, node.http, timeout=TIMEOUT_S + MARGIN_S)
        fresh.connect()
        return fresh, False
