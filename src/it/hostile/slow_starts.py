#!/usr/bin/env python3
"""Hooks that are slow, hang or ignore interrupts must affect only their own application: dead replicas of
healthy applications are replaced as fast as without them.

    slow_starts.py --jar JAR [PART…]        at most about four minutes

Each part kills replicas of healthy applications one by one, before, during and after the attack, and
measures the time until another replica responds.
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

KILLS = 12  # of each measurement
PATIENCE_S = 10  # timeout of one replacement
GIVEN_UP = 2  # failed replacements until the measurement ends

APPLICATION = """
import dev.berth.api.*;
import io.vertx.core.Future;
import java.nio.file.*;

public final class Slow implements AsyncHandler {
  static final Path END = Path.of(System.getProperty("slow.end"));
  static final Path GO = Path.of(END + ".go"); // for hooks that swallow interrupts

  public static Application one() {
    return Application.of(Deployment.of("front", Slow::new));
  }

  public static Application three() {
    return Application.of(
        Deployment.of("front", Slow::new),
        Deployment.of("stops", Slow::new),
        Deployment.of("swallows", Slow::new));
  }

  private final String id;
  private final Object mode;

  Slow(ReplicaContext replica) {
    id = replica.replicaId();
    mode = replica.userConfig().get("mode");
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    return Future.succeededFuture(Response.text(id));
  }

  @Override
  public void start() throws InterruptedException {
    hang("start");
  }

  @Override
  public void stop() throws InterruptedException {
    hang("stop");
  }

  @Override
  public void checkHealth() {
    while ("swallow".equals(mode) && Files.exists(GO) && !Files.exists(END)) {
      try {
        Thread.sleep(200);
      } catch (InterruptedException swallowed) {
        // the hook continues
      }
    }
  }

