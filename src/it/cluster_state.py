#!/usr/bin/env python3
"""Tests outdated, empty and damaged state directories. Standard library only.

    src/it/cluster_state.py BERTH_JAR EXAMPLES_JAR [--before=BERTH_JAR] [--only=NAME,...] [--port=N]
                            [--keep]

Runs a control node and a worker on the loopback. For each fault it prints the observations of an
operator and a client, beside those of the version before issue 28. With --before it measures the latter
here. The exit code is 1 when a claim does not hold.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

APP = """
applications:
  - name: echo
    route_prefix: /echo
    import_path: dev.berth.examples.Quickstart:echo
    runtime_env: {{jars: ["{jar}"]}}
    deployments: [{{name: echo, num_replicas: {replicas}, max_replicas_per_node: 2}}]
"""


MOUNTS = "BERTH_STATE_MOUNTS"  # set if a tmpfs may be mounted


class Node:
    def __init__(self, berth, folder, name, port):
        self.berth, self.folder, self.name = berth, folder, name
        self.control, base = port, port + 10 * int(name[1:])
        self.http, self.admin = base, base + 1
        self.state = folder / name
        self.config = folder / f"{name}.yaml"
        self.config.write_text(f"""
http_options: {{host: 127.0.0.1, port: {self.http}, request_timeout_s: 5}}
berth:
  event_loops: 2
  admin: {{port: {self.admin}}}
  state_dir: {self.state}
  cluster:
    name: it
    node: {name}
    role: {"control" if name == "n1" else "worker"}
    control: ["n1@127.0.0.1:{port}"]
    bind: 127.0.0.1
    insecure: true
    ports: {{control: {port if name == "n1" else base + 2}, data: {base + 3}, https: {base + 4}, consensus: {base + 5}}}
    detection: {{interval_ms: 200, timeout_ms: 2000}}
""", encoding="utf-8")
        self.process, self.log, self.starts = None, None, 0

    def start(self, *words):
        self.starts += 1
        self.log = self.folder / f"{self.name}-{self.starts}.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", self.berth,
                 "run", str(self.config), *words], stdout=log, stderr=log)

    def end(self, which=signal.SIGKILL):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(which)
            self.process.wait(60)

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def why(self):
        """Returns exit code, cause and number of lines of a failed start; None if it still runs."""
        if until(lambda: self.process.poll() is not None, 40) is None:
            return None
        lines = [line for line in self.said().splitlines() if " INFO " not in line]
        found = [line for line in lines if line.startswith("berth: cannot start: ")]
        return self.process.returncode, found[0].removeprefix("berth: cannot start: ") if found else "", len(lines)

    def ask(self, method, path, body=None):
        """Returns status and text of the admin server; (0, cause) without a response."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin}{path}", method=method,
                                         data=None if body is None else body.encode())
        return answer(request)

    def errors(self):
        return [line for line in self.said().splitlines() if " ERROR " in line]

    def serves(self):
        return answer(urllib.request.Request(f"http://127.0.0.1:{self.http}/echo", data=b"hello"))[0]

    def status(self):
        code, text = self.ask("GET", "/api/v1/cluster")
        return json.loads(text) if code == 200 else {}


def answer(request):
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError as failed:
        return 0, str(failed)


def until(so, limit_s=30):
    begin = time.monotonic()
    while time.monotonic() - begin < limit_s:
        if so():
            return time.monotonic() - begin
        time.sleep(0.1)
    return None


