#!/usr/bin/env python3
"""Handlers that compute without end must not affect blocking handlers of other applications, on each
JDK.

    computing_handlers.py --jar JAR [PART…]        at most about five minutes

Application A keeps two handlers computing: endless loops, consecutive runs of 1 s, or runs of an ONNX
model of about 1 s with one thread each (ONNX Runtime is that of berth-examples.jar, beside the jar).
Meanwhile application B's trivial blocking handler is called on JDK 17 and JDK 25 in turn.
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, homes, main  # noqa: E402

ROUNDS = 3
ASK_S = 4  # requests of one round
P99_MS = 100
RATIO = 1.3  # maximum of the newer JDK to the older
PATIENCE_S = 5  # timeout of one request
GIVEN_UP = 2  # failed requests until a round ends

APPLICATION = """
import dev.berth.api.*;

public final class Computing {
  static volatile double sink;

  public static Application compute() {
    return Application.of(Deployment.blocking("compute", (request, context) -> {
      String millis = request.queryParameter("ms");
      long ends = millis == null ? 0 : System.nanoTime() + 1_000_000L * Long.parseLong(millis);
      for (long i = 0; millis == null || ends - System.nanoTime() > 0; i++) {
        for (int k = 0; k < 100_000; k++) {
          sink = Math.sqrt(i + k + sink);
        }
      }
      return Response.text("computed");
    }).withMaxOngoingRequests(2));
  }

  public static Application small() {
    return Application.of(Deployment.blocking("small", (request, context) -> Response.text("hi")));
  }
}
"""

ONNX = """
import ai.onnxruntime.*;
import dev.berth.api.*;
import java.nio.*;
import java.util.Map;

public final class Computing {
  static final class Model {
    static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();
    static final OrtSession SESSION = open();

    static OrtSession open() {
      try (var model = Computing.class.getResourceAsStream("/heavy.onnx");
          var options = new OrtSession.SessionOptions()) {
        options.setIntraOpNumThreads(1);
        options.setInterOpNumThreads(1);
        return ENVIRONMENT.createSession(model.readAllBytes(), options);
      } catch (Exception failed) {
        throw new IllegalStateException(failed);
      }
    }
  }

  public static Application compute() {
    return Application.of(Deployment.blocking("compute", (request, context) -> {
      FloatBuffer zeros = ByteBuffer.allocateDirect(4 * SIDE * SIDE).order(ByteOrder.nativeOrder()).asFloatBuffer();
      long began = System.nanoTime();
      try (var x = OnnxTensor.createTensor(Model.ENVIRONMENT, zeros, new long[] {SIDE, SIDE});
          var result = Model.SESSION.run(Map.of("x", x))) {
        return Response.text("" + (System.nanoTime() - began) / 1_000_000);
      }
    }).withMaxOngoingRequests(2));
  }

