#!/usr/bin/env python3
"""Starts an instance with a file on the state of an earlier one, and checks the result.

The rows are those of the table of docs/guide/state.md.

    src/it/restart/start.py --jar target/berth.jar [--only WORD]

Prints one line for each row: actions -> result. The exit code is 0 when all rows hold. Needs the
standard library and a JDK of 17 or newer (javac, for the served application). Uses free ports of the
loopback; ends only its own processes, by id.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")
WAIT_S = 90  # until an expected state
POLL_S = 0.05

# An application that responds with a word of its jar and one of its arguments; "bad" fails its start.
SHOP = """
package acme;
import dev.berth.api.*;
import io.vertx.core.Future;
import java.util.Map;
public final class Shop {
  public static Application build(Map<String, Object> args) throws Exception {
    String jar;
    try (java.io.InputStream in = Shop.class.getResourceAsStream("/says")) {
      jar = new String(in.readAllBytes(), "UTF-8");
    }
    String says = jar + " " + args.getOrDefault("says", "nothing");
    AsyncHandler handler = (request, context) -> Future.succeededFuture(Response.text(says));
    return Application.of(Deployment.of("shop", replica -> {
      if (says.contains("bad")) {
        throw new IllegalStateException("no model");
      }
      return handler;
    }));
  }
}
"""


class Ended(Exception):
    """The instance ended without a signal."""


class Instance:
    """A process of `berth run`, from its start to its end."""

    def __init__(self, world, arguments):
        self.world = world
        self.log_name = os.path.join(world.folder, "berth.log")
        self.log = open(self.log_name, "a")
        self.begin = self.log.tell()
        self.process = subprocess.Popen(
            world.java + ["run"] + arguments + ["--host", "127.0.0.1", "--port", "0"]
            + ["--admin-port", "0", "--set", "berth.event_loops=1"],
            cwd=world.folder, stdout=self.log, stderr=subprocess.STDOUT)
        self.port, self.admin = self.wait_for_ports()

    def wait_for_ports(self):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = LISTENS.search(self.said())
            if found:
                return int(found.group(1)), int(found.group(2))
            if self.process.poll() is not None:
                raise Ended(self.process.returncode)
            time.sleep(POLL_S)
        raise AssertionError("the instance does not listen:\n" + self.said())

    def said(self):
        with open(self.log_name, errors="replace") as log:
            log.seek(self.begin)
            return log.read()

    def lines(self, level):
        """Returns the log lines of the start's decisions at a level."""
        found = re.findall(r" %s +\S+ - state: (.*)" % level, self.said())
        return [line for line in found if line.startswith(("application ", "target_capacity"))]

    def call(self, port, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def get(self, path):
        try:
            status, body = self.call(self.port, "GET", path)
        except OSError:
            return "no response"
        return body if status == 200 else str(status)

    def serve(self):
        return json.loads(self.call(self.admin, "GET", "/api/v1/serve")[1])

    def applications(self):
        return {each["name"]: each for each in self.serve()["applications"]
                if each["status"] != "DELETING"}

    def settle(self):
        """Waits until no change is in progress; returns statuses by application."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            serve = self.serve()["applications"]
            going = [each for each in serve if each["status"] in ("DEPLOYING", "DELETING")]
            if not going and all(self.is_settled(each) for each in serve):
                return {each["name"]: each["status"] for each in serve}
            time.sleep(POLL_S)
        raise AssertionError("changes still in progress: %s" % self.serve())

    def is_settled(self, application):
        """Returns whether a failed application already serves its last healthy revision, if it has one."""
        if application["status"] != "DEPLOY_FAILED" or application["rollback_revision"] is None:
            return True
        prefix = application["route_prefix"]
        return prefix is None or self.get(prefix) not in ("404", "503")

    def put(self, name, entry):
        status, body = self.call(
            self.admin, "PUT", "/api/v1/applications/" + name, json.dumps(entry))
        assert status == 200, (status, body)
        self.settle()

    def put_all(self, whole):
        status, body = self.call(self.admin, "PUT", "/api/serve/applications/", json.dumps(whole))
        assert status == 200, (status, body)
        self.settle()

    def delete(self, name):
        status, body = self.call(self.admin, "DELETE", "/api/v1/applications/" + name)
        assert status == 200, (status, body)
        self.settle()

    def rollback(self, name):
        status, body = self.call(self.admin, "POST", "/api/v1/applications/%s/rollback" % name)
        assert status == 200, (status, body)
        self.settle()

    def deploy(self, file, *more):
        """Runs `berth deploy`; returns its exit code."""
        done = subprocess.run(
            self.world.java + ["deploy", file, "--address", "http://127.0.0.1:%d" % self.admin]
            + list(more), cwd=self.world.folder, capture_output=True, text=True, timeout=WAIT_S)
        self.settle()
        return done.returncode

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


class World:
    """A folder with files, jars and a state directory, and consecutive instances on it."""

    def __init__(self, jar, classes):
        self.folder = tempfile.mkdtemp(prefix="berth-start-")
        self.java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        self.java += ["-jar", jar]
        self.classes = classes
        self.running = None
        self.jar("shop.jar", "one")

    def path(self, name):
        return os.path.join(self.folder, name)

    def jar(self, name, says):
        """Writes, or overwrites, a jar with this word."""
        with zipfile.ZipFile(self.path(name), "w", zipfile.ZIP_DEFLATED) as jar:
            for folder, _, files in os.walk(self.classes):
                for file in files:
                    whole = os.path.join(folder, file)
                    jar.write(whole, os.path.relpath(whole, self.classes))
            jar.writestr("says", says)

    def cut(self, name):
        """Truncates a jar, as if a write were in progress."""
        with open(self.path(name), "rb") as jar:
            content = jar.read()
        with open(self.path(name), "wb") as jar:
            jar.write(content[: len(content) * 2 // 3])

    def file(self, applications, name="shop.yaml", **more):
        """Writes a configuration as JSON, which is YAML; None omits the key."""
        whole = dict(more)
        if applications is not None:
            whole["applications"] = applications
        with open(self.path(name), "w") as file:
            json.dump(whole, file)

    def start(self, *more, file="shop.yaml"):
        self.stop()
        arguments = ([file] if file else []) + ["--state-dir", self.path("state")] + list(more)
        self.running = Instance(self, arguments)
        self.running.settle()
        return self.running

    def stop(self):
        if self.running:
            self.running.stop()
            self.running = None

    def end(self):
        self.stop()
        shutil.rmtree(self.folder)


def entry(name, says=None, **more):
    whole = {
        "name": name,
        "route_prefix": "/" + name,
        "import_path": "acme.Shop:build",
        "runtime_env": {"jars": ["shop.jar"]},
        "deployments": [{"name": "shop", "berth": {"max_constructor_retry_count": 1}}],
    }
    if says:
        whole["args"] = {"says": says}
    whole.update(more)
    return whole


def look(instance, *names):
    """Returns status and response of each application."""
    applications = instance.applications()
    told = []
    for name in names:
        there = applications.get(name)
        state = there["status"] if there else "absent"
        answers = instance.get("/" + name)
        told.append("%s: %s" % (name, state if state == "absent" else state + ", " + answers))
    return "; ".join(told)


def logged(instance):
    levels = {level: instance.lines(level) for level in ("INFO", "WARN", "ERROR")}
    return ", ".join("%d %s" % (len(all), level) for level, all in levels.items() if all) or "no line"


def says(instance, level, *parts):
    return any(all(part in line for part in parts) for line in instance.lines(level))


# --- the rows: each returns its actions, its result, and whether the result is right ---


def nothing_kept(world):
    world.file([entry("a"), entry("b", "x")])
    run = world.start()
    came = look(run, "a", "b")
    made = os.path.exists(world.path("state"))
    return ("run without state", came + ("; a directory" if made else "; no directory"),
            came == "a: RUNNING, one nothing; b: RUNNING, one x" and not made)


def unchanged_file(world):
    world.file([entry("a")])
    world.file([entry("other", "x")], "other.yaml")
    run = world.start()
    world.jar("shop.jar", "two")
    run.deploy("shop.yaml", "--wait")
    run.deploy("other.yaml", "--app", "other", "--wait")
    run = world.start()
    came = look(run, "a", "other")
    return ("run; jar rebuilt, deploy; deploy another file with --app; restart",
            came + "; " + logged(run),
            came == "a: RUNNING, two nothing; other: RUNNING, two x" and logged(run) == "no line")


def unchanged_file_after_another_of_the_same_application(world):
    world.file([entry("a")])
    world.file([entry("a", "x")], "other.yaml")
    run = world.start()
    run.deploy("other.yaml", "--wait")
    run = world.start()
    came = look(run, "a")
    return ("run; deploy another file with the same application; restart",
            came + "; " + logged(run), came == "a: RUNNING, one x" and logged(run) == "no line")


def unchanged_file_after_a_rollback(world):
    world.file([entry("a")])
    world.jar("shop.jar", "good")
    run = world.start()
    world.jar("shop.jar", "bad")
    run.deploy("shop.yaml", "--wait")
    run.rollback("a")
    try:
        run = world.start()
    except Ended as ended:
        return ("run; a bad build deployed, rolled back; restart",
                "the instance ended with %s" % ended, False)
    came = look(run, "a")
    return ("run; a bad build deployed, rolled back; restart", came + "; " + logged(run),
            came == "a: RUNNING, good nothing" and logged(run) == "no line")


def unchanged_file_after_a_scale_and_a_delete(world):
    world.file([entry("a", external_scaler_enabled=True), entry("b")])
    run = world.start()
    run.call(run.admin, "POST", "/api/v1/applications/a/deployments/shop/scale",
             '{"target_num_replicas": 2}')
    run.delete("b")
    run = world.start()
    replicas = run.applications()["a"]["deployments"][0]["target_replicas"]
    came = look(run, "a", "b") + "; %d replicas of a; %s" % (replicas, logged(run))
    return ("run; scale a, delete b; restart", came,
            came == "a: RUNNING, one nothing; b: absent; 2 replicas of a; 1 WARN"
            and says(run, "WARN", "application b", "deleted", "berth deploy"))


def known_after_a_rollback(world):
    world.file([entry("a")])
    run = world.start()
    run.put("a", entry("a", "x"))
    run.rollback("a")
    world.file([entry("a", "x")])
    run = world.start()
    first = look(run, "a") + "; " + logged(run)
    run = world.start()
    came = first + "; again: " + look(run, "a") + "; " + logged(run)
    return ("deploy x, roll back; file declares x; restart twice", came,
            came == "a: RUNNING, one nothing; no line; again: a: RUNNING, one nothing; no line")


def known_though_it_failed(world):
    world.file([entry("a")])
    run = world.start()
    run.put("a", entry("a", "bad"))
    world.file([entry("a", "bad")])
    try:
        run = world.start()
    except Ended as ended:
        return ("deploy bad; file declares bad; restart", "the instance ended with %s" % ended, False)
    came = look(run, "a") + "; " + logged(run)
    return ("deploy bad; file declares bad; restart", came,
            came == "a: DEPLOY_FAILED, one nothing; no line")


def file_moved(world):
    world.file([entry("a"), entry("b")])
    run = world.start()
    run.put("c", entry("c"))
    world.file([entry("a", "x"), entry("b")])
    run = world.start()
    revision = run.applications()["b"]["revision"]
    came = look(run, "a", "b", "c") + "; " + logged(run)
    return ("deploy c; file declares x for a; restart", came + "; b has revision %d" % revision,
            came == "a: RUNNING, one x; b: RUNNING, one nothing; c: RUNNING, one nothing; 1 INFO"
            and revision == 2)


def file_moved_back(world):
    world.file([entry("a")])
    run = world.start()
    run.put("c", entry("c"))
    world.file([entry("a", "x")])
    world.start()
    world.file([entry("a")])
    run = world.start()
    came = look(run, "a", "c") + "; " + logged(run)
    return ("file declares x, restart; file is as before, restart", came,
            came == "a: RUNNING, one nothing; c: RUNNING, one nothing; 1 INFO")


def jar_rebuilt_in_place(world):
    world.file([entry("a")])
    run = world.start()
    world.jar("c.jar", "one")
    run.put("c", entry("c", runtime_env={"jars": ["c.jar"]}))
    world.jar("shop.jar", "two")
    run = world.start()
    came = look(run, "a", "c") + "; " + logged(run)
    return ("jar of the file rebuilt in place; restart", came,
            came == "a: RUNNING, two nothing; c: RUNNING, one nothing; 1 INFO")


def both_moved(world):
    world.file([entry("a")])
    run = world.start()
    run.put("a", entry("a", "x"))
    world.file([entry("a", "y")])
    run = world.start()
    came = look(run, "a") + "; " + logged(run)
    named = says(run, "WARN", "application a", "revision 2", "berth rollback a")
    run.rollback("a")
    back = run.get("/a")
    return ("deploy x; file declares y; restart; berth rollback", came + "; then " + back,
            came == "a: RUNNING, one y; 1 WARN" and named and back == "one x")


def first_named(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b", "x"))
    world.file([entry("a"), entry("b", "y")])
    run = world.start()
    came = look(run, "a", "b") + "; " + logged(run)
    return ("deploy b; file declares another b; restart", came,
            came == "a: RUNNING, one nothing; b: RUNNING, one y; 1 WARN"
            and says(run, "WARN", "application b", "revision 2", "berth rollback b"))


def named_no_longer(world):
    world.file([entry("a"), entry("b"), entry("c")])
    run = world.start()
    run.put("c", entry("c", "x"))
    world.file([entry("a")])
    run = world.start()
    came = look(run, "a", "b", "c") + "; " + logged(run)
    right = (came == "a: RUNNING, one nothing; b: absent; c: RUNNING, one x; 2 WARN"
             and says(run, "WARN", "application b", "deleted")
             and says(run, "WARN", "application c", "stays"))
    world.file([entry("a"), entry("b")])
    run = world.start()
    back = look(run, "b")
    return ("deploy c; file declares neither b nor c; restart; file declares b again; restart",
            came + "; then " + back, right and back == "b: RUNNING, one nothing")


def no_applications_key(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    world.file(None)
    run = world.start()
    none = look(run, "a", "b") + "; " + logged(run)
    run = world.start(file=None)
    no_file = look(run, "a", "b") + "; " + logged(run)
    world.file([])
    run = world.start()
    empty = look(run, "a", "b") + "; " + logged(run)
    both = "a: RUNNING, one nothing; b: RUNNING, one nothing; no line"
    return ("file without applications; no file; an empty list",
            "%s / %s / %s" % (none, no_file, empty),
            none == both and no_file == both
            and empty == "a: absent; b: RUNNING, one nothing; 1 WARN")


def jar_missing(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    os.remove(world.path("shop.jar"))
    run = world.start()
    missing = look(run, "a", "b") + "; " + logged(run)
    world.jar("shop.jar", "two")
    world.cut("shop.jar")
    run = world.start()
    half = look(run, "a", "b") + "; " + logged(run)
    world.jar("shop.jar", "two")
    run = world.start()
    whole = look(run, "a", "b") + "; " + logged(run)
    both = "a: RUNNING, one nothing; b: RUNNING, one nothing; 1 ERROR"
    return ("jar missing, restart; half written, restart; whole, restart",
            "%s / %s / %s" % (missing, half, whole),
            missing == both and half == both
            and whole == "a: RUNNING, two nothing; b: RUNNING, one nothing; 1 INFO")


def entry_refused(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    world.file([entry("a", colour="red"), {"name": "c", "route_prefix": "/c"}, entry("d")])
    run = world.start()
    came = look(run, "a", "b", "c", "d") + "; " + logged(run)
    return ("an entry with an unknown key, one without code; restart", came,
            came == "a: RUNNING, one nothing; b: RUNNING, one nothing; c: DEPLOY_FAILED, 404; "
            "d: RUNNING, one nothing; 1 INFO, 2 ERROR"
            and says(run, "ERROR", "application a", "colour", "revision 1"))


def route_taken(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    world.file([entry("a", route_prefix="/b"), entry("c")])
    run = world.start()
    came = look(run, "a", "b", "c") + "; " + logged(run)
    return ("deploy b; file moves a to /b; restart", came,
            came == "a: RUNNING, one nothing; b: RUNNING, one nothing; c: RUNNING, one nothing; "
            "1 INFO, 1 ERROR" and says(run, "ERROR", "application a", "route_prefix"))


def no_application_kept(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    run.put_all({"applications": []})
    world.file([entry("a", colour="red")])
    try:
        world.start()
        return ("all deleted; an entry with an unknown key; restart", "the instance runs", False)
    except Ended as ended:
        return ("all deleted; an entry with an unknown key; restart",
                "the instance ends with %s" % ended, str(ended) == "2")


def does_not_start(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    world.file([entry("a", "bad")])
    run = world.start()
    first = look(run, "a", "b") + "; " + logged(run)
    run = world.start()
    again = look(run, "a", "b") + "; " + logged(run)
    return ("file declares bad; restart twice", "%s / %s" % (first, again),
            first == "a: DEPLOY_FAILED, one nothing; b: RUNNING, one nothing; 1 INFO"
            and again == "a: DEPLOY_FAILED, one nothing; b: RUNNING, one nothing; no line")


def another_form(world):
    world.file([entry("a")])
    state = world.path("state/state-00000001")
    head = b"BERTHST\x01"
    payload = b'{"revision":1,"term":1,"file":"abc","applications":[],"removed":[]}'
    record = struct.pack(">IQ", len(payload), 1)
    kept = (head + struct.pack(">I", crc32c(head)) + record
            + struct.pack(">II", crc32c(record), crc32c(payload)) + payload)
    os.mkdir(world.path("state"), mode=0o700)
    with open(state, "wb") as file:
        file.write(kept)
    did = "state in another format"
    try:
        world.start()
        return did, "the instance runs", False
    except Ended as ended:
        with open(world.path("berth.log"), encoding="utf-8") as log, open(state, "rb") as file:
            named = state + ": a record of another form at byte 12 (expected: " in log.read()
            same = file.read() == kept
        return (did, "the instance ends with %s, %s the file, and %s it" % (
            ended, "names" if named else "does not name", "leaves" if same else "changes"),
            str(ended) == "1" and named and same)


def capacity(world):
    many = entry("a", deployments=[{"name": "shop", "num_replicas": 4}])

    def now(run):
        return "%s; %s" % (run.serve()["target_capacity"], logged(run))

    world.file([many], target_capacity=50)
    run = world.start()
    run.put_all({"applications": [dict(many)], "target_capacity": 75})
    came = [now(world.start())]
    world.file([many], target_capacity=25)
    came.append(now(world.start()))
    world.file([many], target_capacity=100)
    came.append(now(world.start()))
    world.file([many])
    came.append(now(world.start()))
    return ("target_capacity: 50, deploy 75, restart; file declares 25; 100; none",
            " / ".join(came),
            came == ["75.0; no line", "25.0; 1 WARN", "100.0; 1 INFO", "None; 1 WARN"])


def http_options(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    world.file([entry("a")], http_options={"root_path": "/x"})
    run = world.start()
    came = "%s; %s" % (run.get("/x/a"), logged(run))
    return ("deploy b; file declares another root_path; restart", came,
            came == "one nothing; no line")


def declare_never(world):
    world.file([entry("a")])
    run = world.start()
    run.put("b", entry("b"))
    world.file([entry("a", "x")])
    never = look(world.start("--declare=never"), "a", "b")
    later = look(world.start(), "a", "b")
    return ("file declares x; restart with --declare=never; without", never + " / " + later,
            never == "a: RUNNING, one nothing; b: RUNNING, one nothing"
            and later == "a: RUNNING, one x; b: RUNNING, one nothing")


def declare_all(world):
    world.file([entry("a"), entry("b")])
    run = world.start()
    run.put("a", entry("a", "x"))
    run.put("c", entry("c"))
    run.delete("b")
    run = world.start("--declare=all")
    came = look(run, "a", "b", "c") + "; " + logged(run)
    return ("deploy x for a, deploy c, delete b; restart with --declare=all", came,
            came == "a: RUNNING, one nothing; b: RUNNING, one nothing; c: RUNNING, one nothing; "
            "1 INFO, 1 WARN")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


ROWS = [
    nothing_kept, unchanged_file, unchanged_file_after_another_of_the_same_application,
    unchanged_file_after_a_rollback, unchanged_file_after_a_scale_and_a_delete,
    known_after_a_rollback, known_though_it_failed, file_moved, file_moved_back,
    jar_rebuilt_in_place, both_moved, first_named, named_no_longer, no_applications_key,
    jar_missing, entry_refused, route_taken, no_application_kept, does_not_start, another_form,
    capacity, http_options, declare_never, declare_all,
]


def compiled(jar, folder):
    source = os.path.join(folder, "Shop.java")
    with open(source, "w") as file:
        file.write(SHOP)
    classes = os.path.join(folder, "classes")
    subprocess.run(["javac", "--release", "17", "-cp", jar, "-d", classes, source], check=True)
    return classes


def attempt(row, jar, classes):
    world = World(jar, classes)
    try:
        return row(world)
    except Ended as ended:
        return "…", "the instance ended with %s" % ended, False
    except (AssertionError, OSError, KeyError, ValueError) as failed:
        return "…", "%s: %s" % (type(failed).__name__, str(failed)[:300]), False
    finally:
        world.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jar", required=True)
    parser.add_argument("--only", default="", help="rows with this word in their name")
    options = parser.parse_args()
    jar = os.path.abspath(options.jar)
    folder = tempfile.mkdtemp(prefix="berth-start-")
    wrong = 0
    try:
        classes = compiled(jar, folder)
        for row in ROWS:
            if options.only in row.__name__:
                did, came, right = attempt(row, jar, classes)
                wrong += not right
                name = row.__name__.replace("_", " ")
                print("%s %s: %s -> %s" % ("ok  " if right else "FAIL", name, did, came), flush=True)
    finally:
        shutil.rmtree(folder)
    print("%d rows failed" % wrong if wrong else "all rows held")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
