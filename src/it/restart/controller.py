"""Restarts the controller during changes, and deploys versions without running replicas. Checks the
serving version, the status and the target of a rollback afterwards.

    python3 src/it/restart/controller.py --jar target/berth.jar

Needs the standard library and Java with javac. Listens on loopback; ends only processes that it
started. Prints a line per row; the exit code is 1 if a row fails.
"""

import argparse
import collections
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")
START_LIMIT_S = 60
LIMIT_S = 60  # until an expected state
TRIAL_S = 14  # longer than the probation of a deployment with a health check each second

APPLICATION = """
import dev.berth.api.*;
import java.nio.file.*;
import java.util.*;

public final class Fickle implements BlockingHandler {
  private final Map<String, Object> args;
  private volatile String configured = "";

  Fickle(Map<String, Object> args) {
    this.args = args;
  }

  public static Application build(Map<String, Object> args) {
    Deployment front = Deployment.of("front", replica -> new Fickle(args));
    return args.get("side") == null
        ? Application.of(front)
        : Application.of(front, Deployment.of("side", replica -> new Fickle(args)));
  }

  @Override
  public Response handle(Request request, RequestContext context) {
    return Response.text(args.get("says") + configured);
  }

  @Override
  public void start() throws Exception {
    await((String) args.get("gate"));
    if (args.containsKey("fails")) {
      throw new IllegalStateException("no model");
    }
  }

  @Override
  public void reconfigure(Map<String, Object> config) throws Exception {
    await((String) config.get("gate"));
    if (config.containsKey("refused")) {
      throw new IllegalStateException("no such key");
    }
    configured = (String) config.getOrDefault("says", "");
  }

  private static void await(String gate) throws Exception {
    while (gate != null && !Files.exists(Path.of(gate))) {
      Thread.sleep(10);
    }
  }
}
"""


