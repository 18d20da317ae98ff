"""The three nodes of a trial: their processes, admin servers and logs."""

import collections
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import threading
import time

from cluster_load import TIMEOUT_S, TOKEN
from cluster_net import NAMES, run, tcp

LIMIT_S = 120
SLOTS = 8  # of a replica
REPLICAS = 6
GAP_MS = 1000  # a process stopped for this long may be suspected

SUSPICION = re.compile(r"(?:ControlServer - node (\w+)(?:~\w+)?: (?:silent|lost: .*)"
                       r"|EventLoopLinks - data link to (\w+)~\w+ from loop \d+: closed: (?:silent|not connected.*)"
                       r"|EventLoopLinks - data link from (\w+)~\w+, loop \d+: \S+: silent"
                       r"|ControlClient - controller unreachable: (silent for) .*"
                       r"|NodeBus - event bus to (\w+)~\w+: (?:silent|not connected.*))")
GAP = re.compile(r"(?:blocked for|running again after) (\d+) ms")


def until(so, limit_s=LIMIT_S, every_s=0.1):
    """Returns the seconds until the condition holds; None when it does not within the limit."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit_s:
        try:
            if so():
                return time.monotonic() - begin
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            pass
        time.sleep(every_s)
    return None


class Node:
    """One node, with a configuration from `berth cluster init`."""

    def __init__(self, jar, folder, name, options, net):
        self.jar, self.folder, self.name, self.net = jar, folder, name, net
        self.java, self.messages = options.java.split(), options.messages
        self.host = net.host(name)
        self.client_host = self.host if net.prefix(name) else f"127.0.1.{name[1:]}"
        self.config = folder / f"{name}.yaml"
        text = self.config.read_text(encoding="utf-8")
        self.http = int(re.search(r"http_options:.*?port: (\d+)", text, re.S).group(1))
        self.admin = int(re.search(r"admin:.*?port: (\d+)", text, re.S).group(1))
        self.ports = {name: int(port) for name, port
                      in re.findall(r"(control|data|https|consensus|bus): (\d+)", text)}
        self.logs = []
        self.pids = []
        self.process = None

    def start(self):
        self.logs.append(self.folder / f"{self.name}-{len(self.logs) + 1}.log")
        command = [*self.net.prefix(self.name), "java", "-Xmx256m", "-XX:+UseSerialGC", *self.java,
                   "-jar", self.jar, "run", str(self.config), "--set", "berth.event_loops=2",
                   "--set", f"berth.messages={self.messages}",
                   "--set", f"http_options.request_timeout_s={TIMEOUT_S}",
                   "--set", "berth.reservations.data_port=true",
                   "--set", f"berth.reservations.bearer_tokens=[{{name: trial, token: {TOKEN}}}]",
                   *self.net.settings(self.name)]
        with open(self.logs[-1], "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self.pids.append(self.process.pid)
        self.net.started(self.name, self.process.pid, self.ports.values())

    def said(self):
        """Returns the log of the current process."""
        return self.logs[-1].read_text(encoding="utf-8")

    def lines(self):
        """Returns the log lines of all processes of the node so far."""
        return [line for log in self.logs for line in log.read_text(encoding="utf-8").splitlines()]

    def get(self, path, timeout=5):
        """Sends GET to the admin server on the node's loopback; returns status and JSON."""
        answers = []

        def ask():
            try:
                self.net.enter(self.name)
                connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=timeout)
                try:
                    connection.request("GET", path)
                    answer = connection.getresponse()
                    answers.append((answer.status, json.loads(answer.read())))
                finally:
                    connection.close()
            except (OSError, http.client.HTTPException, ValueError) as failed:
                answers.append(failed)
        asking = threading.Thread(target=ask)
        asking.start()
        asking.join()
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    def members(self):
        """Returns member states by name, in this node's view."""
        status, said = self.get("/api/v1/cluster")
        return {each["name"]: each["state"] for each in said["nodes"]} if status == 200 else {}

    def send(self, which):
        self.process.send_signal(which)

    def end(self, which=signal.SIGTERM, limit_s=60):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(which)
        if which == signal.SIGTERM:
            self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cpu_s(self):
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
                words = file.read().rsplit(")", 1)[1].split()
            return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            return 0.0