  public static Application small() {
    return Application.of(Deployment.blocking("small", (request, context) -> Response.text("hi")));
  }
}
"""
SIDE = 1024
PRODUCTS = 25  # consecutive products of matrices


def field(number, value):
    """Encodes one field of a protobuf message."""
    def varint(rest):
        while rest > 127:
            yield rest & 127 | 128
            rest >>= 7
        yield rest
    if isinstance(value, int):
        return bytes(varint(number << 3)) + bytes(varint(value))
    value = value.encode() if isinstance(value, str) else value
    return bytes(varint(number << 3 | 2)) + bytes(varint(len(value))) + value


def heavy_model():
    """Returns an ONNX model with runs of about a second: x · w · w · …"""
    dimension = field(1, field(1, SIDE))
    kind = field(2, field(1, field(1, 1) + field(2, dimension + dimension)))
    nodes = b"".join(
        field(1, field(1, f"x{k}" if k else "x") + field(1, "w") + field(2, f"x{k + 1}") + field(4, "MatMul"))
        for k in range(PRODUCTS))
    weights = field(1, SIDE) + field(1, SIDE) + field(2, 1) + field(8, "w") + field(9, bytes(4 * SIDE * SIDE))
    graph = nodes + field(2, "heavy") + field(5, weights) + field(11, field(1, "x") + kind) \
        + field(12, field(1, f"x{PRODUCTS}") + kind)
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


class Computing(Instance):
    def __init__(self, jar, home, entry="", application=APPLICATION):
        super().__init__(jar, "-Xmx256m", java=(os.path.join(home, "bin", "java"),))
        examples = os.path.join(os.path.dirname(jar), "berth-examples.jar")
        source = os.path.join(self.folder, "Computing.java")
        with open(source, "w") as out:
            out.write(application.replace("SIDE", str(SIDE)))
        classes = os.path.join(self.folder, "computing-classes")
        subprocess.run(["javac", "-nowarn", "--release", "17", "-cp", jar + ":" + examples, "-d", classes, source],
                       check=True)
        if application == ONNX:
            with open(os.path.join(classes, "heavy.onnx"), "wb") as out:
                out.write(heavy_model())
        made = os.path.join(self.folder, "computing.jar")
        subprocess.run(["jar", "cf", made, "-C", classes, "."], check=True)
        applications = [
            {"name": name, "route_prefix": "/" + name, "import_path": "Computing:" + name,
             "runtime_env": {"jars": [made] + ([examples] if application == ONNX else [])},
             **({"deployments": [{"name": name, "berth": entry}]} if entry and name == "compute" else {})}
            for name in ("compute", "small")]
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=60)
        connection.request("PUT", "/api/serve/applications/", json.dumps({"applications": applications}),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status >= 300:
            raise SystemExit(answer.read().decode())
        connection.close()
        end = time.monotonic() + 30
        while any(self.get("/" + path)[0] != 200 for path in ("small", "compute?ms=1")):
            if time.monotonic() > end:
                raise SystemExit("the applications do not respond:\n" + self.said())

    def keep_computing(self, path, over):
        def ask():
            while not over.is_set():
                self.get(path, timeout=PATIENCE_S + 2 * ROUNDS * ASK_S)
        for _ in range(2):
            threading.Thread(target=ask, daemon=True).start()

    def ask_small(self):
        """Returns the milliseconds of each request; None for those without a 200."""
        times = []
        end = time.monotonic() + ASK_S
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        while time.monotonic() < end and times.count(None) < GIVEN_UP:
            began = time.monotonic()
            try:
                connection.request("GET", "/small")
                answer = connection.getresponse()
                answer.read()
                times.append((time.monotonic() - began) * 1e3 if answer.status == 200 else None)
            except (OSError, http.client.HTTPException):
                times.append(None)
                connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            time.sleep(0.005)
        connection.close()
        return times


def p99(times):
    return statistics.quantiles(times, n=100)[98]


def beside(part, path, application=APPLICATION):
    def run(jar):
        jdks = homes(17, 25)
        if len(jdks) < 2:
            print(f"{part}: skipped: JDKs {sorted(jdks)} (expected: 17 and 25)", flush=True)
            return True
        times = {version: [] for version in jdks}
        for _ in range(ROUNDS):
            for version, home in sorted(jdks.items()):
                if times[version].count(None) >= GIVEN_UP:
                    continue
                with Computing(jar, home, application=application) as instance:
                    over = threading.Event()
                    instance.ask_small()  # warm-up of new code
                    if application == ONNX:
                        took = [instance.get(path)[1] for _ in range(2)]
                        print(f"{part}: JDK {version}: a run of the model takes {took[1]} ms", flush=True)
                    instance.keep_computing(path, over)
                    time.sleep(0.5)
                    times[version] += instance.ask_small()
                    over.set()
        well = True
        figures = {}
        for version, all_times in sorted(times.items()):
            came = [each for each in all_times if each is not None]
            lost = len(all_times) - len(came)
            if lost or len(came) < 2:
                print(f"{part}: JDK {version}: {lost} of {len(all_times)} requests without a response "
                      f"within {PATIENCE_S} s", flush=True)
                well = False
                continue
            figures[version] = p99(came)
            print(f"{part}: JDK {version}: {len(came)} responses, median {statistics.median(came):.1f} ms, "
                  f"p99 {p99(came):.1f} ms, slowest {max(came):.1f} ms", flush=True)
            well = well and p99(came) <= P99_MS
        if len(figures) == 2:
            ratio = figures[25] / figures[17]
            print(f"{part}: p99 of JDK 25 to JDK 17: {ratio:.2f}", flush=True)
            well = well and (ratio <= RATIO or figures[25] - figures[17] < 5)
        return well
    return run


def shared(jar):
    """`threads: virtual` shares the carriers: metric, status and one log line must report it."""
    home = homes(25).get(25)
    if home is None:
        print("virtual: skipped: no JDK 25", flush=True)
        return True
    with Computing(jar, home, {"threads": "virtual"}) as instance:
        instance.keep_computing("/compute", threading.Event())
        time.sleep(3)
        times = instance.ask_small()
        warned = [line for line in instance.said().splitlines() if "carrier" in line]
        metrics = instance.get("/metrics", instance.admin_port)[1]
        blocked = re.search(r'^berth_event_loop_blocked\{.*loop="carriers".*\} (\S+)', metrics, re.M)
        print(f"virtual: the other application {len([t for t in times if t])} of {len(times)} completed, "
              f"carriers blocked: {blocked and blocked.group(1)}, lines {len(warned)}: {warned[:1]}", flush=True)
        status = instance.get("/api/serve/applications/", instance.admin_port)[1]
        shown = re.search(r'"message":\s*"([^"]*carrier[^"]*)"', status)
        print(f"virtual: status: {shown.group(1) if shown else None}", flush=True)
        return None not in times and blocked and float(blocked.group(1)) == 1 and len(warned) == 1 \
            and "Computing" in warned[0] and bool(shown)


if __name__ == "__main__":
    main({"loops": beside("loops", "/compute"), "runs": beside("runs", "/compute?ms=1000"),
          "onnx": beside("onnx", "/compute", ONNX), "virtual": shared})
