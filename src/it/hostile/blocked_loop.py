#!/usr/bin/env python3
"""An endless loop in an async handler must cost only one event loop. Deploys, scale-ups and redeploys
continue; status names the loop, its handler and the time; the instance is not ready; the cancelled
request is a zombie.

    blocked_loop.py --jar JAR [PART…]        about two minutes
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

LIMIT_S = 40
UNREADY_S = 4

APPLICATION = """
import dev.berth.api.*;
import io.vertx.core.*;

public final class Spins {
  public static volatile boolean end;

  public static Application one() {
    return Application.of(Deployment.of("front", replica -> (AsyncHandler) Spins::handle));
  }

  public static Application spread() {
    return Application.of(
        Deployment.of("front", replica -> (AsyncHandler) Spins::handle).withSpreadOverLoops(true));
  }

  static Future<Response> handle(Request request, RequestContext context) {
    while (request.path().endsWith("/spin") && !end) {
      Thread.onSpinWait();
    }
    return Future.succeededFuture(Response.text("ok " + context.replicaId()));
  }
}
"""


class Spins(Instance):
    """An instance with three loops and applications that spin on request."""

    def __init__(self, jar, *settings):
        super().__init__(jar, "-Xmx512m", loops=3, settings=settings)
        source = os.path.join(self.folder, "Spins.java")
        with open(source, "w") as out:
            out.write(APPLICATION)
        classes = os.path.join(self.folder, "spins-classes")
        subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, source], check=True)
        self.spins_jar = os.path.join(self.folder, "spins.jar")
        subprocess.run(["jar", "cf", self.spins_jar, "-C", classes, "."], check=True)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=20)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:500]}")
        return json.loads(text) if text.startswith("{") else text

    def deploy(self, name, builder="one", replicas=1, **more):
        self.ask("PUT", "/api/v1/applications/" + name, {
            "import_path": "Spins:" + builder, "route_prefix": "/" + name,
            "runtime_env": {"jars": [self.spins_jar]},
            "deployments": [{"name": "front", "num_replicas": replicas, **more}]})

    def application(self, name):
        return next(each for each in self.ask("GET", "/api/v1/serve")["applications"]
                    if each["name"] == name)

    def runs(self, name, replicas=1):
        """Returns seconds until exactly these replicas run; None past the limit."""
        began = time.monotonic()
        while time.monotonic() - began < LIMIT_S:
            found = self.application(name)
            phases = [each["phase"] for deployment in found["deployments"]
                      for each in deployment["replicas"]]
            if found["status"] == "RUNNING" and phases == ["RUNNING"] * replicas:
                return time.monotonic() - began
            time.sleep(0.2)
        return None

    def answers(self, name, times=10):
        """Returns the number of requests with a response within a second."""
        return sum(self.get("/" + name, timeout=1)[0] == 200 for _ in range(times))

    def spin(self, name):
        """Sends a request that blocks one loop; its client disconnects after a second."""
        threading.Thread(target=self.get, args=(f"/{name}/spin",), kwargs={"timeout": 1},
                         daemon=True).start()
        time.sleep(2)


def seconds(took):
    return f"never (in {LIMIT_S} s)" if took is None else f"{took:.1f} s"


def say(part, *figures):
    print(f"{part}: " + "; ".join(figures), flush=True)


GRACES = {"graceful_shutdown_timeout_s": 3, "berth": {"cancel_grace_s": 2}}


def places(jar):
    """Measures deploys and scale-ups beside a blocked loop."""
    with Spins(jar, "berth.blocked_loop_after_ms=100") as instance:
        instance.deploy("bad")
        instance.runs("bad")
        instance.spin("bad")
        took = []
        instance.deploy("new", replicas=3)
        took.append(("a deploy of three", instance.runs("new", 3)))
        instance.deploy("wide", "spread")
        took.append(("one over all loops", instance.runs("wide")))
        instance.deploy("new", replicas=6)
        took.append(("a scale-up", instance.runs("new", 6)))
        say("beside an endless loop", *(f"{what} {seconds(each)}" for what, each in took),
            f"{instance.answers('new')} of 10 completed")
        return all(each is not None for _, each in took) and instance.answers("new") == 10


def cures(jar):
    """Redeploys the spinning application; other applications on the same loop must continue."""
    settings = (f"berth.health.blocked_loop_unready_s={UNREADY_S}",)
    try:
        instance = Spins(jar, *settings)
    except (SystemExit, OSError):  # a jar without the key
        instance = Spins(jar)
    with instance:
        for i in range(3):
            instance.deploy(f"beside{i}", **GRACES)
        instance.deploy("bad", **GRACES)
        for name in ("beside0", "beside1", "beside2", "bad"):
            instance.runs(name)
        instance.spin("bad")
        before = [instance.answers(f"beside{i}", 3) for i in range(3)]
        zombies = instance.metric("serve_zombie_requests")
        time.sleep(UNREADY_S + 14)
        after = [instance.answers(f"beside{i}", 3) for i in range(3)]
        blocked = instance.ask("GET", "/api/v1/serve").get("blocked_loops", [])
        ready = instance.get("/-/readyz")
        instance.deploy("bad", user_config={"again": True}, **GRACES)
        again = instance.runs("bad")
        say("an endless loop for 18 s", f"3 requests to each of 3 others: {before}, later {after}",
            f"zombies {zombies:g}", f"readyz {ready[0]} {ready[1][:50]}",
            "status: " + (blocked[0]["text"] if blocked else "no blocked loop"),
            f"redeploy of its application {seconds(again)}")
        return (after == [3, 3, 3] and zombies >= 1 and ready[0] == 503 and again is not None
                and blocked and "Spins.handle" in blocked[0]["at"]
                and blocked[0]["deployment"] == "bad#front")


def starved(jar):
    """A process without CPU time must not be reported as blocked by a handler."""
    with Spins(jar) as instance:
        instance.deploy("good")
        instance.runs("good")
        stop = ["taskset", "-a", "-p", "1", str(instance.process.pid)]
        subprocess.run(stop, capture_output=True, check=False)
        hogs = [subprocess.Popen(["taskset", "1", sys.executable, "-c", "while True: pass"])
                for _ in range(16)]
        time.sleep(8)
        for each in hogs:
            each.kill()
            each.wait()
        lines = [line for line in instance.said().splitlines() if "new requests avoid it" in line]
        waits = ("epollWait", "EPoll.wait", "Unsafe.park")
        wrong = [line for line in lines if "blocked for" in line and any(w in line for w in waits)]
        say("16 busy processes on one core for 8 s", f"{len(lines)} unresponsive loops",
            f"{len(wrong)} of them reported as blocked while waiting for events")
        return not wrong


if __name__ == "__main__":
    main({"places": places, "cures": cures, "starved": starved})
