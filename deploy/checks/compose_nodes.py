"""Runs the three nodes of compose.yaml as processes, as rehearsal.py runs pods.

    python3 compose_nodes.py COMPOSE_FOLDER HOME WORK CERTIFICATES

CERTIFICATES is the folder that the service "certificates" made. Prints one line for each step. The
exit code is 1 if one failed. Needs root, and namespaces of its own: unshare -n -m.
"""

import os
import subprocess
import sys

import yaml

from pods import Cluster
from rehearsal import get, get_echo, wait

USER = 10001


def main(folder, home, work, certificates):
    with open(os.path.join(folder, "compose.yaml"), encoding="utf-8") as file:
        services = yaml.safe_load(file)["services"]
    for name in os.listdir(certificates):
        os.chown(os.path.join(certificates, name), USER, USER)
    cluster = Cluster(work, home, {})
    try:
        pods = [cluster.start(owner(name, services[name], folder, work, certificates), name) for name in ("n1", "n2", "n3")]
        wait(600, "three nodes are ready", lambda: all(pod.ready for pod in pods))
        print("ok three nodes are ready")
        tokens = {name: open(os.path.join(certificates, name), encoding="utf-8").read() for name in ("operator", "prometheus")}
        scrapes = [get(pod.address, "/metrics", tokens["prometheus"])[0] for pod in pods]
        assert scrapes == [200] * 3, scrapes
        code = get(pods[0].address, "/api/v1/controller/restart", tokens["prometheus"], method="POST")[0]
        assert code == 403, code
        done = subprocess.run(
            [os.path.join(home, "bin", "berth"), "deploy", os.path.join(home, "conf", "quickstart.yaml"), "--wait", "--address", f"http://{pods[0].address}:8265"],
            env={**os.environ, "BERTH_TOKEN": tokens["operator"]}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        answers = [get_echo(pod.address) for pod in pods]
        assert answers == ["hello"] * 3, answers
        print("ok the quickstart answers at every node, and each is scraped with the token of Prometheus")
        pods[1].signal(15)
        assert pods[1].process.wait(120) == 0
        assert get_echo(pods[2].address) == "hello"
        print("ok n2 ended after SIGTERM, and n3 answers")
    except BaseException:
        for pod in cluster.pods:
            print(f"--- {pod.name}\n" + "\n".join(pod.text().splitlines()[-15:]))
        raise
    finally:
        cluster.stop()


def owner(name, service, folder, work, certificates):
    """The service in the form of a StatefulSet, whose address is the name of the service."""
    sources = {"certificates": certificates, name: os.path.join(work, f"state-{name}")}
    os.makedirs(sources[name], exist_ok=True)
    os.chown(sources[name], USER, USER)
    mounts, volumes = [], []
    for index, each in enumerate(service["volumes"]):
        source, at, *mode = each.split(":")
        path = sources.get(source) or os.path.join(folder, source)
        volumes.append({"name": str(index), "hostPath": {"path": os.path.realpath(path)}})
        mounts.append({"name": str(index), "mountPath": at, "readOnly": mode == ["ro"]})
    probe = {"httpGet": {"path": "/-/healthz"}, "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 300}
    container = {
        "args": service["command"],
        "env": [{"name": key, "value": value} for key, value in service["environment"].items()],
        "resources": {"limits": {"memory": service["mem_limit"]}},
        "securityContext": {"readOnlyRootFilesystem": service["read_only"]},
        "volumeMounts": mounts,
        "startupProbe": probe,
        "livenessProbe": probe,
        "readinessProbe": probe,
    }
    user = {"runAsUser": USER, "runAsGroup": USER, "fsGroup": USER}
    template = {"spec": {"securityContext": user, "containers": [container], "volumes": volumes}}
    return {"kind": "StatefulSet", "metadata": {"name": name}, "spec": {"template": template, "serviceName": None}}


if __name__ == "__main__":
    main(*sys.argv[1:5])
