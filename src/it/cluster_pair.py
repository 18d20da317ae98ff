"""A control node n1 and a worker n2 on the loopback, without certificates, for one attack on a
cluster. Needs the standard library and Java with javac. Ends only processes that it started.
"""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIMIT_S = 90

SLOW = """
import dev.berth.api.*;
import io.vertx.core.Future;
import java.util.Map;

public final class Slow {
  /** Takes `seconds` to build, on each node. */
  public static Application build(Map<String, Object> args) throws InterruptedException {
    Thread.sleep(1_000L * ((Number) args.getOrDefault("seconds", 0)).longValue());
    AsyncHandler handler = (request, context) -> Future.succeededFuture(Response.text("hi"));
    return Application.of(Deployment.of("slow", replica -> handler).withMaxOngoingRequests(8));
  }
}
"""


def until(so, limit_s=LIMIT_S, every_s=0.1):
    """Returns the seconds until the condition holds; None when it does not within the limit."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit_s:
        try:
            if so():
                return time.monotonic() - begin
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            pass
        time.sleep(every_s)
    return None


def free_ports(count):
    """Returns free ports outside the ephemeral range, which other clients could occupy meanwhile."""
    held = []
    while len(held) < count:
        try:
            held.append(socket.create_server(("127.0.0.1", random.randrange(15_000, 32_000))))
        except OSError:
            pass  # in use
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def ask(port, method, path, body=None, timeout=5):
    """Sends a request; returns status, text and headers. Raises OSError without a response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace"), dict(answer.getheaders())
    finally:
        connection.close()


class Node:
    def __init__(self, pair, name):
        self.pair, self.name = pair, name
        self.http, self.admin, *ports = free_ports(7)
        self.ports = dict(zip(("control", "data", "consensus", "https", "bus"), ports))
        self.log = os.path.join(pair.folder, name + ".log")
        self.process = None

    def start(self, *settings):
        role = "control" if self.name == "n1" else "worker"
        control = f"n1@127.0.0.1:{self.pair.control.ports['control']}"
        ports = ", ".join(f"{name}: {port}" for name, port in self.ports.items())
        config = os.path.join(self.pair.folder, self.name + ".yaml")
        with open(config, "w") as file:
            file.write(
                f"http_options: {{host: 127.0.0.1, port: {self.http}}}\n"
                f"berth:\n  event_loops: 1\n  admin: {{port: {self.admin}}}\n"
                f"  state_dir: {self.name}-state\n"
                f"  cluster: {{name: c, node: {self.name}, role: {role}, control: ['{control}'],"
                f" bind: 127.0.0.1, insecure: true, ports: {{{ports}}}}}\n")
        command = ["java", "-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar",
                   self.pair.jar, "run", config]
        for each in settings:
            command += ["--set", each]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(command, cwd=self.pair.folder, stdout=log, stderr=log)
        return self

    def serves(self):
        if until(lambda: ask(self.admin, "GET", "/-/healthz")[0] == 200) is None:
            raise SystemExit(f"{self.name} did not start:\n" + self.said()[-3000:])
        return self

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Pair:
    """A pair of nodes that the caller starts; `with` ends them. `application`: source of a class Slow."""

    def __init__(self, jar, application=SLOW):
        self.jar = os.path.abspath(jar)
        self.folder = tempfile.mkdtemp(prefix="berth-pair-")
        self.control = Node(self, "n1")
        self.worker = Node(self, "n2")
        source = os.path.join(self.folder, "Slow.java")
        with open(source, "w") as file:
            file.write(application)
        classes, self.app = (os.path.join(self.folder, each) for each in ("classes", "slow.jar"))
        subprocess.run(["javac", "-nowarn", "-cp", self.jar, "-d", classes, source], check=True)
        subprocess.run(["jar", "cf", self.app, "-C", classes, "."], check=True)

    def declare(self, deployment, seconds=0):
        """Declares the application at the control node, without waiting for its start."""
        entry = {
            "name": "slow", "route_prefix": "/", "import_path": "Slow:build",
            "args": {"seconds": seconds}, "runtime_env": {"jars": [self.app]},
            "deployments": [{"name": "slow", **deployment}]}
        status, text, _ = ask(self.control.admin, "PUT", "/api/serve/applications/",
                              json.dumps({"applications": [entry]}), timeout=60)
        if status != 200:
            raise SystemExit(f"declare: {status} {text} (expected: 200)")

    def replicas(self, state="RUNNING"):
        """Returns node by replica, in the controller's view."""
        _, text, _ = ask(self.control.admin, "GET", "/api/serve/applications/")
        slow = json.loads(text)["applications"]["slow"]["deployments"].get("slow", {})
        return {each["replica_id"]: each["node_id"].split("~")[0]
                for each in slow.get("replicas", []) if each["state"] == state}

    def hosted(self, node):
        """Returns the replicas of a node, from the node itself."""
        _, text, _ = ask(node.admin, "GET", f"/api/v1/ledger?node={node.name}")
        return [each["replica"] for each in json.loads(text)["replicas"] if not each["draining"]]

    def __enter__(self):
        return self

    def __exit__(self, *failed):
        for each in (self.control, self.worker):
            each.end()
        if os.environ.get("KEEP"):
            print("kept:", self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def main(run):
    """Calls run with the jar; run prints figures and returns the claims that did not hold."""
    jar = sys.argv[sys.argv.index("--jar") + 1]
    wrong = run(jar)
    print("held" if not wrong else "NOT HELD: " + "; ".join(wrong))
    sys.exit(1 if wrong else 0)
