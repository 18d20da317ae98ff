#!/usr/bin/env python3
"""Runs the test that batching.sh describes. Standard library and javac only.

    src/it/batching.py BERTH_JAR
"""

import asyncio
import http.client
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")
LIMIT_S = 30
CANCELS = 10_000
CHANGES = 200
APPLICATION = """
import dev.berth.api.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicInteger;

public final class Batches {
  static final AtomicInteger SERIAL = new AtomicInteger();

  static String parameter(List<BatchItem> items, String name) {
    return items.stream().map(each -> each.request().queryParameter(name)).filter(Objects::nonNull)
        .findFirst().orElse("");
  }

  static List<BatchResult> handle(String replica, List<BatchItem> items) throws Exception {
    String mode = parameter(items, "mode");
    Thread.sleep(mode.equals("slow") ? 3000 : 5);
    int serial = SERIAL.incrementAndGet();
    List<BatchResult> results = new ArrayList<>();
    for (BatchItem each : items) {
      results.add("one".equals(each.request().queryParameter("mode"))
          ? BatchResult.ofFailure(new IllegalStateException("this one"))
          : BatchResult.of(Response.text(items.size() + " " + serial + " " + replica)));
    }
    switch (mode) {
      case "null":
        return null;
      case "short":
        return results.subList(1, results.size());
      case "never":
        while (true) {
          try {
            Thread.sleep(1_000_000);
          } catch (InterruptedException ignored) {
            // the handler ignores the interrupt
          }
        }
      default:
        return results;
    }
  }

  public static Application build() {
    return Application.of(Deployment.of("batches", replica ->
        (BatchHandler) items -> handle(replica.replicaId(), items)));
  }
}
"""

wrong = []


def hold(what, so, seen=""):
    """Prints whether a claim holds, and records it if not."""
    if not so:
        wrong.append(what)
    print(f"  {'held' if so else 'NOT HELD'}: {what}{': ' if seen else ''}{seen}", flush=True)


def entry(name, batching, replicas=1):
    return {"name": name, "route_prefix": "/" + name, "import_path": "Batches:build",
            "runtime_env": {"jars": [APP]},
            "deployments": [{"name": "batches", "num_replicas": replicas, "max_ongoing_requests": 64,
                             "graceful_shutdown_timeout_s": 1, "berth": {"batching": batching}}]}


