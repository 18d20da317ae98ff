"""A started Berth: the packaged jar, on free ports, with a folder of its own for its state."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")


def wait(what, condition, limit_s=60):
    """Asks again until the condition gives something; fails with what it gave last."""
    end = time.monotonic() + limit_s
    while True:
        found, seen = condition()
        if found:
            return seen
        if time.monotonic() > end:
            raise AssertionError("%s: not within %d s; last: %s" % (what, limit_s, seen))
        time.sleep(0.2)


class Berth:
    def __init__(self, folder, token=None):
        os.makedirs(folder, exist_ok=True)
        self.token = token
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
            return log.read()

    def listens(self):
        if self.process.poll() is not None:
            raise AssertionError("it ended at its start:\n" + self.text())
        text = self.text()
        found = LISTENS.search(text)
        return found, found or text

    def get(self, path, data=None):
        """Of the data port: status and body."""
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
