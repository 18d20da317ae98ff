"""Deploys at random, kills the instance with SIGKILL at random moments, and looks after each kill
whether everything that was acknowledged is there again, and nothing else.

    python3 src/it/kill_deploys.py [--deploys=1000] [--seed=N] [--jar=target/berth.jar]

Standard library only; Java 17 or newer. A command whose answer was cut off by the kill may have
been carried out or not, but as a whole. Applications have jars that are written over before each
deploy, so that the copies are looked at too; what is in them is no code, so nothing is started.
Ends with 1 and says where at the first difference.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

LISTENS = re.compile(r"admin on 127\.0\.0\.1:(\d+)")
NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
START_LIMIT_S = 120


class Killed(Exception):
    """No answer came: the process is gone."""


class Instance:
    """One life of an instance, between its start and its kill."""

    def __init__(self, jar, folder):
        self.log_name = os.path.join(folder, "berth.log")
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # to start soon
        command += ["-jar", jar, "run", "--state-dir", folder + "/state", "--host", "127.0.0.1"]
        command += ["--port", "0", "--admin-port", "0", "--set", "berth.event_loops=1"]
        self.log = open(self.log_name, "a")
        self.begin = self.log.tell()
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=self.log, stderr=subprocess.STDOUT
        )
        self.port = self.wait()

    def wait(self):
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            found = LISTENS.search(self.said())
            if found:
                return int(found.group(1))
            time.sleep(0.02)
        raise AssertionError("the instance did not start:\n" + self.said())

    def said(self):
        with open(self.log_name) as log:
            log.seek(self.begin)
            return log.read()

    def call(self, method, path, body=None):
        """Status and body; Killed when there is no whole answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as cut:
            raise Killed() from cut
        finally:
            connection.close()

    def kill_in(self, seconds):
        timer = threading.Timer(seconds, self.process.send_signal, [signal.SIGKILL])
        timer.daemon = True
        timer.start()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Run:
    def __init__(self, jar, folder, seed):
        self.random = random.Random(seed)
        self.jar = jar
        self.folder = folder
        self.count = 0
        self.maybe = None  # the model if the command that was cut off was carried out
        self.model = {}  # what is declared: name -> (number, what its jar holds or None)
        self.kept = {"deploys": 0, "refused": 0, "cut": 0, "of these carried out": 0, "kills": 0}

    def entry(self, name):
        """A new entry for an application, and what the model says of it."""
        self.count += 1
        entry = {
            "name": name,
            "route_prefix": None,
            "import_path": "com.acme.App:build",
            "args": {"number": self.count},
        }
        content = None
        if self.random.random() < 0.5:
            path = os.path.join(self.folder, name + ".jar")
            content = str(self.random.random())
            with zipfile.ZipFile(path, "w") as jar:
                jar.writestr("content", content)
            entry["runtime_env"] = {"jars": [name + ".jar"]}
        return entry, (self.count, content)

    def command(self):
        """A random command, and the model after it."""
        after = dict(self.model)
        kind = self.random.random()
        name = self.random.choice(NAMES)
        if kind < 0.6:
            entry, after[name] = self.entry(name)
            return ("PUT", "/api/v1/applications/" + name, entry), after
        if kind < 0.9:
            names = self.random.sample(NAMES, self.random.randrange(len(NAMES)))
            after, entries = {}, []
            for each in names:
                entry, after[each] = self.entry(each)
                entries.append(entry)
            return ("PUT", "/api/serve/applications/", {"applications": entries}), after
        after.pop(name, None)
        return ("DELETE", "/api/v1/applications/" + name), after

    def found(self, instance):
        """What is declared, as the instance tells it."""
        status, body = instance.call("GET", "/api/serve/applications/")
        assert status == 200, (status, body)
        found = {}
        for name, application in json.loads(body)["applications"].items():
            if application["status"] == "DELETING":
                continue  # not declared any more, and not gone yet
            found[name] = application["deployed_app_config"]["args"]["number"]
        return found

    def copies(self):
        folder = os.path.join(self.folder, "state", "jars")
        contents = set()
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with zipfile.ZipFile(os.path.join(folder, name)) as jar:
                contents.add(jar.read("content").decode())
        return contents

    def check(self, found, maybe):
        """The model is what was found, if it is what was acknowledged, or that and the last one."""
        for model in [self.model] if maybe is None else [self.model, maybe]:
            if found == {name: number for name, (number, _) in model.items()}:
                missing = {content for _, content in model.values() if content} - self.copies()
                assert not missing, "copies of jars that are missing: %s" % missing
                self.kept["of these carried out"] += model is maybe
                self.model = model
                return
        raise AssertionError("found %s (expected: %s, or %s)" % (found, self.model, maybe))

    def life(self, deploys):
        """One instance until it is killed, or all deploys are done."""
        instance = Instance(self.jar, self.folder)
        try:
            self.check(self.found(instance), self.maybe)
            self.maybe = None
            instance.kill_in(self.random.random() ** 3)
            while self.kept["deploys"] < deploys:
                command, after = self.command()
                self.maybe = after
                status, body = instance.call(*command)
                if status == 200:
                    self.model = after
                    self.kept["deploys"] += 1
                else:
                    assert status == 404 and command[0] == "DELETE", (command, status, body)
                    self.kept["refused"] += 1
                self.maybe = None
        except Killed:
            self.kept["kills"] += 1
            self.kept["cut"] += self.maybe is not None
        finally:
            instance.end()
        damaged = [line for line in instance.said().splitlines() if "damaged" in line]
        assert not damaged, damaged

    def all(self, deploys):
        while self.kept["deploys"] < deploys:
            self.life(deploys)
        last = Instance(self.jar, self.folder)
        try:
            self.check(self.found(last), self.maybe)
        finally:
            last.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deploys", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--jar", default="target/berth.jar")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="berth-kill-")
    run = Run(os.path.abspath(options.jar), folder, options.seed)
    began = time.monotonic()
    try:
        run.all(options.deploys)
    except AssertionError as different:
        print("FAIL seed %d, %s: %s" % (options.seed, run.kept, different))
        print("what is left of it: %s" % folder)
        sys.exit(1)
    shutil.rmtree(folder)
    print(
        "PASS seed %d, %s, %.0f s: nothing acknowledged was lost"
        % (options.seed, ", ".join("%s: %d" % each for each in run.kept.items()),
           time.monotonic() - began)
    )


if __name__ == "__main__":
    main()