class Way:
    """One run of a fault with one jar."""

    def __init__(self, options, berth):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-state-"))
        self.n1 = Node(berth, self.folder, "n1", options.port)
        self.n2 = Node(berth, self.folder, "n2", options.port)
        self.jar = self.folder / "app.jar"
        shutil.copy(options.examples, self.jar)

    def alive(self):
        said = self.n1.status()
        return not said.get("stands_by") and any(
            each["name"] == "n2" and each["state"] == "ALIVE" for each in said.get("nodes", []))

    def deploy(self, replicas, at=None):
        return (at or self.n1).ask("PUT", "/api/serve/applications/", APP.format(jar=self.jar, replicas=replicas))

    def replicas(self, at=None):
        code, text = (at or self.n1).ask("GET", "/api/serve/applications/")
        if code != 200:
            return code
        found = json.loads(text)["applications"].get("echo", {}).get("deployments", {}).get("echo", {})
        return sum(each["state"] == "RUNNING" for each in found.get("replicas", []))

    def state(self):
        code, text = self.n1.ask("GET", "/api/serve/applications/")
        return json.loads(text)["applications"].get("echo", {}).get("status") if code == 200 else code

    def told(self):
        """Returns status messages about damaged files."""
        said = re.findall(r'"message"\s*:\s*"([^"]+)"', self.n1.ask("GET", "/api/serve/applications/")[1])
        return [each[:220] for each in said if "damaged" in each]

    def scale(self, replicas):
        path = "/api/v1/applications/echo/deployments/echo/scale"
        return self.n1.ask("POST", path, json.dumps({"target_num_replicas": replicas, "autoscaling": "pause"}))

    def begin(self, replicas=2):
        self.n1.start()
        self.n2.start()
        if until(self.alive, 60) is None or self.deploy(replicas)[0] != 200 or until(
                lambda: self.replicas() == replicas and self.n2.serves() == 200, 60) is None:
            raise SystemExit(f"the cluster did not start:\n{self.n1.said()[-2000:]}\n{self.n2.said()[-2000:]}")

    def segments(self):
        return sorted(self.n1.state.glob("log/*/current/log_*"), key=lambda each: int(re.findall(r"\d+", each.name)[0]))

    def end(self):
        self.n1.end()
        self.n2.end()
        subprocess.run(["umount", "-q", self.n1.state], stderr=subprocess.DEVNULL, check=False)
        if self.options.keep:
            print(f"  kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def forward(way):
    """F24: the control node starts with empty state; a worker receives a deploy and a delete."""
    way.begin()
    way.n1.end()
    way.n1.state.rename(way.folder / "lost")
    way.n1.start()
    until(lambda: way.n1.status().get("strangers"))
    deploys = way.deploy(1, way.n2)
    deletes = way.n2.ask("DELETE", "/api/v1/applications/echo")
    asked = way.n1.ask("GET", "/api/v1/applications/echo/history")
    serves = way.n2.serves()
    said = re.search(r'"message"\s*:\s*"([^"]*)"', deletes[1])
    return (deploys[0] == deletes[0] == asked[0] == 503 and serves == 200,
            f"at n2: deploy {deploys[0]}, delete {deletes[0]}; n1 itself: {asked[0]}; n2 serves {serves};"
            f" {said[1] if said else deletes[1][:160]}")


def older(way):
    """F25: an old copy of the state starts four times, and is then adopted."""
    way.begin(1)
    way.n1.end()
    shutil.copytree(way.n1.state, way.folder / "backup")
    way.n1.start()
    until(way.alive)
    until(lambda: way.deploy(3)[0] == 200)
    until(lambda: way.replicas() == 3)
    way.n1.end()
    shutil.rmtree(way.n1.state)
    shutil.copytree(way.folder / "backup", way.n1.state)
    seen = []
    for _ in range(4):
        way.n1.start()
        until(lambda: way.n1.status().get("stands_by") or way.alive())
        if way.alive():
            until(lambda: way.replicas(way.n2) == 1, 15)
        seen.append("stands by" if way.n1.status().get("stands_by") else f"commands, {way.replicas()} replicas")
        way.n1.end()
    told = ["run --adopt does not exist"]
    adopted = None
    way.n1.start("--adopt")
    ended = way.n1.why()
    if ended and (named := re.search(r"--adopt=(\S+:\d+)", ended[1])):
        told = [ended[1][:220]]
        way.n1.start(f"--adopt={named[1]}")
        adopted = until(way.alive)
        until(lambda: way.replicas() == 1 and way.n2.serves() == 200)
    return (seen == ["stands by"] * 4 and adopted is not None and way.n2.serves() == 200,
            f"four starts: {seen}; --adopt: {told[0]} …; adopted: {adopted is not None}")


def restored(way):
    """F25: a backup without later deploys is restored."""
    way.begin(1)
    way.n1.end()
    shutil.copytree(way.n1.state, way.folder / "backup")
    for _ in range(3):
        way.n1.start()
        until(way.alive)
        time.sleep(1)
        way.n1.end()
    shutil.rmtree(way.n1.state)
    shutil.copytree(way.folder / "backup", way.n1.state)
    way.n1.start()
    commands = until(way.alive, 20)
    deployed = way.deploy(2)[0]
    return (commands is not None and deployed == 200,
            f"commands: {commands is not None}, a deploy: {deployed}; {way.n1.status().get('stands_by') or ''}")


def emptied(way):
    """F26: the newest file of the log is empty."""
    way.begin()
    way.n1.end()
    newest = way.segments()[-1]
    os.truncate(newest, 0)
    way.n1.start()
    ended = way.n1.why() if until(lambda: way.n1.process.poll() is not None, 12) else None
    if ended is None:
        time.sleep(5)
        return False, (f"it runs: {newest.name} is empty; cluster id differs or terms repeat;"
                       f" at n1 {way.n1.serves()}, strangers {way.n1.status().get('strangers')},"
                       f" stands by {way.n1.status().get('stands_by')}")
    again = [ended]
    way.n1.start()
    again.append(way.n1.why())
    return (all(each and each[0] == 1 and "missing" in each[1] and each[2] <= 3 for each in again)
            and way.n2.serves() == 200, f"two starts: {again[0]}; {again[1] == again[0]}; n2 serves {way.n2.serves()}")


def flipped(way):
    """F27: one byte in the middle of the log changes."""
    way.begin()
    way.n1.end()
    newest = way.segments()[-1]
    data = bytearray(newest.read_bytes())
    at = data.rindex(b"echo")
    data[at] ^= 1
    newest.write_bytes(data)
    way.n1.start()
    ended = way.n1.why()
    return (ended is not None and ended[0] == 1 and "damaged" in ended[1] and ended[2] <= 3
            and "Exception" not in ended[1], f"{ended}")


def jar(way):
    """F27: one byte of a jar on the control node changes; then again while the worker is stopped."""
    way.begin()
    way.n1.end()
    kept, data = flip(way)
    way.n1.start()
    until(way.alive)
    whole = until(lambda: kept.exists() and kept.read_bytes() == bytes(data), 20)
    runs = until(lambda: way.state() == "RUNNING" and way.replicas() == 2, 20)
    serves = way.n1.serves(), way.n2.serves()
    aside = [each.name for each in (way.n1.state / "jars").glob("*corrupt*")]
    scaled = until(lambda: way.scale(4)[0] == 200, 5) is not None and until(lambda: way.replicas() == 4, 20)
    way.n1.end()
    way.n2.end()
    flip(way)
    way.n1.start()
    until(lambda: way.told(), 30)
    told = way.told()
    way.n2.start()
    back = until(lambda: way.state() == "RUNNING" and way.replicas() == 4, 40)
    return (bool(aside) and serves == (200, 200) and bool(told)
            and None not in (whole, runs, scaled, back),
            f"set aside: {bool(aside)}; fetched from n2: {seconds(whole)}; runs: {seconds(runs)};"
            f" n1 and n2 serve {serves}; scaled to 4: {seconds(scaled)}; without n2, status: {told};"
            f" with n2 again: {seconds(back)}")


def full(way):
    """F28: the disk of the state directory is full, on a control node and on a standalone instance."""
    if MOUNTS not in os.environ:
        return True, "skipped: a tmpfs needs permission to mount (unshare -m)"
    seen, held = [], []
    for alone in (False, True):
        way.n1.end()
        if alone:
            way.n1.config.write_text(way.n1.config.read_text().split("  cluster:")[0], encoding="utf-8")
            shutil.rmtree(way.n1.state / "log")
            way.n1.start()
            up = until(lambda: way.deploy(1)[0] == 200 and way.n1.serves() == 200, 60)
        else:
            way.n1.state.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", way.n1.state], check=True)
            up = way.begin()
        before = len(way.n1.errors())
        fill = fills(way.n1.state)
        codes = [way.deploy(1 + each % 2)[0] for each in range(10)]
        served = {way.n1.serves() for _ in range(20)}
        refused, errors = codes.count(503), len(way.n1.errors()) - before
        way.n1.end()
        way.n1.start()
        ended = None if alone else way.n1.why()
        restarted = until(lambda: way.n1.serves() == 200, 40) is not None if alone else ended
        others = 200 if alone else way.n2.serves()
        lines = len(way.n1.errors())
        way.n1.end()
        fill.unlink()
        way.n1.start()
        healed = until(lambda: way.deploy(2)[0] == 200 and way.n1.serves() == 200, 60)
        seen.append(f"{'alone' if alone else 'control node'}: {refused} of 10 deploys 503, {errors} ERROR lines,"
                    f" requests {sorted(served)}; restarted: {restarted}, {lines} ERROR lines;"
                    f" with free space again: {seconds(healed)}")
        held += [up != 0, refused > 0, errors <= refused, served == {200}, others == 200, lines <= 1,
                 restarted if alone else bool(ended) and ended[0] == 1 and ended[2] == 1, healed is not None]
    return all(held), "; ".join(seen)


def fills(folder):
    """Writes a file until the disk is full; returns its path."""
    path = folder / "fill"
    with open(path, "wb", buffering=0) as out:
        for block in (1 << 16, 1):
            try:
                while out.write(b"x" * block):
                    pass
            except OSError:
                pass
    return path


def copies(way):
    """Attack: two control nodes run on copies of one state directory; then the copy replaces the first."""
    way.begin(1)
    way.n1.end()
    (way.folder / "copy").mkdir()
    copy = Node(way.n1.berth, way.folder / "copy", "n1", way.options.port + 100)
    shutil.copytree(way.n1.state, copy.state)
    way.n1.start()
    copy.start()
    both = until(lambda: way.alive() and copy.status().get("nodes"), 60)
    deploys = [until(lambda: way.deploy(2)[0] == 200, 30), until(lambda: way.deploy(2, copy)[0] == 200, 30)]
    until(lambda: way.replicas() == 2)
    way.n1.end()
    copy.end()
    way.n1.state.rename(way.folder / "first")
    shutil.copytree(copy.state, way.n1.state)
    way.n1.start()
    stands = until(lambda: way.n1.status().get("stands_by"), 30)
    refused, serves = way.deploy(1)[0], way.n2.serves()
    way.n1.end()
    shutil.rmtree(way.n1.state)
    (way.folder / "first").rename(way.n1.state)
    way.n1.start()
    back = until(lambda: way.alive() and way.deploy(1)[0] == 200, 60)
    return (None not in (both, stands, back, *deploys) and refused == 503 and serves == 200,
            f"both deployed: {None not in deploys}; the copy in place of the first stands by:"
            f" {stands is not None}, deploy {refused}, n2 serves {serves}; the first again: {seconds(back)}")


def seconds(took):
    return "no" if not took else f"{took:.1f} s"


def flip(way):
    """Changes one byte of the jar stored on n1; returns its path and its previous content."""
    kept = next((way.n1.state / "jars").glob("*.jar"))
    data = kept.read_bytes()
    other = bytearray(data)
    other[len(data) // 2] ^= 1
    kept.write_bytes(other)
    return kept, data


WAYS = {
    "forward": (forward, "at n2: deploy 200, delete 200 or 404; n1 itself: 404"),
    "older": (older, "stands by twice, then commands all nodes and reverts the deploy"),
    "restored": (restored, "a backup stood by until it had started as often as the lost state"),
    "emptied": (emptied, "healthy status, repeated terms, requests at n1 end with 408"),
    "flipped": (flipped, "a chain of Ratis exceptions, a backup is requested"),
    "jar": (jar, "n1 loads it unchecked, n2 refuses it, UPDATING without a reason"),
    "full": (full, "185 ERROR lines"),
    "copies": (copies, "the state with more starts commanded"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("examples")
    parser.add_argument("--before")
    parser.add_argument("--only")
    parser.add_argument("--port", type=int, default=25000)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if MOUNTS not in os.environ and subprocess.run(
            ["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ[MOUNTS] = "yes"  # a separate mount namespace, which takes the mounts with it
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    only = options.only.split(",") if options.only else list(WAYS)
    if set(only) - set(WAYS):
        parser.error(f"--only: unknown name (expected: some of {', '.join(WAYS)})")
    wrong = []
    for name in only:
        run, before = WAYS[name]
        if options.before:
            before = once(options, os.path.abspath(options.before), run)[1]
        begin = time.monotonic()
        held, now = once(options, os.path.abspath(options.berth), run)
        if not held:
            wrong.append(name)
        print(f"{name}: {run.__doc__}\n  before: {before}\n  {'held' if held else 'NOT HELD'}, now: {now}"
              f" ({time.monotonic() - begin:.0f} s)", flush=True)
    print("all held" if not wrong else f"did not hold: {', '.join(wrong)}")
    sys.exit(1 if wrong else 0)


def once(options, berth, run):
    way = Way(options, berth)
    try:
        return run(way)
    finally:
        way.end()


if __name__ == "__main__":
    main()
