#!/usr/bin/env python3
"""Redeploys one application under traffic and checks its figures for growth.

    src/it/redeploys.py [--redeploys=200] [--jar=target/berth.jar]

The figures are heap, metaspace, class loaders, threads, file descriptors, files of the state, and
failed requests. Needs only the standard library and a JDK (javac, jcmd; JAVA_HOME, or that of java on
the path). Compiles two small applications against the jar. Each redeploy uses one of them, with a new
stamp in its jar that overwrites the last one, so every build differs. Prints a line every 50 redeploys
and compares the last line with the first, which is warm. The exit code is 1 when a figure grew by more
than its margin.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")
START_LIMIT_S = 120
DEPLOY_LIMIT_S = 60
FORGOTTEN_LIMIT_S = 240
REPLICAS = 3
CLIENTS = 3
PAUSE_S = 0.01  # between two requests of a client: some hundred requests per second in total
EVERY = 50

# Permitted growth of each figure from the first line to the last.
MARGINS = {
    "heap_kb": 1024,  # live; the ballast of two builds is half of it
    "metaspace_kb": 2048,  # one build takes 200
    "loaders": 2,  # of applications; one more build may be stopping
    "classes": 400,  # Berth's own lambdas and reflection at first use
    "threads": 3,
    "descriptors": 6,  # connections of clients among them
    "jars_kb": 64,
    "state_kb": 2048,  # the journal begins a new file after a mebibyte
    "temporary": 0,  # Berth's files in the temporary folder
}

SOURCE = """
package demo;

import dev.berth.api.*;
import io.vertx.core.Future;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.ServiceLoader;

public final class %(name)s {
  /** Makes a leaked class loader visible at once. */
  private static final byte[] BALLAST = new byte[256 * 1024];
  /** A value of an application class, which would retain the class loader on a permanent thread. */
  private static final ThreadLocal<Held> LOCAL = ThreadLocal.withInitial(Held::new);

  static final class Held {
    final byte[] ballast = BALLAST;
  }

  public static Application build(Map<String, Object> args) {
    return Application.of(
        Deployment.of("front", replica -> new Front(replica))
            .withSpreadOverLoops(true).withMaxOngoingRequests(100),
        Deployment.of("back", replica -> new Back(replica))
            .withNumReplicas(2).withMaxOngoingRequests(4));
  }