  private void hang(String in) throws InterruptedException {
    while (in.equals(mode) && !Files.exists(END)) {
      Thread.sleep(200);
    }
  }
}
"""


class Slow(Instance):
    """An instance with applications that return their replica id, and applications that hang."""

    def __init__(self, jar):
        self.end_file = os.path.join("/tmp", f"slow-starts-{os.getpid()}-{time.monotonic_ns()}")
        super().__init__(jar, "-Xmx512m", f"-Dslow.end={self.end_file}")
        source = os.path.join(self.folder, "Slow.java")
        with open(source, "w") as out:
            out.write(APPLICATION)
        classes = os.path.join(self.folder, "slow-classes")
        subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, source], check=True)
        self.slow_jar = os.path.join(self.folder, "slow.jar")
        subprocess.run(["jar", "cf", self.slow_jar, "-C", classes, "."], check=True)
        self.good = [f"good{i}" for i in range(4 * KILLS)]

    def __exit__(self, *failed):
        super().__exit__(*failed)
        for name in (self.end_file, self.end_file + ".go"):
            if os.path.exists(name):
                os.remove(name)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=60)
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body),
                {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:500]}")
        return json.loads(text) if text.startswith("{") else text

    def entry(self, name, what, *deployments):
        return {
            "name": name, "route_prefix": "/" + name, "import_path": "Slow:" + what,
            "runtime_env": {"jars": [self.slow_jar]}, "deployments": list(deployments),
        }

    def declare(self, *bad):
        good = [self.entry(name, "one") for name in self.good]
        self.ask("PUT", "/api/serve/applications/", {"applications": good + list(bad)})

    def states(self):
        """Returns (application, deployment, replica, state, deployment's message) of all replicas."""
        found = []
        for name, application in self.ask("GET", "/api/serve/applications/")["applications"].items():
            for each, deployment in application["deployments"].items():
                for replica in deployment["replicas"]:
                    found.append((name, each, replica["replica_id"], replica["state"],
                                  deployment["message"]))
        return found

    def until(self, what, limit_s):
        end = time.monotonic() + limit_s
        while not what(self.states()):
            if time.monotonic() > end:
                return False
            time.sleep(0.3)
        return True

    def kill(self, application, deployment, replica):
        path = f"/api/v1/applications/{application}/deployments/{deployment}/replicas/"
        self.ask("DELETE", path + replica.replace("#", "%23"))

    def replacements(self, which):
        """Returns seconds from each kill until another replica responds; None without a response."""
        times = []
        for name in self.good[which * KILLS:(which + 1) * KILLS]:
            if times.count(None) >= GIVEN_UP:
                break
            status, before = self.get("/" + name)
            if status != 200:
                times.append(None)
                continue
            began = time.monotonic()
            self.kill(name, "front", before)
            now = before
            while now == before or status != 200:
                left = began + PATIENCE_S - time.monotonic()
                if left <= 0:
                    break
                status, now = self.get("/" + name, timeout=left)  # waits for a slot
            took = time.monotonic() - began
            times.append(took if status == 200 and now != before else None)
        return times

    def waits(self):
        messages = [state[4] for state in self.states() if "waiting for a start thread" in state[4]]
        found = re.search(r"waiting for a start thread since [^;]*", messages[0]) if messages else None
        return found.group(0) if found else "no start waits"

    def figures(self, *names):
        return ", ".join(f"{name} {self.metric(name):g}" for name in names)

    def touch(self, name):
        with open(name, "w"):
            pass


def text(times):
    came = [each for each in times if each is not None]
    if len(came) < len(times):
        return f"{len(came)} of {len(times)} replaced within {PATIENCE_S} s"
    return f"median {statistics.median(came) * 1e3:.0f} ms, slowest {max(came) * 1e3:.0f} ms"


def say(part, *figures):
    print(f"{part}: " + "; ".join(figures), flush=True)


def measured(part, instance, attack):
    """Measures before, during and after; returns whether the attack added no more than their variation."""
    instance.replacements(3)  # warm-up
    before = instance.replacements(0)
    say(part, "replacement of a dead replica before: " + text(before))
    attack()
    say(part, "attack: " + instance.waits(), instance.figures(
        "berth_hooks_running", "berth_hooks_sharing", "berth_hooks_waiting", "berth_lost_threads"))
    during = instance.replacements(1)
    say(part, "during: " + text(during))
    instance.touch(instance.end_file)
    instance.until(lambda all: all and {each[3] for each in all} == {"RUNNING"}, 60)
    time.sleep(2)
    after = instance.replacements(2)
    say(part, "after: " + text(after), instance.figures("berth_hooks_waiting", "berth_lost_threads"))
    if None in before + during + after:
        return False
    usual = max(statistics.median(before), statistics.median(after))
    slowest = max(before + after)
    say(part, f"during against the slower of both: {statistics.median(during) / usual:.2f}, "
        f"before against after: {statistics.median(before) / statistics.median(after):.2f}")
    return (
        statistics.median(during) <= 1.5 * usual + 0.02 and max(during) <= 2 * slowest + 0.2
        and instance.metric("berth_lost_threads") == 0 and instance.alive()
    )


def thousand(jar):
    part = "1000 hanging starts of one application"
    with Slow(jar) as instance:
        instance.declare()
        instance.until(lambda all: sum(each[3] == "RUNNING" for each in all) >= 4 * KILLS, 60)

        def attack():
            instance.declare(instance.entry("bad", "one", {
                "name": "front", "num_replicas": 1000, "user_config": {"mode": "start"}}))
            instance.until(lambda all: sum(each[3] == "STARTING" for each in all) >= 1000, 30)
            time.sleep(2)

        return measured(part, instance, attack)


def three_hundred(jar):
    part = "a hanging start, a hanging stop and a swallowed interrupt in each of 200"
    with Slow(jar) as instance:
        instance.declare()
        instance.until(lambda all: sum(each[3] == "RUNNING" for each in all) >= 4 * KILLS, 60)

        def attack():
            instance.declare(*(instance.entry(
                f"bad{i}", "three",
                {"name": "front", "user_config": {"mode": "start"}},
                {"name": "stops", "user_config": {"mode": "stop"}},
                {"name": "swallows", "user_config": {"mode": "swallow"},
                 "health_check_period_s": 0.5, "health_check_timeout_s": 0.3}) for i in range(200)))
            instance.until(
                lambda all: sum(each[1] == "stops" and each[3] == "RUNNING" for each in all) >= 200, 60)
            for name, deployment, replica, state, _ in instance.states():
                if deployment == "stops" and state == "RUNNING":
                    instance.kill(name, deployment, replica)
            instance.touch(instance.end_file + ".go")
            time.sleep(2.5)  # until checks time out and their threads are lost

        return measured(part, instance, attack)


if __name__ == "__main__":
    main({"thousand": thousand, "three": three_hundred})
