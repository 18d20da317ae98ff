#!/usr/bin/env python3
"""Measures the time from process start to the first 200 of /echo, with and without archives.

usage: startup.py [--rounds N] [--java HOME]... [--write] (HOME of a JDK; default: the JDK in use)

Each round starts every kind once; odd rounds reverse the order. The client sends a request on a new
connection every millisecond, beginning before the process exists. CPU is the user and system time
of all threads of the process until the first 200.
"""
import argparse
import datetime
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

CONFIG = "conf/quickstart.yaml"
REQUEST = b"GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LIMIT_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def first_200(port):
    """Returns whether the server now responds with 200."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS) as client:
            client.sendall(REQUEST)
            return client.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def cpu_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / TICKS


def start(java, options, end=signal.SIGKILL, jar="target/berth.jar", config=CONFIG):
    """Starts the process once; returns wall and CPU milliseconds until the first 200."""
    port = free_port()
    command = [f"{java}/bin/java", *options, "-jar", jar, "run", config,
               "--host", "127.0.0.1", "--port", str(port), "--admin-port", "0"]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        os.set_blocking(process.stderr.fileno(), False)
        while not first_200(port):
            if process.poll() is not None or time.monotonic() - began > LIMIT_SECONDS:
                process.kill()
                sys.exit(f"no 200 from {' '.join(command)}\n{process.stderr.read()}")
            time.sleep(0.001)
        took = (time.monotonic() - began) * 1000
        cpu = cpu_ms(process.pid)
        process.send_signal(end)
        process.wait(LIMIT_SECONDS)
    return took, cpu


def version(java):
    """Returns the feature version of a JDK, from its release file."""
    for line in pathlib.Path(java, "release").read_text(encoding="utf-8").splitlines():
        if line.startswith("JAVA_VERSION="):
            return int(line.split('"')[1].split(".")[0])
    sys.exit(f"{java}: no JAVA_VERSION in its release file (expected: home of a JDK)")


def put(mark, text):
    """Writes text between the marks of this name in docs/performance.md."""
    page = pathlib.Path(__file__).parent.parent / "docs" / "performance.md"
    before, rest = page.read_text(encoding="utf-8").split(f"<!-- {mark}: begin -->\n")
    after = rest.split(f"<!-- {mark}: end -->")[1]
    page.write_text(f"{before}<!-- {mark}: begin -->\n{text}<!-- {mark}: end -->{after}",
                    encoding="utf-8")


def kinds_of(java, work):
    """Returns the kinds of start on one JDK, name -> options; an orderly run writes each archive."""
    feature = version(java)
    kinds = {f"Java {feature}": []}
    archive = f"{work}/berth-{feature}.jsa"
    start(java, [f"-XX:ArchiveClassesAtExit={archive}"], signal.SIGTERM)
    kinds[f"Java {feature}, class-data archive"] = [f"-XX:SharedArchiveFile={archive}"]
    if feature >= 25:
        cache = f"{work}/berth-{feature}.aot"
        start(java, [f"-XX:AOTCacheOutput={cache}"], signal.SIGTERM)
        kinds[f"Java {feature}, AOT cache"] = [f"-XX:AOTCache={cache}"]
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--java", action="append", metavar="HOME")
    parser.add_argument("--write", action="store_true", help="write the table to docs/performance.md too")
    given = parser.parse_args()
    if not os.path.exists("target/berth.jar"):
        subprocess.run(["mvn", "-B", "-q", "package", "-DskipTests"], check=True)
    work = "target/load-tests/startup"
    os.makedirs(work, exist_ok=True)
    for old in pathlib.Path(work).iterdir():
        old.unlink()
    on_path = str(pathlib.Path(shutil.which("java") or "java").resolve().parent.parent)
    load = os.getloadavg()[0]
    every = []
    for java in given.java or [os.environ.get("JAVA_HOME", on_path)]:
        every += [(java, name, options) for name, options in kinds_of(java, work).items()]
    samples = {name: [] for _, name, _ in every}
    for number in range(given.rounds):
        for java, name, options in every if number % 2 == 0 else reversed(every):
            samples[name].append(start(java, options))
        print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    lines = [f"{datetime.date.today()}, {given.rounds} starts of each kind, {os.cpu_count()} cores, "
             f"load average {load:.1f} before the run.", "",
             "| | ms to the first 200 (min–max) | CPU ms |", "|---|---|---|"]
    for name, took in samples.items():
        wall = sorted(each[0] for each in took)
        cpu = statistics.median(each[1] for each in took)
        lines.append(f"| {name} | {statistics.median(wall):.0f} ({wall[0]:.0f}-{wall[-1]:.0f}) "
                     f"| {cpu:.0f} |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if given.write:
        put("archives", text)


if __name__ == "__main__":
    main()
