#!/usr/bin/env python3
"""Measures the cost of a cluster node compared with a standalone instance. Started by nodes.sh.

usage: nodes.py JAR HANDLERS_JAR WORK_FOLDER [--before JAR] [--archives] [--rounds N] [--warm N]
                [--java OPTION]... PART...

Parts: starts, hops, nginx, slots, memory, or all. Each prints a table in Markdown. When a claim does
not hold, it prints the claim and ends with exit code 1.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

LIMIT_S = 120
LISTENS = re.compile(r" listens on ")
STARTED = re.compile(r" started in \d+ ms")


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def cpu_ms(pid, name=""):
    """Returns the run time of a process's threads whose name begins with name, by the scheduler.

    The threads of the JIT compilers are left out: their work ends, and that of the server does not.
    """
    nanos = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            comm = (task / "comm").read_text()
            if comm.startswith(name) and " CompilerThre" not in comm:
                nanos += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass  # ended meanwhile
    return nanos / 1e6


def whole_cpu_ms(pid):
    """Returns CPU time including that of ended threads, in steps of 10 ms."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


class Process:
    """A `berth run` process of one configuration."""

    def __init__(self, given, jar, config, folder, *options, java=()):
        self.config, self.log = pathlib.Path(config), pathlib.Path(folder) / f"{pathlib.Path(config).stem}.log"
        self.begun = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["java", *given.java, *java, "-jar", jar, "run", str(config), *options],
                stdout=log, stderr=subprocess.STDOUT)
        self.pid = self.process.pid

    def until(self, pattern, limit_s=LIMIT_S):
        """Waits for the pattern in the log; returns wall and CPU milliseconds since the start."""
        while True:
            text = self.log.read_text(encoding="utf-8")
            if pattern.search(text):
                return (time.monotonic() - self.begun) * 1000, whole_cpu_ms(self.pid)
            if self.process.poll() is not None or time.monotonic() - self.begun > limit_s:
                sys.exit(f"{self.config}: no line with {pattern.pattern}\n{text}")
            time.sleep(0.002)

    def stamp(self, pattern):
        """Returns the timestamp of the first log line with the pattern, in ms."""
        line = next(each for each in self.log.read_text(encoding="utf-8").splitlines()
                    if pattern.search(each))
        hours, minutes, seconds = line.split("T")[1].split("Z")[0].split(":")
        return (int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000

    def end(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(LIMIT_S)


def quartiles(values, decimals=0):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.{decimals}f} ({low:.{decimals}f}–{high:.{decimals}f})"


def ratio(values, base):
    low, middle, high = statistics.quantiles(
        [one / other for one, other in zip(values, base)], n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def table(*rows):
    print()
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows[1:]:
        print("| " + " | ".join(str(each) for each in row) + " |")
    print(flush=True)


def cluster(given, nodes=3):
    """Creates a trial by `berth cluster init`, with separate state; returns its folder."""
    folder = pathlib.Path(given.work) / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["java", "-jar", given.jar, "cluster", "init", str(folder), f"--nodes={nodes}"],
                   check=True, stdout=subprocess.DEVNULL)
    return folder


# --- starts ---

def one_start(given, jar, config, folder, java=()):
    """Starts a process; returns it, running, with its times until it listens."""
    process = Process(given, jar, config, folder, java=java)
    took, cpu = process.until(LISTENS)
    return process, {"ms": took, "cpu": cpu}


def settled(process):
    time.sleep(1.5)
    return resident_kib(process.pid) / 1024


def starts(given):
    folder = cluster(given, 2)
    alone = pathlib.Path(given.work) / "alone.yaml"
    alone.write_text("http_options: {host: 127.0.0.1, port: 0}\n"
                     "applications: []\nberth:\n  admin: {host: 127.0.0.1, port: 0}\n", encoding="utf-8")
    jars = {"alone": given.jar}
    if given.before:
        jars = {"alone, before": given.before, "alone": given.jar, "alone, before again (A/A)": given.before}
    nodes = ("control node", "worker")
    archives = {kind: pathlib.Path(given.work) / f"{kind.replace('/', '')}.jsa" for kind in (*jars, *nodes)} if given.archives else {}
    making = {kind: [f"-XX:ArchiveClassesAtExit={path}"] for kind, path in archives.items()}
    taking = {kind: [f"-XX:SharedArchiveFile={path}"] for kind, path in archives.items()}

    def pair(java):
        for state in folder.glob("*-state"):
            shutil.rmtree(state)
        control, figures = one_start(given, given.jar, folder / "n1.yaml", folder, java.get("control node", ()))
        control.until(STARTED)
        time.sleep(1)
        worker, others = one_start(given, given.jar, folder / "n2.yaml", folder, java.get("worker", ()))
        worker.until(STARTED)
        return (control, figures), (worker, others)

    if archives:
        ended = [one_start(given, jar, alone, given.work, making[kind]) for kind, jar in jars.items()]
        for process, _ in [*ended, *reversed(pair(making))]:
            process.end(signal.SIGTERM)
    variants = [("", {}), (", with an archive", taking)][:2 if archives else 1]
    kinds = [kind + suffix for suffix, _ in variants for kind in (*jars, *nodes)]
    came = {kind: {"ms": [], "cpu": [], "rss": [], "serving": []} for kind in kinds}
    for number in range(given.rounds):
        for suffix, java in variants:
            for kind in jars if number % 2 == 0 else reversed(jars):
                process, figures = one_start(given, jars[kind], alone, given.work, java.get(kind, ()))
                came[kind + suffix]["rss"].append(settled(process))
                process.end()
                for each, value in figures.items():
                    came[kind + suffix][each].append(value)
            both = pair(java)
            for kind, (process, figures) in zip(nodes, both):
                kept = came[kind + suffix]
                kept["rss"].append(settled(process))
                kept["serving"].append(
                    process.stamp(STARTED) - process.stamp(re.compile("controller connected")))
                for each, value in figures.items():
                    kept[each].append(value)
            for process, _ in reversed(both):
                process.end()
        print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    base = came[kinds[0]]
    table(("", "ms to listening", "CPU ms to listening", "minimum", "CPU ratio to the first row",
           "RSS MiB", "ms from WELCOME to serving"),
          *((kind, quartiles(of["ms"]), quartiles(of["cpu"]), f"{min(of['cpu']):.0f}",
             ratio(of["cpu"], base["cpu"]) if of is not base else "1",
             quartiles(of["rss"]), quartiles(of["serving"]) if of["serving"] else "–")
            for kind, of in came.items()))
    sizes = [("jar", "bytes")]
    for jar in filter(None, (given.before, given.jar)):
        sizes.append((("before: " if jar == given.before else "") + "berth.jar", os.path.getsize(jar)))
    beside = pathlib.Path(given.jar).with_name("berth-cluster.jar")
    sizes.append((beside.name, os.path.getsize(beside)))
    table(*sizes)


# --- hops ---

LOOPS = "vert.x-eventloo"  # name of event loop threads, as truncated by the kernel
HOPS = (("1 KiB there and back, 64 at a time", 1 << 10, 64), ("64 KiB, 16 at a time", 64 << 10, 16),
        ("1 MiB, 4 at a time", 1 << 20, 4), ("a stream of 100 events, 16 at a time", 0, 16))
WAYS = (("data link: router and replica on different nodes", "REPLICA", False),
        ("the same again (A/A)", "REPLICA", False),
        ("local: router and replica on one loop", "REPLICA", True),
        ("clustered event bus", "BUS", False),
        ("HTTP/1.1, Vert.x on both sides", "HTTP_1", False),
        ("HTTP/2, Vert.x on both sides", "HTTP_2", False))


def http_port(config):
    return int(re.search(r"http_options:.*?port: (\d+)", config.read_text(encoding="utf-8"), re.S).group(1))


def get(port, path, timeout=LIMIT_S):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
        return answer.read().decode().strip()


def nodes_up(given, folder, number, *options):
    """Starts this number of nodes of a cluster and returns them running."""
    up = []
    for node in range(1, number + 1):
        up.append(Process(given, given.jar, folder / f"n{node}.yaml", folder, *options))
        up[-1].until(STARTED)
        up[-1].port = http_port(up[-1].config)
    return up


def deploy(given, folder, applications):
    file = folder / "applications.yaml"
    file.write_text("applications:\n" + applications, encoding="utf-8")
    done = subprocess.run(["java", "-jar", given.jar, "deploy", str(file), "--wait",
                           "--address=http://127.0.0.1:8265"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"deploy: {done.stdout}{done.stderr}")


def application(given, name, builder, deployments, args="{}"):
    return (f"  - name: {name}\n    route_prefix: /{name}\n    import_path: NodesApp:{builder}\n"
            f"    runtime_env: {{jars: ['{given.handlers}']}}\n    args: {args}\n    deployments:\n"
            + "".join(f"      - {each}\n" for each in deployments))


def hops(given):
    folder = cluster(given, 2)
    up = nodes_up(given, folder, 2, "--set", "berth.event_loops=1")
    try:
        deploy(given, folder, application(
            given, "hops", "build",
            ("{name: asker, num_replicas: 2, max_replicas_per_node: 1}", "{name: served, num_replicas: 1}"),
            f"{{certificates: '{folder}'}}"))
        serving = int(get(up[0].port, "/hops/ask?way=WHERE"))
        here, there = sorted(up, key=lambda each: each.pid != serving)
        for each in up:
            if int(get(each.port, "/hops/ask?way=SELF")) != each.pid:
                sys.exit("the asker replica is not on the node of its ingress")

        def slice_of(way, local, size, callers, ms):
            asks = here if local else there
            before = [cpu_ms(each.pid, LOOPS) for each in (asks, here)]
            answers, failed = map(int, get(
                asks.port, f"/hops/ask?way={way}&bytes={size}&callers={callers}&ms={ms}").split())
            if failed:
                sys.exit(f"{way}: {failed} failures")
            asking, serves = (cpu_ms(each.pid, LOOPS) - was for each, was in zip((asks, here), before))
            return asking * 1000 / answers, 0 if local else serves * 1000 / answers

        for _ in range(given.warm):  # until the JIT compiler has compiled all paths
            for _, size, callers in HOPS:
                for _, way, local in WAYS:
                    slice_of(way, local, size, callers, 200)
        for title, size, callers in HOPS:
            came = {name: [] for name, _, _ in WAYS}
            for number in range(4 * given.rounds):
                turned = WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]
                for name, way, local in turned if number % 2 else reversed(turned):
                    came[name].append(slice_of(way, local, size, callers, 100))
            base = [sum(each) for each in came[WAYS[0][0]]]
            table((title, "CPU us", "calling + serving", "minimum", "ratio to the first row"),
                  *((name, quartiles([sum(each) for each in of], 1),
                     " + ".join(f"{statistics.median(side):.1f}" for side in zip(*of)),
                     f"{min(sum(each) for each in of):.1f}",
                     ratio([sum(each) for each in of], base) if name != WAYS[0][0] else "1")
                    for name, of in came.items()))
    finally:
        for each in reversed(up):
            each.end()


# --- nginx ---

def nginx(given):
    """Measures a routed request whose replica is on the other node, beside nginx."""
    work = pathlib.Path(given.work)
    folder = cluster(given, 2)
    (work / "headers").write_text("content-type: text/plain\nx-process: 12345\n"
                                  "x-request-id: 0123456789abcdef-fffff\n", encoding="utf-8")
    (work / "body").write_text("0123456789abcdef" * 2, encoding="utf-8")
    started = []
    try:
        up = nodes_up(given, folder, 2, "--set", "berth.event_loops=1")
        started += [each.process for each in up]
        deploy(given, folder, application(given, "no-op", "noOp", ("{name: no-op, num_replicas: 1}",)))
        with urllib.request.urlopen(f"http://127.0.0.1:{up[0].port}/no-op") as answer:
            serving = int(answer.headers["X-Process"])
        here, there = sorted(up, key=lambda each: each.pid != serving)
        files = [folder / name for name in ("n1.pem", "n1-key.pem", "ca.pem")]
        raw = subprocess.Popen(
            ["java", "-Dport=9443", "-cp", f"{given.jar}:{work}/../classes", "RawServer", "reply", "1",
             str(work / "headers"), str(work / "body"), *map(str, files)], stdout=subprocess.DEVNULL)
        alone = work / "upstream.yaml"
        alone.write_text(
            "http_options: {host: 127.0.0.1, port: 9444, ssl_certfile: '%s', ssl_keyfile: '%s',"
            " ssl_ca_certs: '%s'}\nberth: {event_loops: 1, admin: {port: 0}}\napplications:\n" % tuple(files)
            + application(given, "no-op", "noOp", ("{name: no-op, num_replicas: 1}",)), encoding="utf-8")
        berth = Process(given, given.jar, alone, work)
        berth.until(STARTED)
        started += [raw, berth.process]
        conf = work / "nginx.conf"
        server = """
  upstream to{0} {{ server 127.0.0.1:{0}; keepalive 128; }}
  server {{ listen 127.0.0.1:{1} backlog=4096; location / {{ proxy_pass https://to{0}; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_ssl_certificate {2}; proxy_ssl_certificate_key {3};
    proxy_ssl_trusted_certificate {4}; proxy_ssl_verify on; proxy_ssl_name localhost;
    proxy_ssl_protocols TLSv1.3; }} }}"""
        conf.write_text(
            f"daemon off; worker_processes 1; pid {work}/nginx.pid; error_log {work}/nginx.log;\n"
            "events { worker_connections 4096; }\nhttp { access_log off; keepalive_requests 100000000;"
            + server.format(9443, 9080, *files) + server.format(9444, 9081, *files) + "\n}\n",
            encoding="utf-8")
        proxy = subprocess.Popen(["nginx", "-c", str(conf)])
        started.append(proxy)
        time.sleep(3)
        worker = int(pathlib.Path(f"/proc/{proxy.pid}/task/{proxy.pid}/children").read_text().split()[0])
        rows = (("Berth: ingress on one node, replica on the other", there.port, "/no-op", (here.pid, there.pid)),
                ("the same again (A/A)", there.port, "/no-op", (here.pid, there.pid)),
                ("Berth: ingress and replica on one node", here.port, "/no-op", (here.pid, there.pid)),
                ("nginx, raw Vert.x behind it", 9080, "/no-op", (worker, raw.pid)),
                ("nginx, Berth by itself behind it", 9081, "/no-op", (worker, berth.pid)))
        asked = [(row, connections) for connections in (64, 1) for row in rows]
        asking = subprocess.Popen(
            ["java", "-cp", f"{given.jar}:{work}/classes", "Asking",
             *(f"{row[1]}{row[2]}*{connections}" for row, connections in asked)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        started.append(asking)

        def slice_of(index, ms):
            pids = asked[index][0][3]
            before = [cpu_ms(pid) for pid in pids]
            print(index, ms, file=asking.stdin, flush=True)
            answers, p50, p99 = map(int, asking.stdout.readline().split())
            cpus = [(cpu_ms(pid) - was) * 1000 / answers for pid, was in zip(pids, before)]
            return sum(cpus), p50 / 1000, p99 / 1000

        for _ in range(given.warm):
            for index in range(len(asked)):
                slice_of(index, 800)
        for first, connections in (0, "64 connections"), (len(rows), "1 connection"):
            came = [[] for _ in rows]
            for number in range(6 * given.rounds):
                order = [(number + step) % len(rows) for step in range(len(rows))]
                for index in order if number % 2 else reversed(order):
                    came[index].append(slice_of(first + index, 150))
            base = [each[0] for each in came[0]]
            table((f"no-op, {connections}", "CPU us of all processes", "minimum", "ratio to the first row",
                   "p50 ms", "p99 ms"),
                  *((row[0], quartiles([each[0] for each in of], 1), f"{min(each[0] for each in of):.1f}",
                     "1" if of is came[0] else ratio([each[0] for each in of], base),
                     quartiles([each[1] for each in of], 2), quartiles([each[2] for each in of], 2))
                    for row, of in zip(rows, came)))
    finally:
        for process in reversed(started):
            process.terminate() if process.args[0] == "nginx" else process.kill()
            process.wait(LIMIT_S)


# --- slots ---

PACED = re.compile(r"achieved (\d+)/s.*?p50 ([0-9.]+) .*?p99 ([0-9.]+) .*?errors (\d+)", re.S)


def paced(given, port, *options):
    """Runs the open-loop client; returns requests per second, p50, p99 and errors."""
    said = subprocess.run(
        ["java", "-Xmx256m", "-cp", f"{given.jar}:{pathlib.Path(given.work).parent / 'classes'}", "OpenLoop",
         f"http://127.0.0.1:{port}/timer", "--connections=128", "--warm-up=2", *options],
        capture_output=True, text=True, check=False).stdout
    return [float(each) for each in PACED.search(said).groups()]


def slots(given):
    """Measures 8 slots per node with 20 ms per request: at most 400 requests a second per node."""
    folder = cluster(given, 3)
    up = nodes_up(given, folder, 3, "--set", "berth.event_loops=1")
    rows = [("20 ms on a timer, 8 slots per node", "bound per s", "per s", "p50 ms", "p99 ms", "errors")]
    try:
        for number in (1, 2, 3):
            deploy(given, folder, application(
                given, "timer", "timer",
                (f"{{name: timer, num_replicas: {number}, max_replicas_per_node: 1, max_queued_requests: -1}}",),
                f"{{folder: '{folder}'}}"))
            rate, p50, p99, errors = paced(given, up[0].port, "--pace=closed", "--seconds=8")
            rows.append((f"{number} {'node' if number == 1 else 'nodes'}, 128 connections to one of them, closed loop", 400 * number,
                         f"{rate:.0f}", f"{p50:.0f}", f"{p99:.0f}", f"{errors:.0f}"))
        for name, slow in ("3 nodes, 300 a second, Poisson", False), ("the same, one node takes 200 ms", True):
            if slow:
                (folder / f"slow-{up[2].pid}").touch()
            rate, p50, p99, errors = paced(
                given, up[0].port, "--pace=poisson", "--rate=300", "--seconds=10")
            rows.append((name, 1200 if not slow else 840, f"{rate:.0f}", f"{p50:.1f}", f"{p99:.1f}", f"{errors:.0f}"))
        table(*rows)
    finally:
        for each in reversed(up):
            each.end()


# --- memory ---

def meter(process, name, combined=sum):
    """Returns a metric of a node, combined over the series of its peers."""
    config = process.config.read_text(encoding="utf-8")
    text = get(int(re.search(r"admin:.*?port: (\d+)", config, re.S).group(1)), "/metrics")
    return combined([float(each) for each in re.findall(rf"^{name}(?:{{[^}}]*}})? ([0-9.eE+]+)", text, re.M)] or [0])


def memory(given):
    """Stops one of two serving nodes under load; checks that the sender's memory stays bounded."""
    folder = cluster(given, 3)
    given.java += ["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"]  # else the heap's growth hides all else
    up = nodes_up(given, folder, 3, "--set", "berth.event_loops=1",
                  "--set", "berth.cluster.detection.timeout_ms=20000")
    rows = [("64 KiB there and back, 400 callers on one node", "responses per s", "failures",
             "sender RSS MiB, maximum", "in flight to one node MiB, maximum", "refused sends")]
    try:
        deploy(given, folder, application(
            given, "hops", "build",
            ("{name: asker, num_replicas: 3, max_replicas_per_node: 1}",
             "{name: served, num_replicas: 2, max_replicas_per_node: 1}"), f"{{certificates: '{folder}'}}"))
        sender = next(each for each in up if int(get(each.port, "/hops/ask?way=WHERE")) != each.pid)
        stopped = next(each for each in reversed(up) if each is not sender)

        def load(name, ms, stop=False):
            refused = meter(sender, "berth_link_sends_refused_total")
            answer = subprocess.Popen(
                ["curl", "-sS", f"http://127.0.0.1:{sender.port}/hops/ask?way=REPLICA&bytes=65536&callers=400&ms={ms}"],
                stdout=subprocess.PIPE, text=True)
            resident, under_way, begun = 0, 0, time.monotonic()
            while time.monotonic() - begun < ms / 1000:
                if stop and time.monotonic() - begun > 1:
                    stopped.process.send_signal(signal.SIGSTOP)
                resident = max(resident, resident_kib(sender.pid) / 1024)
                under_way = max(under_way, meter(sender, "berth_link_inflight_bytes", max) / 2**20)
                time.sleep(0.05)
            stopped.process.send_signal(signal.SIGCONT)
            said = answer.communicate(timeout=LIMIT_S)[0].split()
            if len(said) != 2:
                sys.exit(f"memory: {said}")
            rows.append((name, f"{int(said[0]) * 1000 / ms:.0f}", said[1], f"{resident:.0f}", f"{under_way:.1f}",
                         f"{meter(sender, 'berth_link_sends_refused_total') - refused:.0f}"))
            return resident

        load("warm-up", 8000)
        before = load("both nodes run", 8000)
        after = load("one stopped after 1 s, for 11 s", 12000, stop=True)
        load("both nodes run again", 8000)
        table(*rows)
        if after > before + 32:
            sys.exit(f"memory: grew by {after - before:.0f} MiB (expected: 32 at most)")
    finally:
        for each in reversed(up):
            each.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("jar")
    parser.add_argument("handlers")
    parser.add_argument("work")
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--before")
    parser.add_argument("--archives", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warm", type=int, default=8)
    parser.add_argument("--java", action="append", default=[])
    given = parser.parse_args()
    given.jar = os.path.abspath(given.jar)
    given.handlers = os.path.abspath(given.handlers)
    given.work = os.path.abspath(given.work)
    os.makedirs(given.work, exist_ok=True)
    for part in PARTS if given.parts == ["all"] else given.parts:
        PARTS[part](given)


PARTS = {"starts": starts, "hops": hops, "nginx": nginx, "slots": slots, "memory": memory}

if __name__ == "__main__":
    main()
