"""Proves that each expression of deploy/grafana/berth.json returns data.

Starts an instance with conf/quickstart.yaml and conf/examples.yaml, a cluster of two nodes, and a
Prometheus that scrapes them with a token by deploy/prometheus/prometheus.yml. Sends load, deploys an
application that fails, and evaluates each expression, each query of a variable and the alert of the
failed deploy by the HTTP API of Prometheus.

    grafana.py --jar BERTH_JAR --folder EMPTY_FOLDER
"""

import argparse
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOKEN = "a-token-for-the-check"
VIEWER = "a-token-of-prometheus"
WAIT_S = 150  # until every expression has data; `for: 1m` of the alert is part of it
FAILING = """
import dev.berth.api.*;
public class Failing {
  public static Application build() {
    return Application.of(Deployment.blocking("failing", (request, context) -> {
      throw new IllegalStateException("always");
    }));
  }
}
"""
children = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(folder, name, *command):
    log = open(os.path.join(folder, name + ".log"), "w")
    children.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=folder))


def until(what, seconds, condition):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            value = condition()
            if value:
                return value
        except (OSError, ValueError):
            pass
        time.sleep(0.2)
    raise SystemExit(f"{what}: not within {seconds} s")


def healthy(port):
    return lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/-/healthz", timeout=2).status == 200


def admin(port, path):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Authorization": "Bearer " + TOKEN})
    return json.load(urllib.request.urlopen(request, timeout=5))


class Load:
    """Requests of each kind that the dashboard shows, until it is stopped."""

    def __init__(self, port, worker):
        pictures = os.path.join(ROOT, "src/examples/images")
        with open(os.path.join(pictures, sorted(os.listdir(pictures))[0]), "rb") as file:
            picture = file.read()
        late = {"x-request-timeout-seconds": "0.05"}
        self.sent = 0
        self.running = True
        kinds = [
            (port, "POST", "/echo", b"hello", {}),
            (port, "POST", "/through", b"hello", {}),
            (port, "POST", "/classify", picture, {"content-type": "image/png"}),
            (port, "GET", "/stream", None, {}),
            (port, "GET", "/choose", None, {}),
            (port, "GET", "/sleep?ms=300", None, {}),
            (port, "GET", "/sleep?ms=300", None, late),
            # On a busy machine, the request above never leaves the queue in its time.
            (port, "GET", "/sleep?ms=2000", None, {"x-request-timeout-seconds": "1"}),
            (port, "GET", "/sleep?ms=300", None, {}),
            (port, "GET", "/sleep?ms=300", None, {}),
            (port, "GET", "/sleep?ms=300", None, {}),
            (port, "GET", "/sleep?ms=300", None, {}),
            (port, "GET", "/failing", None, {}),
            (worker, "POST", "/echo", b"hello", {}),
        ]
        for kind in kinds:
            threading.Thread(target=self.send, args=kind, daemon=True).start()

    def send(self, port, method, path, body, headers):
        connection = None
        while self.running:
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request(method, path, body, headers)
                connection.getresponse().read()
                self.sent += 1
            except (OSError, http.client.HTTPException):
                connection = None
            time.sleep(0.05)


class Prometheus:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}/api/v1"

    def get(self, path, **parameters):
        try:
            url = f"{self.base}{path}?{urllib.parse.urlencode(parameters)}"
            return json.load(urllib.request.urlopen(url, timeout=10))["data"]
        except urllib.error.HTTPError as refused:
            if refused.code >= 500:
                raise  # starting
            raise SystemExit(f"{parameters}: {refused.read().decode()}")

    def has_data(self, expression):
        """Whether the expression returns a number. NaN, such as 0 / 0, is none."""
        series = self.get("/query", query=expression)["result"]
        return any(each["value"][1] != "NaN" for each in series)

    def has_values(self, query):
        """Whether label_values(SELECTOR, LABEL) of a variable returns something."""
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
        return bool(self.get(f"/label/{label}/values", **{"match[]": selector}))


def filled(text):
    text = re.sub(r"\$(job|instance|application)\b", ".*", text)
    return text.replace("$__rate_interval", "30s").replace("[5m]", "[1m]")


def expressions(dashboard):
    """Expressions of the panels by their titles; also checks the form of the panels."""
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids), "ids of panels repeat"
    found = []
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]
            found.append((panel["title"], target["expr"]))
    return found