  static String stamp() throws Exception {
    try (InputStream in = %(name)s.class.getResourceAsStream("/stamp")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  static final class Front implements AsyncHandler {
    private final DeploymentHandle back;
    private final ReplicaContext replica;

    Front(ReplicaContext replica) {
      this.replica = replica;
      back = replica.handle("back");
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      LOCAL.get(); // remains on an event loop's thread
      context.onCancel(() -> {});
      context.after(java.time.Duration.ofMinutes(10));
      context.meters().counter("front_total").increment();
      if (request.path().endsWith("fail")) {
        return Future.failedFuture(new Own("front"));
      }
      return back.call(request);
    }
  }

  static final class Back implements BlockingHandler {
    private final String stamp;

    Back(ReplicaContext replica) throws Exception {
      stamp = stamp();
      org.slf4j.LoggerFactory.getLogger("demo." + stamp).debug("made");
      ServiceLoader.load(Runnable.class).findFirst();
    }

    @Override
    public Response handle(Request request, RequestContext context) {
      LOCAL.get();
      context.logger().info("asked {}", stamp);
      context.meters().counter("back_total").increment();
      return Response.text(stamp);
    }
  }

  static final class Own extends RuntimeException {
    Own(String what) {
      super(what);
    }
  }
}
"""


def home():
    """Returns the home of a JDK."""
    java = os.environ.get("JAVA_HOME")
    if not java:
        java = str(pathlib.Path(shutil.which("java")).resolve().parent.parent)
    if not os.path.exists(java + "/bin/javac"):
        sys.exit(java + ": no javac (expected: a JDK; set JAVA_HOME)")
    return java


class Clients:
    """Clients with persistent connections; counts responses by status and failures by type."""

    def __init__(self, port):
        self.port = port
        self.counts = {}
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CLIENTS)]

    def start(self):
        for each in self.threads:
            each.start()

    def run(self):
        connection = None
        asked = 0
        while not self.over.is_set():
            asked += 1
            path = "/a/fail" if asked % 100 == 0 else "/a"
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                what = "meant" if path == "/a/fail" and answer.status == 500 else answer.status
            except (OSError, http.client.HTTPException) as cut:
                what = type(cut).__name__
                connection = None
            with self.lock:
                self.counts[what] = self.counts.get(what, 0) + 1
            self.over.wait(PAUSE_S)
        if connection is not None:
            connection.close()

    def stop(self):
        self.over.set()
        for each in self.threads:
            each.join(60)


class Instance:
    def __init__(self, java, jar, folder):
        self.java = java
        self.folder = folder
        self.log_name = folder + "/berth.log"
        os.mkdir(folder + "/tmp")
        command = [java + "/bin/java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-Djava.io.tmpdir=" + folder + "/tmp", "-jar", jar, "run"]
        command += ["--state-dir", folder + "/state", "--host", "127.0.0.1", "--port", "0"]
        command += ["--admin-port", "0", "--set", "berth.event_loops=2"]
        command += ["--set", "berth.log_ring.bytes=65536"]  # full before the first line
        # Berth retains stopped replicas for this time, and at least for a minute.
        command += ["--set", "berth.limits.max_reservation_ttl_s=1"]
        with open(self.log_name, "w") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            found = LISTENS.search(self.said())
            if found:
                self.port, self.admin = int(found.group(1)), int(found.group(2))
                return
            time.sleep(0.05)
        self.stop()
        raise AssertionError("the instance did not start:\n" + self.said())

    def said(self):
        return pathlib.Path(self.log_name).read_text(encoding="utf-8")

    def ask(self, port, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def deploy(self, name, jar, stamp):
        """Deploys a build and returns when it responds."""
        status, said = self.ask(
            self.admin,
            "PUT",
            "/api/v1/applications/a",
            {
                "import_path": "demo." + name + ":build",
                "route_prefix": "/a",
                "runtime_env": {"jars": [jar]},
                "args": {},
                "deployments": [],
            },
        )
        assert status == 200, (status, said)
        end = time.monotonic() + DEPLOY_LIMIT_S
        said = ""
        while time.monotonic() < end:
            status, said = self.ask(self.port, "GET", "/a")
            if (status, said) == (200, stamp):
                return
            time.sleep(0.02)
        raise AssertionError(f"{stamp} does not respond: {status} {said}\n{self.said()[-4000:]}")

    def settled(self):
        """Waits until replicas of older builds are removed and forgotten, which takes a minute."""
        end = time.monotonic() + FORGOTTEN_LIMIT_S
        while time.monotonic() < end:
            histogram = self.jcmd("GC.class_histogram")  # of live objects
            if objects(histogram, "dev.berth.replica.Replica") == REPLICAS:
                return
            time.sleep(5)
        raise AssertionError("old replicas remain:\n" + self.ask(self.admin, "GET", "/api/v1/ledger")[1])

    def jcmd(self, *what):
        return subprocess.run(
            [self.java + "/bin/jcmd", str(self.process.pid), *what],
            check=True, capture_output=True, text=True, timeout=120,
        ).stdout

    def figures(self):
        self.jcmd("GC.run")
        histogram = self.jcmd("GC.class_histogram")
        heap = self.jcmd("GC.heap_info")
        metaspace = re.search(r"Metaspace\s+used (\d+)K", heap)
        classes = self.jcmd("VM.classloader_stats")
        pid = self.process.pid
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        state = pathlib.Path(self.folder, "state")
        return {
            "heap_kb": int(re.search(r"Total\s+\d+\s+(\d+)", histogram).group(1)) // 1024,
            "metaspace_kb": int(metaspace.group(1)),
            "loaders": objects(histogram, "dev.berth.code.ApplicationClassLoader"),
            "classes": int(re.search(r"Total = \d+\s+(\d+)", classes).group(1)),
            "threads": int(re.search(r"Threads:\s+(\d+)", status).group(1)),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "jars_kb": size(state / "jars"),
            "state_kb": size(state) - size(state / "jars"),
            "temporary": sum(1 for each in pathlib.Path(self.folder, "tmp").rglob("*berth*")),
        }

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def objects(histogram, name):
    """Returns the number of objects of a class."""
    found = re.search(r"(\d+)\s+\d+\s+" + re.escape(name) + r"(?:\s|$)", histogram)
    return int(found.group(1)) if found else 0


def size(folder):
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) // 1024


def compiled(java, berth, folder, name):
    """Compiles one application; returns its classes by their path in the jar."""
    source = pathlib.Path(folder, name + ".java")
    source.write_text(SOURCE % {"name": name}, encoding="utf-8")
    classes = pathlib.Path(folder, "classes-" + name)
    subprocess.run(
        [java + "/bin/javac", "--release", "17", "-cp", berth, "-d", str(classes), str(source)],
        check=True, timeout=120,
    )
    return {str(each.relative_to(classes)): each.read_bytes() for each in classes.rglob("*.class")}


def pack(file, classes, stamp):
    """Writes a jar to a new file and moves it over the old one, as builds do."""
    with zipfile.ZipFile(file + ".new", "w", zipfile.ZIP_DEFLATED) as jar:
        for name, content in classes.items():
            jar.writestr(name, content)
        jar.writestr("stamp", stamp)
    os.replace(file + ".new", file)


def line(number, figures):
    print(f"{number:>9} " + " ".join(f"{figures[name]:>12}" for name in MARGINS), flush=True)


def run(options, folder):
    java, berth = home(), os.path.abspath(options.jar)
    kinds = [(name, compiled(java, berth, folder, name)) for name in ("Red", "Blue")]
    jar = folder + "/a.jar"
    instance = Instance(java, berth, folder)
    try:
        clients = Clients(instance.port)
        first = last = None
        print("redeploys " + " ".join(f"{name:>12}" for name in MARGINS))
        for number in range(1, options.redeploys + 1):
            name, classes = kinds[number % 2]
            stamp = f"build-{number}"
            pack(jar, classes, stamp)
            instance.deploy(name, jar, stamp)
            if number == 1:
                clients.start()
            if number % EVERY == 0:
                instance.settled()
                last = instance.figures()
                first = first or last
                line(number, last)
        clients.stop()
        print("responses: " + json.dumps(clients.counts))
        grown = {
            name: f"{first[name]} -> {last[name]} (expected: at most {most} more)"
            for name, most in MARGINS.items()
            if last[name] - first[name] > most
        }
        other = {str(what) for what in clients.counts} - {"200", "meant"}
        if other:
            grown["responses"] = f"{sorted(other)} (expected: only 200)"
        for name, what in grown.items():
            print(f"GROWS {name}: {what}")
        print("flat" if not grown else "not flat")
        return 1 if grown else 0
    finally:
        instance.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redeploys", type=int, default=200)
    parser.add_argument("--jar", default="target/berth.jar")
    options = parser.parse_args()
    if options.redeploys < 2 * EVERY:
        parser.error(f"--redeploys: {options.redeploys} (expected: at least {2 * EVERY})")
    folder = tempfile.mkdtemp(prefix="berth-redeploys-")
    try:
        sys.exit(run(options, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
