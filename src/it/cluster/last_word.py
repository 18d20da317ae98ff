#!/usr/bin/env python3
"""Sends the control node's replies to a worker through a relay that stops reading for four seconds, until
that link is full. Meanwhile calls fail, streams break off and clients leave. Then the relay reads again:
each call must end with its known failure, each stream must end, and no slot may stay occupied.

    last_word.py --jar JAR           half a minute; a minute if final messages are lost
"""

import collections
import http.client
import json
import os
import re
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cluster_pair import Pair, ask, main, until  # noqa: E402

APPLICATION = """
import dev.berth.api.*;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.Map;

public final class Slow {
  /** Each request continues at `at`, in milliseconds of the epoch. */
  public static Application build(Map<String, Object> args) {
    Buffer large = Buffer.buffer(new byte[50_000]);
    String why = "known ".repeat(100); // a longer frame than a small response
    AsyncHandler handler =
        (request, context) -> {
          String kind = String.valueOf(request.queryParameter("kind"));
          String at = request.queryParameter("at");
          long ms = at == null ? 0 : Math.max(0, Long.parseLong(at) - System.currentTimeMillis());
          Duration wait = Duration.ofMillis(ms);
          if (kind.equals("stream") || kind.equals("left")) {
            return Future.succeededFuture(
                Response.stream(
                    "text/plain",
                    to ->
                        to.write("begun")
                            .compose(begun -> context.after(wait))
                            .compose(
                                now -> Future.<Void>failedFuture(new RuntimeException(why)))));
          }
          return context
              .after(wait)
              .map(
                  now -> {
                    if (kind.equals("call")) {
                      throw new RuntimeException(why);
                    }
                    int length =
                        kind.equals("large") ? 50_000 : kind.equals("medium") ? 4_000 : 2;
                    return Response.of(200, "application/octet-stream", large.slice(0, length));
                  });
        };
    return Application.of(Deployment.of("slow", replica -> handler).withMaxOngoingRequests(1_000));
  }
}
"""

FILLING = (("large", 200, 0), ("medium", 80, 0.6), ("small", 300, 1.2))  # kind, number, delay in seconds
EACH = 20
LEAD_S = 8  # until all requests are in flight
FULL_S = 4
LIMIT_S = 25
WORKER, RELAY = "127.0.1.2", "127.0.2.2"
DEADLINE_S = 60  # of a call; long, so that a lost message is not mistaken for a passed deadline


def refused(node):
    """Returns the number of messages that links refused."""
    _, text, _ = ask(node.admin, "GET", "/metrics")
    return sum(float(each) for each in re.findall(r"^berth_link_sends_refused\S* (\S+)", text, re.M))


class Relay:
    """A relay of a node's data port at another address; it stops reading while `flows` is clear."""

    def __init__(self, listens, node):
        self.node, self.flows = node, threading.Event()
        self.flows.set()
        self.server = socket.socket()
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.server.bind(listens)
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                come, _ = self.server.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(self.node)
            except OSError:  # the node does not listen yet
                come.close()
                continue
            for each in ((come, there, self.flows), (there, come, None)):
                threading.Thread(target=self.pump, args=each, daemon=True).start()

    @staticmethod
    def pump(source, to, flows):
        try:
            while True:
                if flows:
                    flows.wait()
                data = source.recv(65536)
                to.sendall(data)
                if not data:
                    to.shutdown(socket.SHUT_WR)
                    return
        except OSError:
            pass
        finally:
            source.close()


class Client(threading.Thread):
    """One request to the worker, with its result and end time."""

    def __init__(self, worker, kind, at):
        super().__init__(daemon=True)
        self.worker, self.kind, self.at = worker, kind, at
        self.said, self.ended, self.begun = None, None, threading.Event()
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.worker.http, timeout=LEAD_S + FULL_S + LIMIT_S)
        try:
            connection.request("GET", f"/?kind={self.kind}&at={int(1000 * self.at)}")
            if self.kind not in ("stream", "left"):
                answer = connection.getresponse()
                text = answer.read().decode(errors="replace")
                self.said = "200" if answer.status == 200 else f"{answer.status} {text.strip()[:60]}"
                return
            answer = connection.getresponse()
            answer.read(len("begun"))
            self.begun.set()
            if self.kind == "left":
                time.sleep(max(0, self.at - time.time()))  # while the link is full
                connection.close()
                self.said = "left"
                return
            rest = answer.read()
            self.said = f"ended well with {rest!r}"
        except http.client.IncompleteRead:
            self.said = "broken off"
        except TimeoutError:
            self.said = "never ended"
        except OSError as failed:
            self.said = type(failed).__name__
        finally:
            self.ended = time.time()
            self.begun.set()
            connection.close()


def run(jar):
    wrong = []
    with Pair(jar, APPLICATION) as pair:
        settings = ("berth.cluster.max_inflight_bytes_per_peer=262144", "berth.cluster.detection.timeout_ms=20000",
                    f"http_options.request_timeout_s={DEADLINE_S}")
        pair.control.start(*settings).serves()
        pair.declare({"num_replicas": 1})
        until(lambda: len(pair.replicas()) == 1)
        data = pair.worker.ports["data"]
        relay = Relay((RELAY, data), (WORKER, data))
        pair.worker.start(*settings, f"berth.cluster.bind={WORKER}", f"berth.cluster.advertise={RELAY}").serves()
        until(lambda: ask(pair.worker.http, "GET", "/")[0] == 200)
        at = time.time() + LEAD_S
        clients = [Client(pair.worker, kind, at + later) for kind, number, later in (
            ("stream", EACH, 2), ("left", EACH, 2), ("call", EACH, 2), *FILLING) for _ in range(number)]
        for each in clients:
            if each.kind in ("stream", "left"):
                each.begun.wait(max(0, at - 0.4 - time.time()))
        time.sleep(max(0, at - 0.3 - time.time()))
        if not all(each.begun.is_set() for each in clients if each.kind in ("stream", "left")):
            said = collections.Counter(each.said for each in clients)
            return [f"all streams began in time ({dict(said)})"]
        relay.flows.clear()
        time.sleep(max(0, at + 1.9 - time.time()))
        before = refused(pair.control)
        time.sleep(max(0, at - 0.3 + FULL_S - time.time()))
        not_taken = refused(pair.control) - before
        relay.flows.set()
        goes_on = time.time()
        print(f"{not_taken:.0f} messages met a full link")
        if not_taken < 2 * EACH:
            wrong.append("final messages meet a full link")
        for each in clients:
            each.join(max(0, goes_on + LIMIT_S - time.time()))
        for kind in ("large", "medium", "small", "call", "stream"):
            told = collections.Counter(each.said or "never ended" for each in clients if each.kind == kind)
            latest = max((each.ended or time.time()) - goes_on for each in clients if each.kind == kind)
            print(f"{kind}: {dict(told)}, last after {latest:.1f} s")
            right = {"call": {"500 Internal Server Error"}, "stream": {"broken off"}}.get(kind, {"200"})
            if not set(told) <= right:
                wrong.append(f"each {kind} ends with its known result")
        rest = until(lambda: busy(pair) == 0, 10)
        print(f"at rest: {busy(pair)} slots are occupied (expected: 0)")
        wrong += [] if rest is not None else ["no slot is occupied at rest"]
    return wrong


def busy(pair):
    """Returns the number of occupied slots of the replica."""
    _, text, _ = ask(pair.control.admin, "GET", "/api/v1/ledger?node=n1")
    return sum(each["running"] + each["reserved"] for each in json.loads(text)["replicas"])


main(run)