def with_jars(text, jar):
    examples = os.path.join(os.path.dirname(os.path.abspath(jar)), "berth-examples.jar")
    return text.replace("../target/berth-examples.jar", examples)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def config(name):
    with open(os.path.join(ROOT, "conf", name)) as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jar", required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    folder, jar = options.folder, options.jar
    java = ["java", "-Xmx256m", "-jar", jar]
    token = f"berth.admin.bearer_tokens=[{{name: prometheus, token: {VIEWER}, role: viewer}}, {{name: operator, token: {TOKEN}}}]"

    # An instance; its upstream is a node of the cluster.
    http_port, admin_port = free_port(), free_port()
    quickstart = write(folder, "quickstart.yaml", with_jars(config("quickstart.yaml"), jar))
    start(folder, "instance", *java, "run", quickstart, "--state-dir", "state", "--set", token,
          "--host", "127.0.0.1", "--port", str(http_port), "--admin-port", str(admin_port))

    # A cluster of two nodes.
    subprocess.run([*java, "cluster", "init", "cluster", "--nodes", "2"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    ports = {}
    for node in ("n1", "n2"):
        path = os.path.join(folder, "cluster", node + ".yaml")
        with open(path) as file:
            text = file.read()
        text = re.sub(r"\b(8\d{3}|74\d\d)\b", lambda port: str(ports.setdefault(port[0], free_port())), text)
        write(folder, f"cluster/{node}.yaml", text)
        start(folder, node, *java, "run", path, "--set", token)
    until("the instance", 60, healthy(admin_port))
    until("the worker", 60, healthy(ports["8266"]))

    # Prometheus, by the file of this project with other targets and intervals.
    prometheus_port = free_port()
    with open(os.path.join(ROOT, "deploy/prometheus/prometheus.yml")) as file:
        text = file.read()
    targets = [f"localhost:{port}" for port in (admin_port, ports["8265"], ports["8266"])]
    text = text.replace('["localhost:8265"]', json.dumps(targets)).replace("_interval: 15s", "_interval: 2s")
    write(folder, "prometheus.yml", text)
    with open(os.path.join(ROOT, "deploy/prometheus/alerts.yml")) as file:
        write(folder, "alerts.yml", file.read())
    write(folder, "berth-token", VIEWER)
    start(folder, "prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
          f"--web.listen-address=127.0.0.1:{prometheus_port}")
    prometheus = Prometheus(prometheus_port)
    until("targets", 60, lambda: sum(each["health"] == "up" for each in prometheus.get("/targets", state="active")["activeTargets"]) == 3)

    # Deploys: one that succeeds, with a handler that fails, and one that fails.
    write(folder, "Failing.java", FAILING)
    subprocess.run(["javac", "-cp", jar, "-d", "classes", "Failing.java"], cwd=folder, check=True)
    subprocess.run(["jar", "--create", "--file", "failing.jar", "-C", "classes", "."], cwd=folder, check=True)
    environment = dict(os.environ, BERTH_TOKEN=TOKEN)
    deploy = [*java, "deploy", "--wait", "--address"]
    through = f"""
applications:
  - name: through
    route_prefix: /through
    import_path: berth:proxy
    deployments:
      - name: through
        berth: {{upstreams: [{{url: "http://127.0.0.1:{ports["8001"]}", path_prefix: /echo, max_ongoing_requests: 8}}]}}
  - name: failing
    route_prefix: /failing
    import_path: Failing:build
    runtime_env: {{jars: [failing.jar]}}
"""
    examples = with_jars(config("examples.yaml"), jar)
    examples = write(folder, "examples.yaml", examples.replace("applications:\n", through.lstrip(), 1).split("\nberth:")[0])
    subprocess.run([*deploy, f"http://127.0.0.1:{admin_port}", examples], env=environment, check=True, cwd=folder)
    subprocess.run([*deploy, f"http://127.0.0.1:{ports['8265']}", quickstart], env=environment, check=True, cwd=folder)
    load = Load(http_port, ports["8001"])
    broken = write(folder, "broken.yaml", """
applications:
  - {name: broken, route_prefix: /broken, import_path: "dev.berth.examples.Missing:build"}
""")
    failed = subprocess.run([*deploy, f"http://127.0.0.1:{admin_port}", broken], env=environment, cwd=folder)
    assert failed.returncode != 0, "the deploy of a missing class succeeded"

    # Every expression has data.
    with open(os.path.join(ROOT, "deploy/grafana/berth.json")) as file:
        dashboard = json.load(file)
    missing = expressions(dashboard)
    count = len(missing)
    missing.append(("alert", 'ALERTS{alertname="BerthDeployFailed", alertstate="firing", application="broken"}'))
    missing += [("annotations", each["expr"]) for each in dashboard["annotations"]["list"]]
    end = time.monotonic() + WAIT_S
    while missing and time.monotonic() < end:
        time.sleep(2)
        missing = [(title, text) for title, text in missing if not prometheus.has_data(filled(text))]
    for title, text in missing:
        print(f"no data: {title}: {text}")
    variables = [each["definition"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    empty = [each for each in variables if not prometheus.has_values(filled(each))]
    for each in empty:
        print("no values:", each)
    firing = sorted({each["metric"]["alertname"] for each in prometheus.get("/query", query='ALERTS{alertstate="firing"}')["result"]})
    print("firing:", *firing)
    load.running = False
    if missing or empty:
        raise SystemExit(f"{len(missing) + len(empty)} of {count} expressions return no data: {(missing + empty)[0]}")
    print(f"{count} expressions and {len(variables)} variables return data after {load.sent} requests")


try:
    main()
finally:
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(40)
        except subprocess.TimeoutExpired:
            child.kill()
