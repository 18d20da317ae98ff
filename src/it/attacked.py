"""An instance under attack: a process with an application whose behaviour depends on the path,
hand-made HTTP/2 frames, and a well-behaved client and probe. Needs the standard library and Java with
javac. Ends only processes that it started.
"""

import http.client
import os
import re
import selectors
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+), admin on 127\.0\.0\.1:(\d+)")
START_LIMIT_S = 60

APPLICATION = """
import dev.berth.api.*;
import io.vertx.core.*;
import io.vertx.core.buffer.Buffer;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

public final class Prey {
  static final Map<String, AtomicInteger> RUNS = new ConcurrentHashMap<>();
  static final List<byte[]> KEPT = Collections.synchronizedList(new ArrayList<>());
  static final Buffer LARGE = Buffer.buffer(new byte[1 << 20]);
  static final Buffer EVENT = Buffer.buffer(new byte[4 << 10]);

  public static Application build() {
    return Application.of(
        Deployment.of("prey", replica -> (AsyncHandler) Prey::handle)
            .withSpreadOverLoops(true)
            .withMaxOngoingRequests(60_000));
  }

  static Future<Response> handle(Request request, RequestContext context) {
    RUNS.computeIfAbsent(request.path(), path -> new AtomicInteger()).incrementAndGet();
    switch (request.path()) {
      case "/stream":
        return Future.succeededFuture(
            Response.stream("application/octet-stream", writer -> {
              Promise<Void> done = Promise.promise();
              more(writer, done);
              return done.future();
            }));
      case "/whole":
        return Future.succeededFuture(
            Response.of(200, "application/octet-stream", Buffer.buffer(new byte[1 << 20])));
      case "/shared":
        return Future.succeededFuture(Response.of(200, "application/octet-stream", LARGE));
      case "/events":
        return Future.succeededFuture(
            Response.stream("text/event-stream", writer -> events(writer, 24)));
      case "/wait":
        Promise<Response> never = Promise.promise();
        context.onCancel(() -> never.tryFail("cancelled"));
        return never.future();
      case "/exhaust":
        List<byte[]> all = new ArrayList<>();
        while (true) {
          all.add(new byte[1 << 20]);
        }
      case "/keep":
        for (int kb = Integer.parseInt(request.queryParameter("kb")); kb > 0; kb -= 16) {
          KEPT.add(new byte[16 << 10]);
        }
        return Future.succeededFuture(Response.text("kept " + 16 * KEPT.size() + " KB"));
      case "/runs":
        return Future.succeededFuture(
            Response.text("" + RUNS.getOrDefault(request.queryParameter("of"), new AtomicInteger())));
      default:
        return Future.succeededFuture(Response.text("hi"));
    }
  }

  static Future<Void> events(ResponseWriter writer, int left) {
    return left == 0
        ? Future.succeededFuture()
        : writer.write(EVENT).compose(room -> events(writer, left - 1));
  }

  static void more(ResponseWriter writer, Promise<Void> done) {
    writer.write(Buffer.buffer(new byte[16 << 10])).onComplete(room -> more(writer, done), done::tryFail);
  }
}
"""


class Instance:
    """An instance process; `with` ends it."""

    def __init__(self, jar, *jvm, settings=(), loops=2, java=("java",)):
        self.folder = tempfile.mkdtemp(prefix="berth-attack-")
        os.chmod(self.folder, 0o755)  # some run as another user
        prey = prey_jar(jar, self.folder)
        with open(os.path.join(self.folder, "prey.yaml"), "w") as config:
            config.write(
                "applications:\n- name: prey\n  route_prefix: /\n  import_path: Prey:build\n"
                f"  runtime_env: {{jars: [{prey}]}}\n"
            )
        command = [*java, *jvm, "-jar", jar, "run", "prey.yaml", "--ephemeral"]
        command += ["--host", "127.0.0.1", "--port", "0", "--admin-port", "0"]
        for setting in (f"berth.event_loops={loops}", *settings):
            command += ["--set", setting]
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=self.log, stderr=subprocess.STDOUT
        )
        end = time.monotonic() + START_LIMIT_S
        while True:
            found = LISTENS.search(self.said())
            if found and " started in " in self.said():
                break
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise SystemExit("the instance did not start:\n" + self.said())
            time.sleep(0.02)
        self.port, self.admin_port = int(found.group(1)), int(found.group(2))

    def said(self):
        with open(self.log.name, errors="replace") as log:
            return log.read()

    def said_times(self, text):
        return self.said().count(text)

    def alive(self):
        return self.process.poll() is None

    def get(self, path, port=None, timeout=5):
        """Sends GET; returns status and text, or 0 and the failure."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=timeout)
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read().decode(errors="replace")
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as failed:
            return 0, repr(failed)

    def metric(self, name):
        """Returns the sum of a metric's series; None if the admin port does not respond."""
        status, text = self.get("/metrics", self.admin_port)
        if status != 200:
            return None
        lines = [line for line in text.splitlines() if re.match(re.escape(name) + r"[ {]", line)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def runs_of(self, path):
        status, text = self.get("/runs?of=" + path)
        return int(text) if status == 200 else None

    def live_bytes(self):
        """Returns the live heap after a full collection, in bytes."""
        command = ["jcmd", str(self.process.pid), "GC.class_histogram"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
        total = re.search(r"^Total\s+\d+\s+(\d+)", said, re.M)
        return int(total.group(1)) if total else None

    def __enter__(self):
        return self

    def __exit__(self, *failed):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def prey_jar(jar, folder):
    source = os.path.join(folder, "Prey.java")
    with open(source, "w") as out:
        out.write(APPLICATION)
    classes = os.path.join(folder, "classes")
    subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, source], check=True)
    made = os.path.join(folder, "prey.jar")
    subprocess.run(["jar", "cf", made, "-C", classes, "."], check=True)
    return made


