#!/usr/bin/env python3
"""Proves the behaviour of Berth in front of a real language model, each step against processes of its own.

    python3 src/it/llm.py [--model FOLDER] [--clients FOLDER] [--jar target/berth.jar]

FOLDER of --model: of src/it/fetch-models.sh (default: ~/.cache/berth/llm). FOLDER of --clients: of
src/it/clients.sh (default: ~/.cache/berth/clients), whose OpenAI client for Python makes two of the
steps; without it they are named as not run.

Steps: 8 streams on 4 slots wait in order; a client that is interrupted frees its slot; a request
that may have run is not repeated by the SDK; the SDK waits as a full queue says, and succeeds; a
model server that is killed ends a stream by an error event. About one minute. Prints each step with
its figures; the exit status is 1 if one fails, 2 if something is missing.
"""

import argparse
import datetime
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "clients"))
from front import Front  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "berth"
CONFIG = """
http_options: {{host: 127.0.0.1, port: {port}}}
applications:
  - name: llm
    route_prefix: /
    import_path: berth:openai
    args:
      models:
        - {{name: smol, deployment: smol, upstream_name: SmolLM2-135M}}
        - {{name: narrow, deployment: narrow, upstream_name: SmolLM2-135M}}
        - {{name: dropped, deployment: dropped}}
    deployments:
      - name: smol
        berth: {{upstreams: [{{url: "http://127.0.0.1:{model}", max_ongoing_requests: 4}}]}}
      - name: narrow
        max_queued_requests: 1
        backpressure_config: {{status_code: 503, retry_after_s: 2}}
        berth: {{upstreams: [{{url: "http://127.0.0.1:{model}", id: narrow, max_ongoing_requests: 1}}]}}
      - name: dropped
        berth: {{upstreams: [{{url: "{dropped}", max_ongoing_requests: 4}}]}}
berth:
  ephemeral: true
  admin: {{host: 127.0.0.1, port: {admin}}}
"""
failures = []


def check(step, passed, figures):
    print(f"{'PASS' if passed else 'FAIL'} {step}: {figures}", flush=True)
    if not passed:
        failures.append(step)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def until(condition, seconds):
    """Waits for a condition; returns the seconds it took, or None after the limit."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            if condition():
                return time.monotonic() - began
        except OSError:
            pass
        time.sleep(0.02)
    return None


def body(model="smol", tokens=40, stream=True):
    return {"model": model, "stream": stream, "max_tokens": tokens, "ignore_eos": True, "temperature": 0,
            "messages": [{"role": "user", "content": "Tell a story of a ship."}]}


class Rig:
    """The model's server and Berth, as processes."""

    def __init__(self, chosen, folder, dropped):
        self.model, self.port, self.admin = free_port(), free_port(), free_port()
        (folder / "llm.yaml").write_text(CONFIG.format(
            port=self.port, model=self.model, admin=self.admin, dropped=dropped))
        self.log = open(folder / "log", "w")
        self.server = self.start([str(chosen.model / "serve-smollm2"), "--port", str(self.model)])
        self.berth = self.start(["java", "-Xmx256m", "-jar", chosen.jar, "run", str(folder / "llm.yaml")])
        if until(lambda: get(self.model, "/health") and get(self.port, "/-/readyz"), 90) is None:
            sys.exit("llm: not ready: " + (folder / "log").read_text()[-2000:])

    def start(self, command):
        return subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def generating(self):
        """Returns the number of slots of the model's server that generate."""
        return sum(slot["is_processing"] for slot in json.loads(get(self.model, "/slots")))

    def metric(self, name):
        return sum(float(line.rsplit(" ", 1)[1]) for line in get(self.admin, "/metrics").splitlines()
                   if line.startswith(name) and line[len(name)] in "{ ")

    def close(self):
        for process in (self.berth, self.server):
            process.terminate()
        for process in (self.berth, self.server):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


class Stream(threading.Thread):
    """A request whose events are read as they come; times are seconds since `began`."""

    def __init__(self, port, request, began, headers=None):
        super().__init__(daemon=True)
        self.port, self.request, self.began, self.headers = port, request, began, headers or {}
        self.first = self.end = self.failure = None
        self.lines = []
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(self.request),
                               {"content-type": "application/json", **self.headers})
            response = connection.getresponse()
            while line := response.readline():
                if b'"content":"' in line and self.first is None:
                    self.first = time.monotonic() - self.began
                self.lines.append(line.decode().strip())
        except (OSError, http.client.HTTPException) as failure:
            self.failure = repr(failure)
        finally:
            self.end = time.monotonic() - self.began
            connection.close()


