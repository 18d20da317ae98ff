"""Pods of rendered manifests as processes: what a kubelet, a cluster DNS and kube-proxy do for them.

A pod has a network namespace with an address of its own, the user, groups, environment and arguments
of its manifest, a read-only root, and its volumes at their paths: nothing of the manifest is changed.
A Secret has the layout of a kubelet, links to a folder that a new version replaces at once.
Cgroups and seccomp are not there: the JVM gets the limit of memory by an option.
"""

import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

DOMAIN = "default.svc.cluster.local"
BRIDGE = "10.77.0.1"


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


class Names(threading.Thread):
    """The DNS of the cluster: pods of a StatefulSet by the headless Service that governs it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.addresses = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((BRIDGE, 53))

    def run(self):
        while True:
            query, peer = self.socket.recvfrom(4096)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode())
                at += 1 + query[at]
            (kind,) = struct.unpack(">H", query[at + 1 : at + 3])
            address = self.addresses.get(".".join(labels))
            known = address is not None
            answers = 1 if known and kind == 1 else 0
            head = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, answers, 0, 0)
            answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 5, 4) + socket.inet_aton(address or BRIDGE)
            self.socket.sendto(head + query[12 : at + 5] + (answer if answers else b""), peer)


class Cluster:
    def __init__(self, work, home, secrets):
        self.work, self.home, self.secrets = work, home, secrets
        self.objects = {}
        self.pods = []
        self.next_address = 10
        self.lock = threading.Lock()
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "addr", "add", f"{BRIDGE}/16", "dev", "br0")
        run("ip", "link", "set", "br0", "up")
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        self.names = Names()
        self.names.start()

    def apply(self, manifests):
        self.objects = {(each["kind"], each["metadata"]["name"]): each for each in manifests}

    def object(self, kind, suffix):
        (found,) = [each for (k, name), each in self.objects.items() if k == kind and name.endswith(suffix)]
        return found

    def start(self, owner, name=None):
        """Starts a pod of a StatefulSet or of a Deployment, which gives it a random name."""
        base = owner["metadata"]["name"]
        letters = "bcdfghjklmnpqrstvwxz2456789"
        suffix = "0" if owner["kind"] == "StatefulSet" else f"7c9f{random.choices(letters, k=1)[0]}d5b6-{''.join(random.choices(letters, k=5))}"
        with self.lock:
            self.next_address += 1
            pod = Pod(self, owner, name or f"{base}-{suffix}", f"10.77.0.{self.next_address}")
            self.pods.append(pod)
        if owner["kind"] == "StatefulSet":
            domain = ".".join(filter(None, (pod.name, owner["spec"]["serviceName"], DOMAIN)))
            self.names.addresses[domain] = pod.address
        pod.start()
        return pod

    def endpoints(self):
        """Addresses to which kube-proxy sends new connections."""
        return [pod.address for pod in list(self.pods) if pod.routed]

    def stop(self):
        for pod in list(self.pods):
            pod.kill()


class Pod:
    PROPAGATION = 4  # seconds from the deletion until the last proxy has seen it

    def __init__(self, cluster, owner, name, address):
        self.cluster, self.owner, self.name, self.address = cluster, owner, name, address
        self.spec = owner["spec"]["template"]["spec"]
        (self.container,) = self.spec["containers"]
        self.folder = os.path.join(cluster.work, "pods", f"{name}-{address}")
        self.deleted = self.ready = self.routed = self.started = False
        self.restarts = 0
        self.process = None
        self.pid = None

    # --- volumes ---

    def volume(self, volume):
        path = os.path.join(self.folder, "volumes", volume["name"])
        group = self.spec["securityContext"]["fsGroup"]
        if "hostPath" in volume:
            return volume["hostPath"]["path"]
        if "configMap" in volume:
            content = self.cluster.object("ConfigMap", volume["configMap"]["name"])["data"]
            write_files(path, content, 0o444, group)
        elif "secret" in volume:
            secret = volume["secret"]
            write_files(path, self.cluster.secrets[secret["secretName"]], secret["defaultMode"], group)
        else:
            os.makedirs(path, exist_ok=True)
            os.chown(path, 0, group)
            os.chmod(path, 0o2777 if "emptyDir" in volume else 0o2775)
        return path

    def paths(self):
        volumes = {each["name"]: self.volume(each) for each in self.spec["volumes"]}
        for claim in self.owner["spec"].get("volumeClaimTemplates", []):
            name = claim["metadata"]["name"]
            path = os.path.join(self.cluster.work, "claims", f"{name}-{self.name}")
            os.makedirs(path, exist_ok=True)
            os.chown(path, 0, self.spec["securityContext"]["fsGroup"])
            os.chmod(path, 0o2775)
            volumes[name] = path
        return volumes

    def renew_secrets(self):
        """Writes changed Secrets, as a kubelet does within a minute."""
        for each in self.spec["volumes"]:
            if "secret" in each:
                self.volume(each)

    # --- the process ---

    def start(self):
        self.launch()
        # One thread for all starts: the end of the thread that made a sandbox would end the sandbox.
        threading.Thread(target=self.supervise, daemon=True).start()

    def supervise(self):
        while True:
            self.probe(self.process)
            self.process.wait()
            if self.deleted:
                return
            self.ready = self.routed = False
            self.restarts += 1
            time.sleep(1)
            self.launch()

    def launch(self):
        os.makedirs(self.folder, exist_ok=True)
        net = f"p{self.address.rsplit('.', 1)[1]}"
        if self.process is None:
            run("ip", "netns", "add", net)
            run("ip", "link", "add", f"v{net}", "type", "veth", "peer", "name", "eth0", "netns", net)
            run("ip", "link", "set", f"v{net}", "master", "br0", "up")
            for command in (f"addr add {self.address}/16 dev eth0", "link set eth0 up", "link set lo up"):
                run("ip", "-n", net, *command.split())
        resolver = os.path.join(self.folder, "resolv.conf")
        with open(resolver, "w", encoding="utf-8") as file:
            domains = f"{DOMAIN} svc.cluster.local cluster.local"
            file.write(f"nameserver {BRIDGE}\nsearch {domains}\noptions ndots:5\n")
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write(f"127.0.0.1 localhost\n{self.address} {self.name}\n")
        java = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("java"))))
        binds = [("/usr", "/usr"), (java, java), (self.cluster.home, "/opt/berth"), (resolver, "/etc/resolv.conf"), (hosts, "/etc/hosts")]
        binds += [(each, each) for each in ("/etc/ssl", *glob.glob("/etc/java-*")) if os.path.isdir(each)]
        sandbox = ["bwrap", "--unshare-pid", "--unshare-uts", "--hostname", self.name, "--as-pid-1", "--die-with-parent", "--json-status-fd", "3", "--dev", "/dev", "--proc", "/proc"]
        for each in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
            sandbox += ["--cap-add", each]
        for each in ("bin", "lib", "lib64", "sbin"):
            sandbox += ["--symlink", f"usr/{each}", f"/{each}"]
        for each in ("/opt", "/etc", "/etc/berth", "/var", "/var/lib"):
            sandbox += ["--perms", "0755", "--dir", each]
        for source, at in dict(binds).items():
            sandbox += ["--ro-bind", source, at]
        volumes = self.paths()
        for mount in self.container["volumeMounts"]:
            kind = "--ro-bind" if mount.get("readOnly") else "--bind"
            sandbox += ["--perms", "0755", "--dir", os.path.dirname(mount["mountPath"])]
            sandbox += [kind, volumes[mount["name"]], mount["mountPath"]]
        if self.container["securityContext"]["readOnlyRootFilesystem"]:
            sandbox += ["--remount-ro", "/"]
        user = self.spec["securityContext"]
        identity = ["setpriv", f"--reuid={user['runAsUser']}", f"--regid={user['runAsGroup']}", f"--groups={user['fsGroup']}", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
        environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": java, "BERTH_TMPDIR": "/var/lib/berth/tmp"}  # the image
        fields = {"metadata.name": self.name, "status.podIP": self.address}
        for each in self.container["env"]:
            environment[each["name"]] = each["value"] if "value" in each else fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        arguments = [re.sub(r"\$\((\w+)\)", lambda match: environment[match.group(1)], each) for each in self.container["args"]]
        memory = self.container["resources"]["limits"]["memory"].replace("Mi", "m")
        environment["JDK_JAVA_OPTIONS"] = f"-XX:MaxRAM={memory} -XX:NativeMemoryTracking=summary"
        command = ["ip", "netns", "exec", net, *sandbox, *identity, "/opt/berth/bin/berth", *arguments]
        report, report_end = os.pipe()
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "ab") as log:
            script = f'exec 3>&{report_end}; exec "$@"'
            self.process = subprocess.Popen(["bash", "-c", script, "_", *command], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[report_end])
        os.close(report_end)
        self.report = os.fdopen(report, encoding="utf-8")  # stays open: bwrap writes the end to it
        first = self.report.readline()
        if not first:
            raise SystemExit(f"{self.name}: the sandbox did not start: {open(self.log, encoding='utf-8').read()[-500:]}")
        self.pid = json.loads(first)["child-pid"]
        self.started = self.ready = False

    def check(self, probe):
        try:
            connection = http.client.HTTPConnection(self.address, 8000, timeout=probe["timeoutSeconds"])
            connection.request("GET", probe["httpGet"]["path"])
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def probe(self, process):
        """The probes of one start of the container."""
        startup, readiness = self.container["startupProbe"], self.container["readinessProbe"]
        liveness = self.container["livenessProbe"]
        begun = time.monotonic()
        failures = bad = dead = 0
        next_liveness = 0.0
        while process.poll() is None and not self.deleted:
            now = time.monotonic()
            if not self.started:
                self.started = self.check(startup)
                failures += not self.started
                self.started_after = now - begun
                if failures > startup["failureThreshold"]:
                    self.signal(signal.SIGKILL)
                time.sleep(startup["periodSeconds"] if not self.started else 0)
                continue
            if now >= next_liveness:
                next_liveness = now + liveness["periodSeconds"]
                dead = 0 if self.check(liveness) else dead + 1
                if dead >= liveness["failureThreshold"]:
                    self.signal(signal.SIGKILL)
            good = self.check(readiness)
            bad = 0 if good else bad + 1
            if not self.deleted and (good or bad >= readiness["failureThreshold"]):
                self.ready = self.routed = good
            time.sleep(readiness["periodSeconds"])

    def signal(self, which):
        try:
            os.kill(self.pid, which)
        except ProcessLookupError:
            pass

    def inside(self, *command):
        """Runs a command in the container, as kubectl exec does."""
        user = self.spec["securityContext"]
        return subprocess.run(["nsenter", "-t", str(self.pid), "-m", "-n", "-p", f"-S{user['runAsUser']}", f"-G{user['runAsGroup']}", "--", *command], capture_output=True, text=True, check=False)

    def delete(self):
        """Deletes the pod as a kubelet does. Returns the exit code and the seconds that it took."""
        begun = time.monotonic()
        self.deleted = True
        unroute = threading.Timer(self.PROPAGATION, lambda: setattr(self, "routed", False))
        unroute.start()
        grace = self.spec["terminationGracePeriodSeconds"]
        hook = self.inside(*self.container["lifecycle"]["preStop"]["exec"]["command"])
        if hook.returncode:
            raise SystemExit(f"{self.name}: preStop failed: {hook.stderr}")
        self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(max(1, grace - (time.monotonic() - begun)))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            code = "killed after the grace period"
        self.cluster.pods.remove(self)
        return code, time.monotonic() - begun

    def kill(self):
        self.deleted = True
        self.signal(signal.SIGKILL)
        self.process.wait()

    def resident_mib(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) // 1024

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


def write_files(path, content, mode, group):
    """Writes the files of a ConfigMap or Secret as a kubelet does, each version at once."""
    version = f"..{time.time_ns()}"
    os.makedirs(os.path.join(path, version))
    for name, text in content.items():
        file = os.path.join(path, version, name)
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        os.chown(file, 0, group)
        os.chmod(file, mode)
        if not os.path.islink(os.path.join(path, name)):
            os.symlink(os.path.join("..data", name), os.path.join(path, name))
    os.symlink(version, os.path.join(path, "..data_tmp"))
    os.rename(os.path.join(path, "..data_tmp"), os.path.join(path, "..data"))


class Load:
    """Clients of the Service with connections that they use again. Each failure is a lost request.

    Slow requests take longer than preStop and than the default of graceful_shutdown_timeout_s. Half
    of the clients use a connection until the server closes it, so that SIGTERM meets open connections
    and requests that run. The others connect again after some requests, as new clients do.
    """

    def __init__(self, cluster, clients=8, slow=4):
        self.cluster = cluster
        self.running = True
        self.answered = 0
        self.slow_answered = 0
        self.lost = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.client, args=(index < slow, index % 2 == 0), daemon=True) for index in range(clients + slow)]
        for each in self.threads:
            each.start()

    def client(self, slow, faithful):
        while self.running:
            endpoints = self.cluster.endpoints()
            if not endpoints:
                self.fail("no endpoint")
                time.sleep(0.2)
                continue
            address = random.choice(endpoints)
            connection = http.client.HTTPConnection(address, 8000, timeout=70)
            left = sys.maxsize if faithful else 1 if slow else 40
            while self.running and left:
                left -= 1
                body = os.urandom(16).hex()
                try:
                    connection.request("POST", "/slow?ms=25000" if slow else "/echo", body)
                    response = connection.getresponse()
                    content = response.read().decode()
                    if response.status != 200 or not (slow or content == body):
                        self.fail(f"{address}: {response.status} {content[:200]}")
                    else:
                        with self.lock:
                            self.answered += 1
                            self.slow_answered += slow
                    if response.will_close:
                        break
                except (OSError, http.client.HTTPException) as failed:
                    self.fail(f"{address}: {type(failed).__name__} {failed}")
                    break
                time.sleep(0 if slow else 0.05)
            connection.close()

    def fail(self, reason):
        with self.lock:
            self.lost.append(f"{time.strftime('%H:%M:%S')} {reason}")

    def stop(self):
        self.running = False
        for each in self.threads:
            each.join()
