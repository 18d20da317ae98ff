"""Compares the reports of clients of the Model Context Protocol, directly at a server and through Berth.

Started by src/it/mcp-clients.sh, which installs the clients. Exit status: 0 when all reports are
equal or all differences are explained and all checks pass, 1 otherwise.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
specification = importlib.util.spec_from_file_location("fields", HERE.parent / "clients/compare.py")
fields = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fields)

LIMIT = 2  # concurrent calls of the tool `search` at each server
SEARCH, AUTO, LEGACY = "search", "auto", "legacy"
FAILED = "run of the client"
PACKAGES = {"python": "mcp", "typescript-1": "@modelcontextprotocol/sdk",
            "typescript-2": "@modelcontextprotocol/client"}
RUNS = [("python", LEGACY), ("python", AUTO), ("typescript-1", LEGACY), ("typescript-2", LEGACY),
        ("typescript-2", AUTO)]

# Differences with a reason: call, path, Berth's value, reason. The HTTP status is the same.
EXPLAINED = [
    (r"5 MB argument", r"error\..*", r"-32600|body_too_large|.*larger than 4194304 bytes.*|.*body_too_large.*",
     "both answer 413; Berth's has a JSON-RPC error, the server's has plain text"),
]


def command(work, client):
    """Returns the command that makes the calls of a client."""
    if client == "python":
        return [str(work / "python/bin/python"), str(HERE / "python_calls.py")]
    return ["node", str(work / client / "typescript_calls.mjs")]


def version(work, client):
    if client == "python":
        return subprocess.run([str(work / "python/bin/python"), "-c",
                               "from importlib.metadata import version as v; print(v('mcp'))"],
                              capture_output=True, text=True).stdout.strip()
    return json.loads((work / client / "node_modules" / PACKAGES[client] / "package.json").read_text())["version"]


def start(work, client, mode, url, task, run):
    environment = {**os.environ, "URL": url, "MODE": mode, "TASK": task, "RUN": run,
                   "PACKAGE": PACKAGES[client], "NO_PROXY": "*", "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(command(work, client), env=environment, text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def reports_of(process, line=None):
    """Returns the reports of a client's run as (call, report), after a line of input."""
    try:
        out, errors = process.communicate(line, timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
    found = []
    for each in out.split("\n"):
        with contextlib.suppress(ValueError, KeyError, AttributeError):
            report = json.loads(each)
            found.append((report.pop("call"), report))
    if process.returncode != 0 or not found:
        found.append((FAILED, {"error": {"status": process.returncode, "text": errors[-1500:]}}))
    return found


def started(process, url):
    """Waits until a process accepts connections."""
    for _ in range(240):
        if process.poll() is not None:
            sys.exit(f"mcp-clients: {url}: its process ended with {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.25)
    sys.exit(f"mcp-clients: {url}: accepts no connection")


class Setting:
    """Two servers, and Berth in front of them; all end with the comparison."""

    def __init__(self, work, jar, folder):
        self.work, self.folder, self.events = work, folder, folder / "events"
        self.events.touch()
        self.key_of_state = secrets.token_hex(32)
        self.ports = [fields.free_port() for _ in range(2)]
        self.servers = {port: self.serve(port) for port in self.ports}
        port = fields.free_port()
        self.direct, self.berth = f"http://127.0.0.1:{self.ports[0]}/mcp", f"http://127.0.0.1:{port}/mcp"
        config = {
            "http_options": {"host": "127.0.0.1", "port": port},
            "applications": [{
                "name": "tools", "route_prefix": "/mcp", "import_path": "berth:mcp",
                "deployments": [{"name": "servers", "berth": {
                    "mcp": {"tools": {SEARCH: {"max_ongoing_requests": LIMIT}}},
                    "upstreams": [{"url": f"http://127.0.0.1:{each}", "max_ongoing_requests": 4,
                                   "path_prefix": "/mcp"} for each in self.ports]}}]}],
            "berth": {"ephemeral": True, "admin": {"port": fields.free_port()}}}
        (folder / "berth.yaml").write_text(json.dumps(config))
        self.gateway = self.process("berth", ["java", "-Xmx256m", "-jar", jar, "run", str(folder / "berth.yaml")])
        for each in self.ports:
            started(self.servers[each], f"http://127.0.0.1:{each}/mcp")
        started(self.gateway, self.berth)
        self.wait_for_routes()

    def process(self, name, words):
        with open(self.folder / (name + ".log"), "a") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)

    def serve(self, port):
        return self.process(f"server-{port}", [
            str(self.work / "python/bin/python"), str(HERE / "server.py"), str(port), str(self.events),
            self.key_of_state])

    def wait_for_routes(self):
        """Waits until a request without a session reaches a server, which refuses it."""
        for _ in range(120):
            request = urllib.request.Request(
                self.berth, data=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', method="POST",
                headers={"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
            try:
                urllib.request.urlopen(request, timeout=5).close()
                return
            except urllib.error.HTTPError as answer:
                if answer.code < 500 and answer.code != 404:
                    return
            time.sleep(0.25)
        sys.exit("mcp-clients: Berth has no servers")

    def kill(self, port):
        self.servers[port].send_signal(signal.SIGKILL)
        self.servers[port].wait()

    def restart(self, port):
        self.servers[port] = self.serve(port)
        started(self.servers[port], f"http://127.0.0.1:{port}/mcp")

    def highest(self, run):
        """Returns the most concurrent searches of a run at each server."""
        now, most = dict.fromkeys(self.ports, 0), dict.fromkeys(self.ports, 0)
        for line in self.events.read_text().splitlines():
            event = json.loads(line)
            if event["key"].startswith(run) and event["event"] in ("start", "end"):
                at = event["server"]
                now[at] += 1 if event["event"] == "start" else -1
                most[at] = max(most[at], now[at])
        return list(most.values())

    def close(self):
        for process in (self.gateway, *self.servers.values()):
            process.terminate()
        for process in (self.gateway, *self.servers.values()):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def reason(call, path, value):
    for calls, paths, values, why in EXPLAINED:
        if re.fullmatch(calls, call) and re.fullmatch(paths, path) and re.fullmatch(values, str(value)):
            return why
    return None


def outcome(report):
    if report is None:
        return fields.ABSENT
    result = report.get("result")
    if isinstance(result, dict) and result.get("isError"):
        return "isError"
    return f"error {report['error'].get('status')}" if "error" in report else "ok"


def table(name, direct, berth):
    """Prints the calls of a client; returns the numbers of equal, explained and unexplained calls."""
    counts = {"equal": 0, "explained": 0, "UNEXPLAINED": 0}
    for call in [*direct, *(call for call in berth if call not in direct)]:
        found = fields.differences(direct.get(call), berth.get(call))
        whys = [reason(call, path, value) for path, _, value in found]
        verdict = "equal" if not found else "explained" if all(whys) else "UNEXPLAINED"
        if call == FAILED:
            verdict = "UNEXPLAINED"
        counts[verdict] += 1
        print(f"{name:20} {call:20} {outcome(direct.get(call)):14} {outcome(berth.get(call)):14} {verdict}")
        for why in dict.fromkeys(each for each in whys if each):
            print(f"{'':22}explained: {why}")
        for (path, one, other), why in list(zip(found, whys))[:8]:
            if not why:
                print(f"{'':22}{path}: {fields.short(one)} -> {fields.short(other)}")
        if call == FAILED:
            print(f"{'':22}{(direct.get(call) or berth[call])['error']['text']}")
    sys.stdout.flush()
    return counts


def check(name, passed, detail):
    print(f"{name:20} {'ok' if passed else 'FAILED':8} {detail}", flush=True)
    return not passed


def first(reports, call):
    return next((report for name, report in reports if name == call), {})


def stays(setting, client, mode, name, stateful):
    found = reports_of(start(setting.work, client, mode, setting.berth, "stay", name))
    rows = first(found, "stay").get("result", [])
    spread = sorted({server for row in rows for server in row})
    servers = [len(set(row)) for row in rows]
    passed = len(rows) == 8 and len(spread) == 2 and (not stateful or servers == [1] * 8)
    return check(name, passed, f"8 clients, 20 calls each, met {servers} servers, together {len(spread)}"
                 if rows else found[-1])


def loses(setting, client, mode, name, stateful):
    process = start(setting.work, client, mode, setting.berth, "lose", name)
    line = process.stdout.readline()
    at = json.loads(line)["result"] if line else setting.ports[0]
    setting.kill(at)
    found = reports_of(process, "\n")
    setting.restart(at)
    lost = [report["http"][0] if report["http"] else None for call, report in found if call == "lost"]
    again = first(found, "again")
    expected = [404, 404] if stateful else [200, 200]
    passed = outcome(again) == "ok" and "result" in again and (lost == expected or (
        not stateful and lost[-1:] == [200]))
    return check(name, passed, f"server killed: HTTP {lost}, a new client: {outcome(again)}"
                 if again else found[-1])


def limits(setting, client, mode, name):
    found = reports_of(start(setting.work, client, mode, setting.berth, "busy", name))
    done = [report for call, report in found if call == "busy"]
    completed = sum(outcome(report) == "ok" for report in done)
    most = setting.highest(name)
    passed = max(most) == LIMIT and completed == 6
    return check(name, passed, f"6 clients: at most {most} at the servers, {completed} completed"
                 if done else found[-1])


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--only", default=",".join(PACKAGES))
    return parser.parse_args()


def main():
    chosen = options()
    missing = [client for client in PACKAGES
               if client in chosen.only.split(",") and (chosen.work / (client + ".failed")).exists()]
    runs = [(client, mode) for client, mode in RUNS
            if client in chosen.only.split(",") and client not in missing]
    for client in missing:
        print(f"{client}: not installed here: {(chosen.work / (client + '.failed')).read_text().strip()[-300:]}")
    totals, failures = {}, 0
    with tempfile.TemporaryDirectory(prefix="mcp-clients-") as folder:
        setting = Setting(chosen.work, chosen.jar, pathlib.Path(folder))
        try:
            print(f"{'client':20} {'call':20} {'direct':14} {'berth':14} comparison")
            versions = {}
            for client, mode in runs:
                name = f"{client} {mode}"
                direct = dict(reports_of(start(chosen.work, client, mode, setting.direct, "calls", name + " direct ")))
                berth = dict(reports_of(start(chosen.work, client, mode, setting.berth, "calls", name + " berth ")))
                totals[name] = table(name, direct, berth)
                versions[name] = direct.get("connect", {}).get("result", {}).get("version") or ""
            for title, probe in (("sessions stay with their server (revisions without sessions: any)", stays),
                                 ("loss of a server", loses)):
                print(f"\n{title}")
                for client, mode in runs:
                    name = f"{client} {mode}"
                    failures += probe(setting, client, mode, name, versions[name] < "2026")
            print(f"\nlimit of the tool {SEARCH}: {LIMIT}")
            for client, mode in runs:
                failures += limits(setting, client, mode, f"{client} {mode}  busy ")
        finally:
            setting.close()
    print(f"\n{'client':20} {'SDK':10} {'revision':12} equal explained unexplained")
    for client, mode in runs:
        name = f"{client} {mode}"
        print(f"{name:20} {version(chosen.work, client):10} {versions[name]:12} "
              + " ".join(f"{count:5}" for count in totals[name].values()))
    unexplained = sum(each["UNEXPLAINED"] for each in totals.values())
    if missing:
        print(f"not installed here, so not compared: {', '.join(missing)}")
    print(f"{unexplained} unexplained calls, {failures} failed checks")
    return 1 if unexplained or failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
