#!/usr/bin/env python3
"""Deploys at random, kills the instance with SIGKILL at random moments, and restarts it with the same
file or a changed one. After each start the desired state must be exactly the acknowledged one, except
for changes of the file.

    python3 src/it/kill_deploys.py [--deploys=1000] [--seed=N] [--jar=target/berth.jar]

Standard library only; Java 17 or newer. A command without a response because of the kill may have been
applied or not, but only as a whole. The same holds for the merge of a start's file, because some
instances are killed before they listen. Each deploy first overwrites the jars of the application, so
that their stored copies are checked too; the file declares the same jars. The jars contain no code, so
no application starts. The first difference ends the run with exit code 1 and is printed.
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
import urllib.parse
import zipfile

LISTENS = re.compile(r"admin on 127\.0\.0\.1:(\d+)")
NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
CAPACITY = ""  # key of target_capacity among the names, because the same rules apply
OTHER = "file://elsewhere/other.yaml"
START_LIMIT_S = 120


class Killed(Exception):
    """The process died before a complete response."""


class Instance:
    """An instance from its start to its kill."""

    def __init__(self, jar, folder, file, killed_after=None):
        self.log_name = os.path.join(folder, "berth.log")
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # for a fast start
        command += ["-jar", jar, "run"] + ([file] if file else [])
        command += ["--state-dir", folder + "/state", "--host", "127.0.0.1"]
        command += ["--port", "0", "--admin-port", "0", "--set", "berth.event_loops=1"]
        self.log = open(self.log_name, "a")
        self.begin = self.log.tell()
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=self.log, stderr=subprocess.STDOUT
        )
        if killed_after is not None:
            time.sleep(killed_after)
            self.end()
        else:
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

    def call(self, method, path, body=None, file=None):
        """Sends a request; returns status and body. Raises Killed without a complete response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            if file:
                headers["Berth-File"] = file
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


class Model:
    """A model of the desired state and of the last declarations, by name; an item stands for a digest."""

    def __init__(self, wanted=None, said=None):
        self.wanted = wanted or {}  # name -> item
        self.said = said or {}  # name -> (by the start's file, by another file, last of all)

    def copy(self):
        return Model(dict(self.wanted), dict(self.said))

    def key(self):
        return (tuple(sorted(self.wanted.items(), key=str)), tuple(sorted(self.said.items(), key=str)))

    def submit(self, name, item, file, start):
        first, other, _ = self.said.get(name, (None, None, None))
        if file == start:
            self.said[name] = (item, None, item)
        else:
            self.said[name] = (first, item if file else other, item)
        self.wanted[name] = item

    def put_one(self, name, item, file, start):
        self.submit(name, item, file, start)
        return 200

    def put_all(self, items, file, start):
        for name in list(self.said):
            if name not in items:
                first, other, last = self.said[name]
                if file == start:
                    del self.said[name]
                elif file and other is not None:
                    self.said[name] = (first, None, None)
        self.wanted = {}
        for name, item in items.items():
            self.submit(name, item, file, start)
        return 200

    def put_file(self, items, file, start):
        """Applies a file: deletes only applications that the same file declared before and now omits."""
        for name in set(self.said) - set(items):
            first, other, last = self.said[name]
            own = file == start if other is None else file not in (start, None)
            if own and last is not None and last == (first if other is None else other):
                self.wanted.pop(name, None)
                self.said[name] = (None, None, None) if file == start else (first, None, None)
            elif file == start:
                self.said[name] = (None, other, last)
            elif file and other is not None:
                self.said[name] = (first, None, last)
        for name, item in items.items():
            self.submit(name, item, file, start)
        return 200

    def delete(self, name):
        return 200 if self.wanted.pop(name, None) is not None else 404

    def start(self, items):
        """Applies a start with a file of these items, None without a file, by the table of the guide."""
        for name in set(items or {}) | set(self.said) if items is not None else ():
            says = items.get(name)
            wanted = self.wanted.get(name)
            file, other, last = self.said.get(name, (None, None, None))
            if says is None:
                if file is None:
                    continue
                if wanted is None or file == last:  # deleted, if present
                    self.wanted.pop(name, None)
                    self.said.pop(name)
                else:
                    self.said[name] = (None, None, last)
            elif says == file:
                pass
            elif says in (wanted, last):
                self.said[name] = (says, None, last)
            else:
                self.said[name] = (says, None, says)
                self.wanted[name] = says
        return self

    def contents(self):
        return {item[1] for name, item in self.wanted.items() if name != CAPACITY and item[1]}

    def numbers(self):
        return {name: item[0] for name, item in self.wanted.items()}