class Others(threading.Thread):
    """A well-behaved client: sends small requests repeatedly until end()."""

    def __init__(self, instance, path="/hi", admin=False, every_s=0.05):
        super().__init__(daemon=True)
        self.instance = instance
        self.path = path
        self.port = instance.admin_port if admin else instance.port
        self.every_s = every_s
        self.answers = {}  # by status; 0: no response
        self.slowest_s = 0.0
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(self.every_s):
            began = time.monotonic()
            status, _ = self.instance.get(self.path, self.port)
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            self.answers[status] = self.answers.get(status, 0) + 1

    def end(self):
        self.over.set()
        self.join()
        return f"{dict(sorted(self.answers.items()))}, slowest {self.slowest_s * 1000:.0f} ms"

    def only(self, *statuses):
        return bool(self.answers) and set(self.answers) <= set(statuses)


# --- HTTP/2 by hand (RFC 9113, 7541) ---

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8


PRIORITY = 0x20  # flag of HEADERS: five bytes precede the block


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload) << 8 | kind) + struct.pack(">BI", flags, stream) + payload


def setting(number, value):
    return struct.pack(">HI", number, value)


def preface(window, connection_window=0):
    """Returns a client preface with these windows in bytes, without a header table, to read statuses."""
    hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    hello += frame(SETTINGS, 0, 0, setting(1, 0) + setting(4, window))
    if connection_window:
        hello += frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", connection_window))
    return hello


def get_frame(stream, path):
    block = b""
    for name, value in (
        (b":method", b"GET"), (b":scheme", b"http"), (b":path", path.encode()), (b":authority", b"a")
    ):
        block += b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    return frame(HEADERS, 5, stream, block)


def status_of(block):
    """Returns the status of a header block without Huffman codes and without a table."""
    while block and block[0] & 0xE0 == 0x20:
        block = block[1:]  # the table's size
    if block[:1] in (b"\x88", b"\x89", b"\x8a", b"\x8b", b"\x8c", b"\x8d", b"\x8e"):
        return (200, 204, 206, 304, 400, 404, 500)[block[0] - 0x88]
    found = re.search(rb"\x03([1-5]\d\d)", block[:16])
    return int(found.group(1)) if found else 0


class Http2Crowd:
    """Many HTTP/2 connections on one thread. Reads and counts frames but grants no credit for data."""

    def __init__(self, port, connections, hello):
        self.selector = selectors.DefaultSelector()
        self.sockets = []
        self.heads = {}  # by status
        self.resets = 0
        self.closed = 0
        for _ in range(connections):
            self.sockets.append(self.connect(port, hello))

    def connect(self, port, hello):
        made = socket.create_connection(("127.0.0.1", port), timeout=5)
        made.sendall(hello)
        made.setblocking(False)
        self.selector.register(made, selectors.EVENT_READ, bytearray())
        return made

    def send(self, each):
        """Sends to each socket the bytes that `each` returns for its index."""
        for index, sock in enumerate(self.sockets):
            rest = each(index)
            end = time.monotonic() + 5
            while rest and sock.fileno() >= 0 and time.monotonic() < end:
                try:
                    rest = rest[sock.send(rest):]
                except BlockingIOError:
                    self.listen(0.01)
                except OSError:
                    break

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while True:
            for key, _ in self.selector.select(max(0, min(0.1, end - time.monotonic()))):
                self.read(key)
            if time.monotonic() >= end:
                return

    def read(self, key):
        try:
            came = key.fileobj.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        if not came:
            self.closed += 1
            self.selector.unregister(key.fileobj)
            key.fileobj.close()
            return
        buffered = key.data
        buffered += came
        while len(buffered) >= 9:
            length = int.from_bytes(buffered[:3], "big")
            if len(buffered) < 9 + length:
                return
            kind = buffered[3]
            if kind == HEADERS:
                block = bytes(buffered[9 : 9 + length])
                status = status_of(block[5:] if buffered[4] & PRIORITY else block)
                self.heads[status] = self.heads.get(status, 0) + 1
            elif kind == RST_STREAM:
                self.resets += 1
            del buffered[: 9 + length]

    def close(self):
        for sock in self.sockets:
            sock.close()
        self.selector.close()


def homes(*versions):
    """Returns homes of installed JDKs by feature version, found as in src/it/jdks.sh."""
    found = {}
    named = os.environ.get("JDKS", "").split(":") + [os.environ.get("JAVA_HOME", "")]
    folders = ["/usr/lib/jvm", os.path.expanduser("~/.sdkman/candidates/java")]
    named += [os.path.join(f, name) for f in folders if os.path.isdir(f) for name in os.listdir(f)]
    for home in named:
        if home and os.access(os.path.join(home, "bin", "javac"), os.X_OK):
            said = subprocess.run([os.path.join(home, "bin", "javac"), "-version"],
                                  capture_output=True, text=True).stdout
            version = re.match(r"javac (\d+)", said)
            if version and int(version.group(1)) in versions:
                found.setdefault(int(version.group(1)), home)
    return found


def main(parts):
    """Runs the parts named after `--jar JAR`, or all; exits with 0 when each part's claims hold."""
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--jar", required=True)
    parser.add_argument("part", nargs="*", help=", ".join(parts))
    given = parser.parse_args()
    failed = []
    for name, part in parts.items():
        if given.part and name not in given.part:
            continue
        if not part(os.path.abspath(given.jar)):
            failed.append(name)
            print(f"{name}: NOT HELD", flush=True)
    raise SystemExit(1 if failed else 0)