class Instance:
    """An instance process with its state directory; `with` ends it."""

    def __init__(self, jar, handlers, folder):
        self.jar, self.handlers, self.folder = jar, handlers, folder
        self.process = None
        self.start()

    def start(self):
        """Starts a process on the state of the previous one."""
        self.log = open(os.path.join(self.folder, "log"), "a")
        begin = self.log.tell()
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-jar", self.jar, "run"]
        command += ["--state-dir", "state", "--host", "127.0.0.1", "--port", "0"]
        command += ["--admin-port", "0", "--set", "berth.event_loops=1"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=self.log, stderr=subprocess.STDOUT
        )
        end = time.monotonic() + START_LIMIT_S
        found = None
        while found is None:
            with open(self.log.name, errors="replace") as log:
                log.seek(begin)
                said = log.read()
            found = LISTENS.search(said)
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the instance did not start:\n" + said)
            time.sleep(0.02)
        self.port, self.admin = int(found.group(1)), int(found.group(2))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=20)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status == 200, (method, path, answer.status, text)
            return text
        finally:
            connection.close()

    def gate(self, name):
        return os.path.join(self.folder, name)

    def open(self, name):
        open(self.gate(name), "w").close()

    def deploy(self, says, deployment=None, **args):
        """Deploys another version; `deployment` are settings of its front."""
        self.call(
            "PUT",
            "/api/v1/applications/a",
            {
                "name": "a",
                "route_prefix": "/",
                "import_path": "Fickle:build",
                "args": dict(args, says=says),
                "external_scaler_enabled": True,
                "runtime_env": {"jars": [self.handlers]},
                "deployments": [
                    dict({"name": "front", "health_check_period_s": 1}, **(deployment or {}))
                ],
            },
        )

    def scale(self, replicas):
        path = "/api/v1/applications/a/deployments/front/scale"
        self.call("POST", path, {"target_num_replicas": replicas})

    def rollback(self):
        self.call("POST", "/api/v1/applications/a/rollback")

    def restart_controller(self):
        self.call("POST", "/api/v1/controller/restart")

    def status(self):
        applications = json.loads(self.call("GET", "/api/v1/serve"))["applications"]
        return next(each for each in applications if each["name"] == "a")

    def phases(self):
        """Returns the phases of the front's replicas."""
        front = [each for each in self.status()["deployments"] if each["name"] == "front"]
        return [replica["phase"] for each in front for replica in each["replicas"]]

    def deployments(self):
        return sorted(each["name"] for each in self.status()["deployments"])

    def says(self):
        """Sends a request; returns its text, status or failure."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/")
            answer = connection.getresponse()
            text = answer.read().decode()
            return text if answer.status == 200 else str(answer.status)
        except (OSError, http.client.HTTPException) as failed:
            return type(failed).__name__
        finally:
            connection.close()

    def until(self, holds, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while time.monotonic() < end and not holds():
            time.sleep(0.05)

    def settle(self, *statuses):
        self.until(lambda: self.status()["status"] in statuses)

    def is_now(self, status, says):
        """Waits for a status and a response; returns all those of the following seconds."""
        self.until(lambda: (self.status()["status"], self.says()) == (status, says))
        return self.stays()

    def stays(self, seconds=4):
        """Returns every status and response during some seconds."""
        seen = collections.Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            seen[f"{self.status()['status']} {self.says()}"] += 1
            time.sleep(0.1)
        return ", ".join(sorted(seen))

    def first(self, deployment=None, **args):
        self.deploy("v1", deployment, **args)
        self.settle("RUNNING")

    def __enter__(self):
        return self

    def __exit__(self, *failed):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


NO_SURGE = {"max_surge_percent": 0}


# --- a restart during a reconfigure ---


def refused_after_a_restart(on):
    """user_config is refused after a controller restart during its hook"""
    on.first({"user_config": {"says": " good"}})
    on.deploy("v1", {"user_config": {"gate": on.gate("g"), "refused": True}})
    on.until(lambda: "UPDATING" in on.phases())
    on.restart_controller()
    on.open("g")
    return on.is_now("DEPLOY_FAILED", "v1 good"), "DEPLOY_FAILED v1 good"


def refused_and_kept(on):
    """the same, then the process is killed and restarted"""
    refused_after_a_restart(on)
    on.kill()
    on.start()
    return on.is_now("DEPLOY_FAILED", "v1 good"), "DEPLOY_FAILED v1 good"


def taken_after_a_restart(on):
    """user_config is accepted after a controller restart during its hook"""
    on.first({"user_config": {"says": " good"}})
    on.deploy("v1", {"user_config": {"gate": on.gate("g"), "says": " better"}})
    on.until(lambda: "UPDATING" in on.phases())
    on.restart_controller()
    on.open("g")
    return on.is_now("RUNNING", "v1 better"), "RUNNING v1 better"


# --- a restart in a rollout that fails ---


def failing_without_surge(on):
    """max_surge_percent 0, v2 never starts, the controller restarts after v1 stopped"""
    on.first(NO_SURGE)
    on.deploy("v2", NO_SURGE, fails=True, gate=on.gate("g"))
    on.until(lambda: on.phases() == ["STARTING"])
    on.restart_controller()
    on.open("g")
    return on.is_now("DEPLOY_FAILED", "v1"), "DEPLOY_FAILED v1"


def restarted_again_and_again(on):
    """the same with five restarts, the last one after v2 failed"""
    on.first(NO_SURGE)
    on.deploy("v2", NO_SURGE, fails=True, gate=on.gate("g"))
    on.until(lambda: on.phases() == ["STARTING"])
    for _ in range(4):
        on.restart_controller()
    on.open("g")
    on.settle("DEPLOY_FAILED")
    on.restart_controller()
    return on.is_now("DEPLOY_FAILED", "v1"), "DEPLOY_FAILED v1"


def killed_without_surge(on):
    """max_surge_percent 0, v2 never starts, the process is killed after v1 stopped"""
    on.first(NO_SURGE)
    on.deploy("v2", NO_SURGE, fails=True, gate=on.gate("g"))
    on.until(lambda: on.phases() == ["STARTING"])
    on.kill()
    on.open("g")
    on.start()
    return on.is_now("DEPLOY_FAILED", "v1"), "DEPLOY_FAILED v1"


# --- zero replicas ---


def v2_at_zero(on):
    """Deploys v2, which never starts, over a running v1, and scales v2 to 0 while it starts."""
    on.first()
    on.deploy("v2", fails=True, gate=on.gate("g"))
    on.until(lambda: "STARTING" in on.phases())
    on.scale(0)
    on.settle("RUNNING")
    on.open("g")


def at_zero(on):
    """v2 never starts, stays at 0 for longer than a probation, and is scaled to 1"""
    v2_at_zero(on)
    time.sleep(TRIAL_S)
    waited = on.status()["status"]
    on.scale(1)
    return waited + ", then " + on.is_now("DEPLOY_FAILED", "v1"), "RUNNING, then DEPLOY_FAILED v1"


def rolled_back_from_zero(on):
    """v1 ran, v2 never started and is at 0, v3 never starts, rollback"""
    v2_at_zero(on)
    time.sleep(1)
    on.deploy("v3", fails=True)
    on.settle("DEPLOY_FAILED")
    on.rollback()
    return on.is_now("RUNNING", "v1"), "RUNNING v1"


def killed_at_zero(on):
    """v2 never started and is at 0 when the process is killed; it is scaled to 1 after the restart"""
    v2_at_zero(on)
    time.sleep(1)
    on.kill()
    on.start()
    on.settle("RUNNING")
    on.scale(1)
    return on.is_now("DEPLOY_FAILED", "v1"), "DEPLOY_FAILED v1"


def obsolete_at_zero(on):
    """v2 fails and has one deployment less than v1; it is scaled to 0"""
    on.first(side=True)
    on.deploy("v2", fails=True)
    on.settle("DEPLOY_FAILED")
    on.scale(0)
    on.until(lambda: on.deployments() == ["front"], 20)
    return f"{on.status()['status']} {on.deployments()}", "RUNNING ['front']"


def failed_at_zero(on):
    """v2 failed and is at 0 when the process is killed; it is scaled to 1 after the restart"""
    on.first()
    on.deploy("v2", fails=True)
    on.settle("DEPLOY_FAILED")
    on.scale(0)
    on.settle("RUNNING")
    time.sleep(1)
    on.kill()
    on.start()
    on.settle("RUNNING")
    waited = on.status()["status"]
    on.scale(1)
    return waited + ", then " + on.is_now("DEPLOY_FAILED", "v1"), "RUNNING, then DEPLOY_FAILED v1"


ROWS = [
    refused_after_a_restart,
    refused_and_kept,
    taken_after_a_restart,
    failing_without_surge,
    restarted_again_and_again,
    killed_without_surge,
    at_zero,
    rolled_back_from_zero,
    killed_at_zero,
    obsolete_at_zero,
    failed_at_zero,
]


def handlers_jar(jar, folder):
    source = os.path.join(folder, "Fickle.java")
    with open(source, "w") as out:
        out.write(APPLICATION)
    classes = os.path.join(folder, "classes")
    subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, source], check=True)
    made = os.path.join(folder, "fickle.jar")
    subprocess.run(["jar", "cf", made, "-C", classes, "."], check=True)
    return made


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--jar", required=True)
    options.add_argument("--row", help="one of " + ", ".join(row.__name__ for row in ROWS))
    given = options.parse_args()
    jar = os.path.abspath(given.jar)
    shared = tempfile.mkdtemp(prefix="berth-restart-")
    wrong = 0
    try:
        handlers = handlers_jar(jar, shared)
        for row in ROWS:
            if given.row not in (None, row.__name__):
                continue
            with Instance(jar, handlers, tempfile.mkdtemp(prefix="berth-restart-")) as on:
                try:
                    came, expected = row(on)
                except Exception as failed:  # the other rows still run
                    came, expected = repr(failed), "no exception"
            good = came == expected
            wrong += not good
            print(
                f"{'ok  ' if good else 'FAIL'} {row.__doc__}: {came}"
                + ("" if good else f" (expected: {expected})"),
                flush=True,
            )
    finally:
        shutil.rmtree(shared, ignore_errors=True)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