class Instance:
    def __init__(self, jar, folder):
        self.log = pathlib.Path(folder, "log")
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", jar, "run", "--ephemeral", "--host", "127.0.0.1",
                   "--port", "0", "--admin-port", "0", "--set", "berth.event_loops=2"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        if not self.until(lambda: LISTENS.search(self.log.read_text())):
            self.stop()
            raise SystemExit("the instance did not start:\n" + self.log.read_text())
        self.port, self.admin = map(int, LISTENS.search(self.log.read_text()).groups())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def until(self, so, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if so():
                return True
            time.sleep(0.05)
        return False

    def call(self, method, path, body=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.admin, timeout=LIMIT_S)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def deploy(self, *entries):
        status, text = self.call("PUT", "/api/serve/applications/", {"applications": entries})
        if status != 200:
            raise SystemExit(text)

    def replicas(self, name):
        rows = json.loads(self.call("GET", "/api/v1/ledger")[1])["replicas"]
        return [row for row in rows if row["application"] == name]

    def settled(self, name):
        return self.until(lambda: all(row["running"] == 0 and row["reserved"] == 0 and row["audit"] == "clean"
                                      for row in self.replicas(name)))


async def ask(port, path, headers="", abort_after=None):
    """Sends one request on its own connection; returns status and text, 0 without a response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n".encode())
        if abort_after is not None:
            await asyncio.sleep(abort_after)
            writer.transport.abort()
            return 0, ""
        head, _, body = (await asyncio.wait_for(reader.read(), LIMIT_S)).partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode(errors="replace")
    except (OSError, asyncio.TimeoutError, IndexError) as failed:
        return 0, repr(failed)
    finally:
        writer.close()


async def at_once(port, count, path, headers=""):
    return await asyncio.gather(*(ask(port, path, headers) for _ in range(count)))


def batches(answers):
    """Returns size and replica of each batch; None if a response is not of a batch."""
    if any(status != 200 for status, _ in answers):
        return None
    return sorted({tuple(text.split()) for _, text in answers})


def statuses(answers):
    return {status for status, _ in answers}


async def load(port, clients, over, path):
    """Sends requests repeatedly until `over` is done; returns the statuses."""
    seen = {}

    async def client():
        while not over.done():
            status, _ = await ask(port, path)
            seen[status] = seen.get(status, 0) + 1
    await asyncio.gather(*(client() for _ in range(clients)))
    return seen


async def formed(instance):
    for path in ("/plain", "/plain?mode=x"):
        seen = batches(await at_once(instance.port, 16, path))
        hold("16 requests at once are one batch of 16", seen is not None and [b[0] for b in seen] == ["16"], str(seen))
    for _ in range(5):  # a batch does not wait over 50 ms for the requests of a stalled event loop
        seen = batches(await at_once(instance.port, 32, "/plain"))
        if seen is not None and [b[0] for b in seen] == ["16", "16"]:
            break
    hold("32 are two", seen is not None and [b[0] for b in seen] == ["16", "16"], str(seen))


async def killed(instance):
    first = asyncio.gather(*(ask(instance.port, "/plain?mode=slow") for _ in range(16)))
    await asyncio.sleep(0.5)
    victim = max(instance.replicas("plain"), key=lambda row: row["running"])["replica"]
    more = asyncio.gather(*(ask(instance.port, "/plain") for _ in range(5)))
    await asyncio.sleep(0.1)
    instance.call("DELETE", "/api/v1/applications/plain/deployments/batches/replicas/" + urllib.parse.quote(victim))
    hold("a killed replica: 502 for its running batch", statuses(await first) == {502})
    hold("a killed replica: the others run elsewhere", statuses(await more) == {200})
    hold("a killed replica: no slot lost", instance.settled("plain"))


async def wrong_results(instance):
    for mode in ("null", "short"):
        hold(f"result {mode}: 500 for its batch", statuses(await at_once(instance.port, 8, "/bad?mode=" + mode)) == {500})
    answers = await asyncio.gather(*(ask(instance.port, "/bad?mode=" + ("one" if n == 0 else "x")) for n in range(8)))
    hold("a failure of one request", [status for status, _ in answers] == [500] + [200] * 7)
    answers = await at_once(instance.port, 8, "/bad?mode=never", "X-Request-Timeout-Seconds: 1\r\n")
    hold("a handler that never returns: the deadline", statuses(answers) == {408})
    hold("a handler that never returns: others work", statuses(await at_once(instance.port, 16, "/plain")) == {200})
    instance.call("DELETE", "/api/v1/applications/bad")
    gone = lambda: "bad" not in json.loads(instance.call("GET", "/api/serve/applications/")[1])["applications"]
    hold("a handler that never returns: deleted", instance.until(gone))


async def cancels(instance):
    limit = asyncio.Semaphore(200)

    async def one():
        async with limit:
            await ask(instance.port, "/plain", abort_after=random.random() * 0.02)
    over = asyncio.gather(*(one() for _ in range(CANCELS)))
    seen = await load(instance.port, 4, over, "/plain")
    hold(f"{CANCELS} cancels: the other clients", set(seen) == {200}, str(seen))
    hold(f"{CANCELS} cancels: no slot lost", instance.settled("plain"))


async def changes(instance):
    over = asyncio.get_running_loop().create_future()
    loaded = asyncio.ensure_future(load(instance.port, 16, over, "/plain"))
    for _ in range(CHANGES):
        rules = {"max_batch_size": random.choice((1, 4, 8, 16)), "max_concurrent_batches": random.choice((1, 2, 4)),
                 "batch_wait_timeout_s": random.choice((0, 0.001, 0.01, 0.05)), "eager": random.random() < 0.5}
        for key, value in (("max_batch_items", 3), ("max_batch_bytes", 1), ("preferred_batch_sizes", [1]),
                           ("same", ["x-model"])):
            if random.random() < 0.5:
                rules[key] = value
        await asyncio.to_thread(instance.deploy, entry("plain", rules, 2))
        await asyncio.sleep(0.05)
    over.set_result(None)
    seen = await loaded
    hold(f"{CHANGES} live changes: every request gets its response", set(seen) == {200}, str(seen))
    hold(f"{CHANGES} live changes: no slot lost", instance.settled("plain"))


async def run(instance):
    rules = {"max_batch_size": 16, "batch_wait_timeout_s": 1}
    instance.deploy(entry("plain", rules, 2), entry("bad", {"max_batch_size": 8, "batch_wait_timeout_s": 0.2}))
    for path in ("/plain", "/bad"):
        if not instance.until(lambda: instance.call("GET", path, port=instance.port)[0] == 200):
            raise SystemExit(path + " does not respond:\n" + instance.log.read_text())
    for part in (formed, killed, wrong_results, cancels, changes):
        await part(instance)


with tempfile.TemporaryDirectory(prefix="berth-batching-") as work:
    source = pathlib.Path(work, "Batches.java")
    source.write_text(APPLICATION, encoding="utf-8")
    subprocess.run(["javac", "-nowarn", "-cp", sys.argv[1], "-d", work + "/classes", source], check=True)
    APP = os.path.join(work, "batches.jar")
    subprocess.run(["jar", "cf", APP, "-C", work + "/classes", "."], check=True)
    server = Instance(sys.argv[1], work)
    try:
        asyncio.run(run(server))
    finally:
        server.stop()
if wrong:
    sys.exit("not held: " + "; ".join(wrong))
print("all held")