def eight_on_four(rig):
    began, streams, highest, waiting = time.monotonic(), [], 0, 0
    for number in range(8):
        streams.append(Stream(rig.port, body(), began, {
            "x-berth-explain": "1", "x-request-id": f"stream-{began}-{number}"}))
        time.sleep(0.05)
    while any(stream.is_alive() for stream in streams):
        highest = max(highest, rig.generating())
        waiting = max(waiting, int(rig.metric("berth_queued_requests")))
    firsts = [stream.first for stream in streams]
    whole = all("data: [DONE]" in stream.lines for stream in streams)
    check("8 streams on 4 slots", whole and None not in firsts and highest <= 4 and waiting == 4
          and max(firsts[:4]) < min(firsts[4:]),
          f"at most {highest} generate, {waiting} wait")
    # Requests that get their slots together may get their first tokens in one step of the model.
    check("first tokens come in order", None not in firsts and all(
        after > before - 0.05 for before, after in zip(firsts[4:], firsts[5:])),
          " ".join(f"{first:.2f}" for first in firsts if first is not None) + " s")
    records = [json.loads(get(rig.admin, f"/api/v1/requests/stream-{began}-{number}/explain"))["explanations"][0]
               for number in range(8)]
    queued = [record["phases_us"]["queue"] / 1e6 for record in records]
    granted = [datetime.datetime.fromisoformat(record["arrived_at"][:26] + "+00:00").timestamp() + wait
               for record, wait in zip(records, queued)]
    check("explain shows the wait, and slots in order",
          max(queued[:4]) < 0.3 < min(queued[4:]) and granted[4:] == sorted(granted[4:]),
          "queue " + " ".join(f"{wait:.2f}" for wait in queued) + " s")


def interrupted(rig):
    command = ["curl", "-sN", f"http://127.0.0.1:{rig.port}/v1/chat/completions", "-d",
               json.dumps(body(tokens=1500))]
    client = subprocess.Popen(command, stdout=subprocess.PIPE)
    client.stdout.readline()
    assert until(lambda: rig.generating() == 1, 10) is not None
    client.send_signal(signal.SIGINT)
    stopped = until(lambda: rig.generating() == 0, 10)
    freed = until(lambda: rig.metric("serve_num_ongoing_requests_at_replicas") == 0, 10)
    client.wait()
    check("an interrupted client frees its slot", None not in (stopped, freed) and stopped + freed < 1,
          f"the model stops after {seconds(stopped)}, the slot is free {seconds(freed)} later")


def seconds(value):
    return "more than 10 s" if value is None else f"{value:.2f} s"


SDK = """
import json, openai, sys, time
began = time.monotonic()
client = openai.OpenAI(base_url=sys.argv[1], api_key="unused")
try:
    answer = client.chat.completions.create(
        model=sys.argv[2], max_tokens=4, messages=[{"role": "user", "content": "Name a colour."}])
    report = {"text": answer.choices[0].message.content}
except openai.APIStatusError as failure:
    report = {"status": failure.status_code, "headers": dict(failure.response.headers)}
print(json.dumps({**report, "seconds": time.monotonic() - began}))
"""


def sdk(chosen, rig, model):
    done = subprocess.run([str(chosen.clients / "openai-python/bin/python"), "-c", SDK,
                           f"http://127.0.0.1:{rig.port}/v1", model], capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout) if done.returncode == 0 else {"failure": done.stderr[-500:]}


def not_repeated(chosen, rig, front):
    report = sdk(chosen, rig, "dropped")
    check("a request that may have run is not repeated",
          len(front.attempts.get("dropped", [])) == 1 and report.get("status") in (500, 502),
          f"{len(front.attempts.get('dropped', []))} at the server; status {report.get('status')}, "
          f"x-should-retry {report.get('headers', {}).get('x-should-retry')}")


def full_queue(chosen, rig):
    fillers = [Stream(rig.port, body("narrow", 60), time.monotonic())]
    until(lambda: rig.generating() == 1, 10)
    fillers.append(Stream(rig.port, body("narrow", 60), time.monotonic()))
    until(lambda: rig.metric("berth_queued_requests") == 1, 10)
    report = sdk(chosen, rig, "narrow")
    for filler in fillers:
        filler.join()
    check("the SDK waits as a full queue says", "text" in report and report["seconds"] >= 2,
          f"{json.dumps(report)}; fillers ended after {fillers[0].end:.1f} and {fillers[1].end:.1f} s")


def killed(rig):
    stream = Stream(rig.port, body(tokens=1500), time.monotonic())
    until(lambda: stream.first is not None, 20)
    rig.server.kill()
    stream.join(30)
    last = [line for line in stream.lines if line][-1:]
    check("a killed server ends a stream by an error event", not stream.is_alive() and stream.failure is None
          and "error" in json.loads(last[0].removeprefix("data: ")) and "data: [DONE]" not in stream.lines,
          f"{last[0] if last else stream.failure}")


class Dropping(Front):
    """Counts requests and closes their connections without a response."""

    def serve(self, handler):
        self.body(handler)
        self.attempts.setdefault("dropped", []).append(time.monotonic())
        handler.close_connection = True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=CACHE / "llm")
    parser.add_argument("--clients", type=pathlib.Path, default=CACHE / "clients")
    parser.add_argument("--jar", default="target/berth.jar")
    chosen = parser.parse_args()
    for needed in (chosen.model / "serve-smollm2", pathlib.Path(chosen.jar)):
        if not needed.exists():
            print(f"llm: {needed}: missing (expected: see --help)", file=sys.stderr)
            return 2
    front = Dropping("http://127.0.0.1:1")
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(chosen, pathlib.Path(folder), front.url)
        try:
            eight_on_four(rig)
            interrupted(rig)
            if (chosen.clients / "openai-python/bin/python").exists():
                not_repeated(chosen, rig, front)
                full_queue(chosen, rig)
            else:
                print("NOT RUN two steps with the OpenAI client: run src/it/clients.sh --only openai-python first")
            killed(rig)
        finally:
            rig.close()
            front.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
