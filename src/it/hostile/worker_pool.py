#!/usr/bin/env python3
"""An application whose executeBlocking hangs must delay only itself: the admin port, a deploy and the
executeBlocking of another application continue.

    worker_pool.py --jar JAR        about half a minute
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

HELD = 60  # requests whose executeBlocking hangs
HANG_S = 20
LIMIT_S = 5

APPLICATION = """
import dev.berth.api.*;
import io.vertx.core.*;

public final class Works {
  public static Application build() {
    return Application.of(
        Deployment.of("works", replica -> (AsyncHandler) Works::handle)
            .withSpreadOverLoops(true).withMaxOngoingRequests(1000));
  }

  static Future<Response> handle(Request request, RequestContext context) {
    int ms = Integer.parseInt(request.queryParameter("ms"));
    boolean ordered = request.path().endsWith("/turn");
    return Vertx.currentContext().executeBlocking(
        () -> {
          Thread.sleep(ms);
          return Response.text("slept " + ms);
        },
        ordered);
  }
}
"""


class Works(Instance):
    """An instance with two applications that block in executeBlocking, as Vert.x permits."""

    def __init__(self, jar):
        super().__init__(jar, "-Xmx512m")
        source = os.path.join(self.folder, "Works.java")
        with open(source, "w") as out:
            out.write(APPLICATION)
        classes = os.path.join(self.folder, "works-classes")
        subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, source], check=True)
        self.works_jar = os.path.join(self.folder, "works.jar")
        subprocess.run(["jar", "cf", self.works_jar, "-C", classes, "."], check=True)

    def deploy(self, name, timeout):
        """Returns the seconds until the application responds; None past the limit."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=timeout)
        entry = {"import_path": "Works:build", "route_prefix": "/" + name,
                 "runtime_env": {"jars": [self.works_jar]}}
        try:
            connection.request("PUT", "/api/v1/applications/" + name, json.dumps(entry),
                               {"Content-Type": "application/json"})
            if connection.getresponse().status != 200:
                return None
            while time.monotonic() - began < timeout:
                if self.get(f"/{name}/turn?ms=0", timeout=1) == (200, "slept 0"):
                    return time.monotonic() - began
                time.sleep(0.05)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        return None


def seconds(took):
    return f"none in {LIMIT_S} s" if took is None else f"{took:.2f} s"


def timed(ask, timeout=LIMIT_S):
    began = time.monotonic()
    return time.monotonic() - began if ask(timeout)[0] == 200 else None


def pool(jar):
    with Works(jar) as instance:
        for name in ("bad", "good"):
            if instance.deploy(name, 20) is None:
                return False
        for i in range(HELD):
            path = f"/bad/{'turn' if i % 2 else 'beside'}?ms={HANG_S * 1000}"
            threading.Thread(target=instance.get, args=(path,), kwargs={"timeout": 60},
                             daemon=True).start()
        time.sleep(1)
        metrics = timed(lambda limit: instance.get("/metrics", instance.admin_port, limit))
        beside = timed(lambda limit: instance.get("/good/beside?ms=10", timeout=limit))
        turn = max((timed(lambda limit: instance.get("/good/turn?ms=10", timeout=limit)) or 99)
                   for _ in range(4))
        deployed = instance.deploy("new", LIMIT_S)
        print(f"while {HELD} executeBlocking of one application hang: /metrics {seconds(metrics)}; "
              f"10 ms of another application {seconds(beside)}, ordered "
              f"{seconds(None if turn == 99 else turn)}; deploy {seconds(deployed)}", flush=True)
        return None not in (metrics, beside, deployed) and turn < LIMIT_S


if __name__ == "__main__":
    main({"pool": pool})