class Cluster:
    def __init__(self, options, folder, net):
        self.jar, self.folder, self.options, self.net = options.berth, folder, options, net
        self.records = folder / "records"
        self.records.mkdir()
        self.made = folder / "cluster"
        self.read = {}  # bytes read so far of each record file
        self.ran = collections.defaultdict(list)  # (node, concurrency) by id
        self.most = 0  # maximum of concurrent requests of one replica
        self.where = {}  # node by replica, of all replicas so far
        self.berth("cluster", "init", str(self.made), *(f"--host={n}={net.host(n)}" for n in NAMES), at=None)
        self.nodes = [Node(self.jar, self.made, name, options, net) for name in NAMES]

    def berth(self, *words, at=0):
        address = [] if at is None else [f"--address=127.0.0.1:{self.nodes[at].admin}"]
        within = [] if at is None else self.net.prefix(self.nodes[at].name)
        done = subprocess.run(
            [*within, "java", "-XX:TieredStopAtLevel=1", "-jar", self.jar, *words, *address],
            capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode:
            raise SystemExit(f"berth {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def whole(self, at=0):
        return self.nodes[at].members() == {node.name: "ALIVE" for node in self.nodes}

    def replicas(self, at=0):
        """Returns node by replica, of running replicas."""
        _, said = self.nodes[at].get("/api/serve/applications/")
        found = {}
        for application in said["applications"].values():
            for deployment in application["deployments"].values():
                for replica in deployment["replicas"]:
                    if replica["state"] == "RUNNING":
                        found[replica["replica_id"]] = replica["node_id"].split("~")[0]
        self.where.update(found)
        return found

    def linked(self):
        """Returns whether no failed data link is reported; routers skip an unreachable node for 5 s."""
        _, said = self.nodes[0].get("/api/v1/cluster")
        return not any(each["unreachable_from"] for each in said["nodes"])

    def healthy(self, at=0):
        return self.linked() and all(self.whole(i) for i in range(len(self.nodes))) and len(self.replicas(at)) == REPLICAS

    def start(self):
        for node in self.nodes:
            node.start()
        begin = time.monotonic()
        until(lambda: self.whole() or any(node.process.poll() is not None for node in self.nodes))
        took = time.monotonic() - begin
        if any(node.process.poll() is not None for node in self.nodes) or not self.whole():
            raise SystemExit("the cluster did not start:\n" + "\n".join(
                f"--- {node.name}\n{node.said()[-4000:]}" for node in self.nodes))
        print(f"three nodes formed a cluster after {took:.1f} s", flush=True)
        file = self.folder / "records.yaml"
        file.write_text(f"""
applications:
  - name: records
    route_prefix: /records
    import_path: RecordsApp:build
    args: {{folder: "{self.records}", slots: {SLOTS}}}
    runtime_env: {{jars: ["{os.path.abspath(self.options.handlers)}"]}}
    deployments: [{{name: records, num_replicas: {REPLICAS}, max_replicas_per_node: 4}}]
""", encoding="utf-8")
        begin = time.monotonic()
        print(self.berth("deploy", str(file), "--wait"), end="")
        spread = collections.Counter(self.replicas().values())
        print(f"deployed after {time.monotonic() - begin:.1f} s: {dict(spread)}", flush=True)
        return spread

    # --- executions ---

    def executions(self):
        """Returns (node, concurrency) of each execution, by request id."""
        nodes = {str(pid): node.name for node in self.nodes for pid in node.pids}
        for file in self.records.iterdir():
            node = nodes[file.name.removeprefix("executions-")]
            with open(file, encoding="utf-8") as records:
                records.seek(self.read.get(file, 0))
                for line in iter(records.readline, ""):
                    if not line.endswith("\n"):
                        break
                    name, replica, now = line.split()
                    self.read[file] = self.read.get(file, 0) + len(line)
                    self.ran[name].append((node, int(now)))
                    self.most = max(self.most, int(now))
                    self.where[replica] = node
        return self.ran

    def ledger(self, node):
        """Returns the ledgers of the node's replicas, from the node itself."""
        status, said = node.get(f"/api/v1/ledger?node={node.name}", timeout=10)
        if status != 200:
            raise ValueError(f"ledger: {status}")
        return said["replicas"]

    def running(self, *names):
        """Returns the replicas of these nodes that accept requests, from the nodes themselves."""
        return {each["replica"] for node in self.nodes if node.name in names
                for each in self.ledger(node) if not each["draining"]}

    def busy(self):
        """Returns replicas with occupied slots or a failed audit."""
        return [f"{node.name}: {json.dumps(each)[:300]}" for node in self.nodes for each in self.ledger(node)
                if each["running"] or each["reserved"] or each["audit"] == "mismatch"]

    # --- suspicions in logs ---

    def marks(self):
        """Returns the current number of log lines by node."""
        return {node.name: len(node.lines()) for node in self.nodes}

    def suspicions(self, marks):
        """Returns (suspecting, suspected, line) since the marks, without nodes that logged a stop."""
        said = {node.name: node.lines()[marks[node.name]:] for node in self.nodes}
        gaps = {name for name, lines in said.items()
                if any(int(ms) >= GAP_MS for line in lines for ms in GAP.findall(line))}
        found = []
        for name, lines in said.items():
            for line in lines:
                match = SUSPICION.search(line)
                if match and "its node runs another process" not in line:
                    whom = "n1" if match[4] else match[1] or match[2] or match[3] or match[5]
                    if whom not in gaps:
                        found.append((name, whom, line))
        return found

    def waiting(self, node):
        """Returns the bytes in sockets to a node that it has not read: its own and the senders'."""
        hosts = {node.host, node.client_host}
        views = ["/proc/self/net"] + [f"/proc/{each.process.pid}/net" for each in self.nodes]
        rows = {(view, *row) for view in (views if self.net.prefix(node.name) else views[:1]) for row in tcp(view)}
        return sum(sent if there[0] in hosts else read for _, own, there, _, _, sent, read in rows
                   if there[0] in hosts or own[0] in hosts and own[1] in (node.http, *node.ports.values()))

    # --- certificates ---

    def certify(self, node, days):
        """Issues another certificate for a node by the CA of the trial."""
        request, names, fresh = (self.made / f"{node.name}.{each}" for each in ("csr", "ext", "new"))
        names.write_text(f"subjectAltName=DNS:{node.name},DNS:localhost,IP:127.0.0.1,IP:{node.host}\n",
                         encoding="utf-8")
        run("openssl", "req", "-new", "-key", str(self.made / f"{node.name}-key.pem"), "-subj",
            f"/CN={node.name}", "-out", str(request))
        run("openssl", "x509", "-req", "-in", str(request), "-CA", str(self.made / "ca.pem"), "-CAkey",
            str(self.made / "ca-key.pem"), "-CAcreateserial", "-extfile", str(names), "-out", str(fresh),
            "-days", str(days))
        text = fresh.read_text(encoding="utf-8")
        fresh.rename(self.made / f"{node.name}.pem")
        return text

    def tls(self, node):
        """Returns a client TLS context that presents a node's certificate."""
        context = ssl.create_default_context(cafile=str(self.made / "ca.pem"))
        context.check_hostname = False
        context.load_cert_chain(self.made / f"{node.name}.pem", self.made / f"{node.name}-key.pem")
        return context

    def end(self):
        for node in self.nodes:
            node.send(signal.SIGTERM)
        for node in self.nodes:
            node.end()
        self.net.end()