class Run:
    def __init__(self, jar, folder, seed):
        self.random = random.Random(seed)
        self.jar = jar
        self.folder = folder
        self.count = 0
        self.file = os.path.join(folder, "start.yaml")
        self.says = {}  # entries of the file, by name
        self.capacity = None  # target_capacity of the file
        with open("/proc/sys/kernel/hostname") as host:
            path = urllib.parse.quote(os.path.realpath(self.file))
            self.start = "file://" + host.read().strip() + path
        self.models = [Model()]  # candidates, one of them true: a killed command may be applied or not
        self.kept = {"deploys": 0, "refused": 0, "cut": 0, "kills": 0, "starts killed": 0,
                     "starts with a changed file": 0, "starts with the same": 0}

    # --- entries and their jars ---

    def entry(self, name):
        self.count += 1
        entry = {
            "name": name,
            "route_prefix": None,
            "import_path": "com.acme.App:build",
            "args": {"number": self.count},
        }
        if self.random.random() < 0.5:
            self.write_jar(name)
            entry["runtime_env"] = {"jars": [name + ".jar"]}
        return entry

    def write_jar(self, name):
        with zipfile.ZipFile(os.path.join(self.folder, name + ".jar"), "w") as jar:
            jar.writestr("content", str(self.random.random()))

    def item(self, entry):
        """Returns the stand-in for an entry's digest: its number and the current content of its jar."""
        content = None
        if "runtime_env" in entry:
            with zipfile.ZipFile(os.path.join(self.folder, entry["name"] + ".jar")) as jar:
                content = jar.read("content").decode()
        return entry["args"]["number"], content

    def items(self, entries, capacity):
        items = {entry["name"]: self.item(entry) for entry in entries}
        if capacity is not None:
            items[CAPACITY] = (capacity, None)
        return items

    def some_capacity(self):
        return None if self.random.random() < 0.5 else float(self.random.randrange(1, 101))

    @staticmethod
    def whole(entries, capacity):
        whole = {"applications": entries}
        if capacity is not None:
            whole["target_capacity"] = capacity
        return whole

    # --- commands ---

    def command(self):
        """Returns a random command, and a function that applies it to a model and returns the status."""
        kind = self.random.random()
        name = self.random.choice(NAMES)
        file = OTHER if self.random.random() < 0.2 else None
        if kind < 0.5:
            entry = self.entry(name)
            if name in self.says and self.random.random() < 0.3:
                entry = self.says[name]  # the file's entry, declared without a file
            item = self.item(entry)
            return (("PUT", "/api/v1/applications/" + name, entry, file),
                    lambda model: model.put_one(name, item, file, self.start))
        if kind < 0.8:
            names = self.random.sample(NAMES, self.random.randrange(len(NAMES)))
            entries, capacity = [self.entry(each) for each in names], self.some_capacity()
            if self.says and self.random.random() < 0.4:  # the start's file is edited and deployed
                self.change_file()
                entries, capacity, file = list(self.says.values()), self.capacity, self.start
            items = self.items(entries, capacity)
            if self.random.random() < 0.5:
                return (("PUT", "/api/v1/applications", self.whole(entries, capacity), file),
                        lambda model: model.put_file(items, file, self.start))
            return (("PUT", "/api/serve/applications/", self.whole(entries, capacity), file),
                    lambda model: model.put_all(items, file, self.start))
        return ("DELETE", "/api/v1/applications/" + name), lambda model: model.delete(name)

    def change_file(self):
        """Adds, changes and removes entries of the file, and rebuilds some jars."""
        for name in NAMES:
            chance = self.random.random()
            if chance < 0.2:
                self.says[name] = self.entry(name)
            elif chance < 0.3:
                self.says.pop(name, None)
            elif chance < 0.4 and "runtime_env" in self.says.get(name, {}):
                self.write_jar(name)
        if self.random.random() < 0.3:
            self.capacity = self.some_capacity()
        with open(self.file, "w") as file:
            json.dump(self.whole(list(self.says.values()), self.capacity), file)

    # --- starts ---

    def begin(self):
        """Starts an instance on the stored state, and checks its desired state."""
        file = None
        # Without a stored application, a start with an application that cannot run fails.
        if all(set(model.wanted) - {CAPACITY} for model in self.models):
            changed = not self.says or self.random.random() < 0.4
            if changed:
                self.change_file()
            self.kept["starts with a changed file" if changed else "starts with the same"] += 1
            file = self.file
        items = self.items(self.says.values(), self.capacity) if file else None
        if self.random.random() < 0.2:
            Instance(self.jar, self.folder, file, killed_after=self.random.uniform(0.2, 1.5))
            self.kept["starts killed"] += 1
        instance = Instance(self.jar, self.folder, file)
        try:
            found = self.found(instance)
            models = [model.copy().start(items) for model in self.models]
            self.models = self.distinct([each for each in models if each.numbers() == found])
            assert self.models, "found %s (expected: one of %s), file %s" % (
                found, [model.numbers() for model in models], items)
            missing = self.models[0].contents() - self.copies()
            assert not missing, "missing copies of jars: %s" % missing
            return instance
        except BaseException:
            instance.end()
            raise

    @staticmethod
    def distinct(models):
        return list({model.key(): model for model in models}.values())

    def found(self, instance):
        """Returns the desired state that the instance reports."""
        status, body = instance.call("GET", "/api/serve/applications/")
        assert status == 200, (status, body)
        serve = json.loads(body)
        found = {}
        for name, application in serve["applications"].items():
            if application["status"] == "DELETING":
                continue  # no longer declared, not yet removed
            found[name] = application["deployed_app_config"]["args"]["number"]
        if serve["target_capacity"] is not None:
            found[CAPACITY] = serve["target_capacity"]
        return found

    def copies(self):
        folder = os.path.join(self.folder, "state", "jars")
        contents = set()
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".jar"):
                with zipfile.ZipFile(os.path.join(folder, name)) as jar:
                    contents.add(jar.read("content").decode())
        return contents

    def life(self, deploys):
        """Runs one instance until its kill, or until all deploys are done."""
        instance = self.begin()
        try:
            instance.kill_in(self.random.random() ** 3)
            while self.kept["deploys"] < deploys:
                command, apply = self.command()
                after = [model.copy() for model in self.models]
                expected = [apply(model) for model in after]
                try:
                    status, body = instance.call(*command)
                except Killed:
                    self.models = self.distinct(self.models + after)
                    self.kept["cut"] += 1
                    raise
                assert status in expected, (command, status, body)
                self.models = self.distinct(
                    [model for model, code in zip(after, expected) if code == status])
                self.kept["deploys" if status == 200 else "refused"] += 1
        except Killed:
            self.kept["kills"] += 1
        finally:
            instance.end()
        damaged = [line for line in instance.said().splitlines() if "damaged" in line]
        assert not damaged, damaged

    def all(self, deploys):
        while self.kept["deploys"] < deploys:
            self.life(deploys)
        self.begin().end()


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
        print("files: %s" % folder)
        sys.exit(1)
    shutil.rmtree(folder)
    print(
        "PASS seed %d, %s, %.0f s: no acknowledged change was lost"
        % (options.seed, ", ".join("%s: %d" % each for each in run.kept.items()),
           time.monotonic() - began)
    )


if __name__ == "__main__":
    main()
