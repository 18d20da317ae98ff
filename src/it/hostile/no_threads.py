#!/usr/bin/env python3
"""Blocking requests without a thread of the system must be refused and leave no slot occupied, and must
run again once threads are available. The same holds beyond `berth.limits.max_handler_threads`.

    no_threads.py --jar JAR [PART…]        at most about two minutes

Under root the instance runs as another user, because the limit of threads does not apply to root.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from attacked import Instance, main  # noqa: E402

REQUESTS = 250
PATIENCE_S = 20
THREADS = 120  # limit of the instance's threads; it uses about 50 itself
FEW = 20  # concurrent requests afterwards

APPLICATION = """
import dev.berth.api.*;

public final class Naps {
  public static Application build() {
    return Application.of(Deployment.blocking("naps", (request, context) -> {
      Thread.sleep(1_000);
      return Response.text("slept");
    }).withMaxOngoingRequests(300));
  }
}
"""


def threads_of(uid):
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat("/proc/" + name).st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            pass  # the process ended
    return count


class Naps(Instance):
    def __init__(self, jar, *settings, bounded=False):
        uid = os.getuid() or 65534
        most = threads_of(uid) + THREADS
        prefix = (f"--nproc={most}:{most}",) if bounded else ()
        if os.getuid() == 0:
            prefix += ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
        super().__init__(jar, "-Xmx256m", settings=settings,
                         java=(*(("prlimit",) if bounded else ()), *prefix, "java"))
        source = os.path.join(self.folder, "Naps.java")
        with open(source, "w") as out:
            out.write(APPLICATION)
        classes = os.path.join(self.folder, "naps-classes")
        subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, source], check=True)
        made = os.path.join(self.folder, "naps.jar")
        subprocess.run(["jar", "cf", made, "-C", classes, "."], check=True)
        body = {"applications": [{
            "name": "naps", "route_prefix": "/naps", "import_path": "Naps:build",
            "runtime_env": {"jars": [made]}}]}
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=60)
        connection.request("PUT", "/api/serve/applications/", json.dumps(body),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status >= 300:
            raise SystemExit(answer.read().decode())
        connection.close()
        end = time.monotonic() + 30
        while any(self.get("/naps")[0] != 200 for _ in range(16)):  # each loop has the route
            if time.monotonic() > end:
                raise SystemExit("the application does not respond:\n" + self.said())

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def ask_all(self, requests=REQUESTS):
        """Returns the number of responses by status; status 0: no response in time."""
        answers, lock = {}, threading.Lock()

        def ask():
            status, _ = self.get("/naps", timeout=PATIENCE_S)
            with lock:
                answers[status] = answers.get(status, 0) + 1
        asking = [threading.Thread(target=ask, daemon=True) for _ in range(requests)]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        return dict(sorted(answers.items()))


def told(part, instance, answers):
    time.sleep(3)
    running = instance.metric("serve_replica_processing_queries")
    print(f"{part}: {REQUESTS} requests: {answers}, slots in use afterwards: {running}, "
          f"refused for lack of a thread: {instance.metric('berth_handler_threads_refused_total') or 0:.0f}",
          flush=True)
    return set(answers) <= {200, 503} and running == 0


def system(jar):
    """The system limits the instance to too few threads."""
    with Naps(jar, bounded=True) as instance:
        well = told("system", instance, instance.ask_all())
        again = instance.ask_all(FEW)
        print(f"system: {FEW} requests afterwards: {again}", flush=True)
        return well and again == {200: FEW} and instance.alive()


def limit(jar):
    """The configuration limits handler threads to 40."""
    with Naps(jar, "berth.limits.max_handler_threads=40") as instance:
        before = instance.threads()
        answers = instance.ask_all()
        threads = instance.threads()
        print(f"limit: threads of the process {before} -> {threads}", flush=True)
        return told("limit", instance, answers) and answers.get(200, 0) >= 40 and threads - before <= 50


if __name__ == "__main__":
    main({"system": system, "limit": limit})
