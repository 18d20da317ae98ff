"""Runs the cluster of rendered manifests as processes, and does to it what a cluster does.

    python3 rehearsal.py CLUSTER.yaml INSTANCE.yaml HOME WORK

The first two are the manifests of a cluster and of one instance. HOME is a folder as /opt/berth of
the image.

Times are generous, because the machine may be busy; they prove nothing about speed. Prints one line
for each step. The exit code is 1 if one failed. Needs root, and namespaces of its
own: unshare -n -m --propagation private.
"""

import http.client
import os
import signal
import subprocess
import sys
import time

import yaml

from pods import Cluster, Load

TOKENS = {"operator": "operator-0123456789abcdef", "prometheus": "prometheus-0123456789abc"}

APPLICATION = """\
applications:
  - name: {name}
    route_prefix: /{name}
    import_path: dev.berth.examples.Examples:{builder}
    runtime_env: {{jars: [{jar}]}}
    deployments: [{{name: sleep, num_replicas: 2, max_ongoing_requests: 8, graceful_shutdown_timeout_s: 60}}]
"""


def main(of_cluster, of_instance, home, work):
    objects = []
    for manifests in (of_instance, of_cluster):
        with open(manifests, encoding="utf-8") as file:
            objects.append([each for each in yaml.safe_load_all(file) if each])
    berth = os.path.join(home, "bin", "berth")
    environment = {**os.environ, "BERTH_TOKEN": TOKENS["operator"]}

    def command(*words, wanted=0):
        done = subprocess.run([berth, *words], capture_output=True, text=True, env=environment, check=False, timeout=900)
        if done.returncode != wanted:
            raise SystemExit(f"FAILED berth {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def certificates(folder):
        # The command of the chart's notes.
        command("cluster", "init", folder, "--nodes", "2", "--worker-cert", "--name", "berth", "--host", "n1=berth-control-0")

        def read(name):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()

        return {
            f"berth-{role}-tls": {"tls.crt": read(f"{name}.pem"), "tls.key": read(f"{name}-key.pem"), "ca.crt": read("ca.pem")}
            for role, name in (("control", "n1"), ("worker", "worker.berth"))
        }

    secrets = {"berth-tokens": TOKENS, **certificates(os.path.join(work, "certificates"))}
    cluster = Cluster(work, home, secrets)
    try:
        cluster.apply(objects[0])
        one_instance(cluster, command, home)
        cluster.apply(objects[1])
        steps(cluster, command, secrets, work, home)
    except BaseException:
        for pod in cluster.pods:
            print(f"--- {pod.name}\n" + "\n".join(pod.text().splitlines()[-25:]))
        raise
    finally:
        cluster.stop()


def wait(seconds, what, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"FAILED {what}: not within {seconds} s")
        time.sleep(0.2)


def get(address, path, token=None, port=8265, method="GET"):
    connection = http.client.HTTPConnection(address, port, timeout=60)
    connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    return response.status, response.read().decode()


def one_instance(cluster, command, home):
    instance_set = cluster.object("StatefulSet", "-instance")
    pod = cluster.start(instance_set)
    wait(600, "an empty instance is ready", lambda: pod.ready)
    command("deploy", os.path.join(home, "conf", "quickstart.yaml"), "--upload", "--wait", "--address", f"http://{pod.address}:8265")
    assert get_echo(pod.address) == "hello"
    code, took = pod.delete()
    assert code == 0, code
    pod = cluster.start(instance_set)
    wait(600, "the instance is ready again", lambda: pod.ready)
    assert get_echo(pod.address) == "hello"
    print(f"ok one instance: ready without applications, deleted in {took:.0f} s, and serves what was deployed before")
    pod.delete()


def steps(cluster, command, secrets, work, home):
    workers = cluster.object("Deployment", "-workers")
    control_set = cluster.object("StatefulSet", "-control")
    first, second = cluster.start(workers), cluster.start(workers)
    time.sleep(3)  # they look for a control node whose name does not exist yet
    control = cluster.start(control_set)
    pods = [control, first, second]
    wait(600, "an empty cluster is ready", lambda: all(pod.ready for pod in pods))
    print(f"ok an empty cluster is ready: {', '.join(f'{pod.name} after {pod.started_after:.0f} s' for pod in pods)}")

    admin = f"http://{control.address}:8265"
    codes = get(control.address, "/metrics")[0], get(first.address, "/metrics", TOKENS["prometheus"])[0]
    assert codes == (401, 200), codes
    code = get(control.address, "/api/v1/controller/restart", TOKENS["prometheus"], method="POST")[0]
    assert code == 403, code
    print("ok metrics: 401 without a token, 200 with that of the Secret, which commands nothing")

    for name, builder in (("slow", "sleep"), ("broken", "absent")):
        with open(os.path.join(work, f"{name}.yaml"), "w", encoding="utf-8") as file:
            file.write(APPLICATION.format(name=name, builder=builder, jar=os.path.join(home, "lib", "berth-examples.jar")))
    conf = os.path.join(home, "conf")
    command("deploy", os.path.join(conf, "quickstart.yaml"), "--wait", "--address", admin, "--set", "applications.echo.deployments.echo.num_replicas=3")
    command("deploy", os.path.join(work, "slow.yaml"), "--wait", "--address", admin)
    answers = [get_echo(pod.address) for pod in pods]
    assert answers == ["hello"] * 3, answers
    print("ok the quickstart answers at every node")

    load = Load(cluster)
    time.sleep(6)

    def step(what):
        assert not load.lost, f"{what}: {len(load.lost)} lost: {load.lost[:5]}"
        restarted = [pod.name for pod in cluster.pods if pod.restarts]
        assert not restarted, f"{what}: restarted: {restarted}"
        print(f"ok {what}; {load.answered} requests answered, {load.slow_answered} of 25 s, none lost", flush=True)

    step("load")
    # As a Deployment does: the replacement starts when the pod ends.
    third = cluster.start(workers)
    code, took = first.delete()
    wait(600, f"{third.name} is ready", lambda: third.ready)
    assert code == 0, code
    step(f"worker {first.name} deleted in {took:.0f} s, {third.name} admitted under its name")

    address = control.address
    code, took = control.delete()
    assert code == 0, code
    control = cluster.start(control_set)
    assert control.address != address
    wait(600, "the control node is ready", lambda: control.ready)
    admin = f"http://{control.address}:8265"
    wait(300, "workers join the new address", lambda: command("cluster", "status", "--json", "--address", admin).count('"ALIVE"') == 3)
    step(f"control node deleted in {took:.0f} s, and found by its name at another address")

    old = secrets["berth-worker-tls"]["tls.crt"]
    renew(work, secrets)
    assert old != secrets["berth-worker-tls"]["tls.crt"]
    for pod in (second, third, control):
        pod.renew_secrets()
    for pod in (second, third, control):
        wait(300, f"{pod.name} loads the certificate", lambda: "reloaded" in pod.text())
    fourth = cluster.start(workers)
    code, took = second.delete()
    wait(600, f"{fourth.name} is ready", lambda: fourth.ready)
    assert code == 0, code
    step(f"certificates renewed in the Secrets, loaded by running nodes; {fourth.name} admitted with the new one")

    command("deploy", os.path.join(work, "broken.yaml"), "--address", admin)
    wait(300, "the broken application fails", lambda: "DEPLOY_FAILED" in command("status", "--json", "--address", admin))
    time.sleep(8)
    unready = [pod.name for pod in cluster.pods if get(pod.address, "/-/readyz", port=8000)[0] != 200]
    assert not unready, unready
    step("an application that does not start takes no node out of the Service")
    load.stop()

    # The kernel ends a container for lack of memory: same pod, same name, its volume is still there.
    third.signal(signal.SIGKILL)
    wait(120, "the container starts again", lambda: third.restarts == 1)
    wait(600, f"{third.name} is ready again", lambda: third.ready)
    assert get_echo(third.address) == "hello"
    print(f"ok worker {third.name} killed, and admitted again under the same name")
    print("ok resident memory of a limit of 1024 MiB: " + ", ".join(f"{pod.name} {pod.resident_mib()} MiB" for pod in cluster.pods))


def get_echo(address):
    connection = http.client.HTTPConnection(address, 8000, timeout=60)
    connection.request("POST", "/echo", "hello")
    return connection.getresponse().read().decode()


def renew(work, secrets):
    """Renews both certificates with the same CA, as cert-manager does."""
    folder = os.path.join(work, "certificates")
    for role, name, node in (("control", "n1", "berth-control-0"), ("worker", "worker.berth", "worker.berth")):
        key, request, certificate = (os.path.join(folder, f"new-{role}.{each}") for each in ("key", "csr", "crt"))
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)
        run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
        run("openssl", "req", "-new", "-key", key, "-subj", f"/CN={node}", "-addext", f"subjectAltName=DNS:{node}", "-out", request)
        run("openssl", "x509", "-req", "-in", request, "-CA", os.path.join(folder, "ca.pem"), "-CAkey", os.path.join(folder, "ca-key.pem"), "-CAcreateserial", "-copy_extensions", "copy", "-days", "90", "-out", certificate)
        with open(certificate, encoding="utf-8") as crt, open(key, encoding="utf-8") as pem:
            secrets[f"berth-{role}-tls"] = {**secrets[f"berth-{role}-tls"], "tls.crt": crt.read(), "tls.key": pem.read()}


if __name__ == "__main__":
    main(*sys.argv[1:5])
