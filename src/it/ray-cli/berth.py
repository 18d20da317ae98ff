"""A running Berth: the packaged jar, on free ports, with a separate state directory.

With in_cluster it is a worker, with another Berth as its control node.
"""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")


def wait(what, condition, limit_s=60):
    """Evaluates the condition until it holds; on timeout fails with its last value."""
    end = time.monotonic() + limit_s
    while True:
        found, seen = condition()
        if found:
            return seen
        if time.monotonic() > end:
            raise AssertionError("%s: not within %d s; last: %s" % (what, limit_s, seen))
        time.sleep(0.2)


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def node(name, role, control):
    """Returns berth.cluster of a node; its control node listens on port `control`."""
    ports = dict.fromkeys(("control", "data", "consensus", "https"), 0)
    if role == "control":
        ports.update(control=control, consensus=free_port())
    return {
        "name": "ray-cli",
        "node": name,
        "role": role,
        "control": ["n1@127.0.0.1:%d" % control],
        "bind": "127.0.0.1",
        "insecure": True,
        "ports": ports,
    }


class Berth:
    def __init__(self, folder, token=None, in_cluster=False, cluster=None):
        os.makedirs(folder, exist_ok=True)
        self.token = token
        self.control = None
        if in_cluster:
            port = free_port()
            self.control = Berth(os.path.join(folder, "n1"), cluster=node("n1", "control", port))
            cluster = node("n2", "worker", port)
        self.log = os.path.join(folder, "berth.log")
        config = {
            "http_options": {"host": "127.0.0.1", "port": 0},
            "applications": [],
            "berth": {
                "admin": {"host": "127.0.0.1", "port": 0},
                "state_dir": os.path.join(folder, "state"),
            },
        }
        if token:
            config["berth"]["admin"]["bearer_tokens"] = [{"name": "ray", "token": token}]
        if cluster:
            config["berth"]["cluster"] = cluster
        file = os.path.join(folder, "berth.json")
        with open(file, "w") as out:
            json.dump(config, out)
        with open(self.log, "w") as out:
            self.process = subprocess.Popen(
                [
                    "java",
                    "-jar",
                    os.path.abspath("target/berth.jar"),
                    "run",
                    file,
                ],
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            found = wait("the start", self.listens)
        except BaseException:
            self.close()
            raise
        self.port, self.admin_port = int(found.group(1)), int(found.group(2))

    def text(self):
        with open(self.log) as log:
            return (self.control.text() if self.control else "") + log.read()

    def listens(self):
        if self.process.poll() is not None:
            raise AssertionError("the instance ended during its start:\n" + self.text())
        with open(self.log) as log:
            text = log.read()
        found = LISTENS.search(text)
        return found, found or text

    def get(self, path, data=None):
        """Sends a request to the data port; returns status and body."""
        url = "http://127.0.0.1:%d%s" % (self.port, path)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data), timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.control:
            self.control.close()
