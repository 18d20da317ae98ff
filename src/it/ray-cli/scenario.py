#!/usr/bin/env python3
"""Runs the commands of a Ray Serve user against Berth. Started by ray-cli.sh.

Each check prints a line with PASS; the first failed check ends the run with exit code 1.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml
from ray.serve.schema import ServeInstanceDetails

from berth import Berth, wait
from recorder import Recorder

HERE = os.path.abspath(".")
JAR = os.path.join(HERE, "target", "berth-examples.jar")
SERVE = os.path.join(os.path.dirname(sys.executable), "serve")
FIXTURES = os.path.join("src", "test", "resources", "ray-cli", "exchanges.json")
LIMIT_S = 60
TOKEN = "a-token-for-this-run-only"


def passed(what):
    print("PASS " + what, flush=True)


def check(what, actual, expected):
    if actual != expected:
        raise AssertionError("%s: %r (expected: %r)" % (what, actual, expected))


def contains(what, text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError("%s: %r (expected: %r in it)" % (what, text, part))


def quickstart(**replicas):
    """Returns applications of conf/quickstart.yaml by name, with these numbers of ingress replicas."""
    with open("conf/quickstart.yaml") as file:
        applications = yaml.safe_load(file)["applications"]
    chosen = [each for each in applications if each["name"] in replicas]
    for application in chosen:
        application["runtime_env"]["jars"] = [JAR]
        application["deployments"][0]["num_replicas"] = replicas[application["name"]]
        for deployment in application["deployments"]:
            deployment.pop("berth", None)  # Ray's commands drop unknown keys
    return {"applications": chosen}


def broken(name, import_path, *deployments):
    """Returns an application that cannot be deployed."""
    return {
        "name": name,
        "route_prefix": "/" + name,
        "import_path": import_path,
        "runtime_env": {"jars": [JAR]},
        "deployments": list(deployments),
    }


class Run:
    def __init__(self, folder, berth, record):
        self.folder = folder
        self.berth = berth
        self.recorder = Recorder("127.0.0.1", berth.admin_port)
        self.record = record
        self.steps = []
        self.environment = dict(os.environ, RAY_DASHBOARD_ADDRESS=self.recorder.address)
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "http_proxy", "HTTP_PROXY"):
            self.environment.pop(name, None)

    def serve(self, *arguments, exits=0, step=None):
        """Runs a command of Ray Serve; returns its output."""
        before = len(self.recorder.exchanges)
        ran = subprocess.run(
            [SERVE, *arguments],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
        )
        if ran.returncode != exits:
            raise AssertionError(
                "serve %s: exit code %d (expected: %d)\n%s"
                % (" ".join(arguments), ran.returncode, exits, ran.stdout)
            )
        if step:
            self.steps.append(
                {
                    "step": step,
                    "command": ["serve", *arguments],
                    "exchanges": self.recorder.exchanges[before:],
                }
            )
        return ran.stdout

    def deploy(self, config, name, **options):
        file = os.path.join(self.folder, name + ".yaml")
        with open(file, "w") as out:
            yaml.safe_dump(config, out, sort_keys=False)
        return self.serve("deploy", name + ".yaml", **options)

    def details(self):
        """Returns the details that `serve status` reads, in Ray's own model."""
        import requests

        headers = {"Authorization": "Bearer " + self.berth.token} if self.berth.token else {}
        url = "http://127.0.0.1:%d/api/serve/applications/" % self.berth.admin_port
        answer = requests.get(url, headers=headers, timeout=10)
        check("GET", answer.status_code, 200)
        return ServeInstanceDetails(**answer.json())

    def wait(self, what, **statuses):
        """Waits until the applications are exactly these, in these states."""

        def there():
            seen = {
                name: application.status.value
                for name, application in self.details().applications.items()
            }
            return seen == statuses, seen

        wait(what, there, LIMIT_S)

    def keep(self):
        """Writes the recorded exchanges to the fixtures, without paths and ports of this machine."""
        text = json.dumps(
            {"ray_version": "2.60.0", "steps": self.steps}, indent=1, sort_keys=True
        )
        for path, name in ((HERE, "/project"), (self.folder, "/folder")):
            text = text.replace(path, name)
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8265", text)
        with open(FIXTURES, "w") as out:
            out.write(text + "\n")

    def close(self):
        self.recorder.close()
        self.berth.close()


# --- the steps ---


def nothing_is_deployed(run):
    seen = yaml.safe_load(run.serve("status", step="status of nothing"))
    check("applications", seen["applications"], {})
    check("target_capacity", seen["target_capacity"], None)
    check("config", run.serve("config").strip(), "No configuration was found.")
    passed("status and config of an instance without applications")


def deploys(run):
    config = quickstart(classify=1, echo=1, stream=1)
    said = run.deploy(config, "first", step="deploy")
    contains("deploy", said, "Sent deploy request successfully.")
    run.wait("three applications run", classify="RUNNING", echo="RUNNING", stream="RUNNING")
    check("echo", run.berth.get("/echo", b"hello"), (200, "hello"))
    passed("deploy of the quickstart's applications, which then respond")

    seen = yaml.safe_load(run.serve("status", step="status"))
    echo = seen["applications"]["echo"]
    check("status", echo["status"], "RUNNING")
    check("deployment", echo["deployments"]["echo"]["status"], "HEALTHY")
    check("replicas", echo["deployments"]["echo"]["replica_states"], {"RUNNING": 1})
    digits = seen["applications"]["classify"]["deployments"]["digits"]
    check("replicas", digits["replica_states"], {"RUNNING": 2})
    check("proxies", set(seen["proxies"].values()), {"HEALTHY"})
    one = yaml.safe_load(run.serve("status", "-n", "echo", step="status of one"))
    check("status -n", one, echo)
    passed("status of all applications and of one")

    shown = list(yaml.safe_load_all(run.serve("config", step="config")))
    check("config", shown, config["applications"])
    one = yaml.safe_load(run.serve("config", "-n", "echo", step="config of one"))
    check("config -n", one, [each for each in shown if each["name"] == "echo"][0])
    passed("config equals the deployed one, for all applications and for one")


def names_what_is_not_there(run):
    contains("status", run.serve("status", "-n", "nope"), 'Application "nope" does not exist.')
    said = run.serve("config", "-n", "nope")
    contains("config", said, 'No config has been deployed for application "nope".')
    passed("status and config of an unknown application")


def deploys_a_change(run):
    run.deploy(quickstart(echo=3, stream=1), "second", step="deploy a change")
    run.wait("the change is applied", echo="RUNNING", stream="RUNNING")

    def three():
        replicas = run.details().applications["echo"].deployments["echo"].replicas
        states = sorted(replica.state.value for replica in replicas)
        return states == ["RUNNING"] * 3, states

    wait("three replicas run", three, LIMIT_S)
    check("classify", run.berth.get("/classify")[0], 404)
    check("echo", run.berth.get("/echo", b"again"), (200, "again"))
    seen = yaml.safe_load(run.serve("status", "-n", "echo"))
    check("replicas", seen["deployments"]["echo"]["replica_states"], {"RUNNING": 3})
    passed("deploy of a change: more replicas, and omitted applications are deleted")


def deploys_an_import_path(run):
    run.serve(
        "deploy",
        "dev.berth.examples.Quickstart:echo",
        "--name",
        "by-path",
        "--runtime-env-json",
        json.dumps({"jars": [JAR]}),
        step="deploy an import path",
    )
    run.wait("only by-path runs", **{"by-path": "RUNNING"})
    check("the root", run.berth.get("/any", b"root"), (200, "root"))
    run.deploy(quickstart(echo=3, stream=1), "second")
    run.wait("the other applications run again", echo="RUNNING", stream="RUNNING")
    passed("deploy of an import path instead of a file")


# From Ray's guide to autoscaling: its example of an LLM, and its shortest example.
AUTOSCALING = {
    "target_ongoing_requests": 1,
    "min_replicas": 0,
    "initial_replicas": 0,
    "max_replicas": 200,
    "upscale_delay_s": 3,
    "downscale_delay_s": 60,
    "upscaling_factor": 0.3,
    "downscaling_factor": 0.3,
    "metrics_interval_s": 2,
    "look_back_period_s": 10,
}


def deploys_what_follows_its_load(run):
    config = quickstart(classify=1, echo=1, stream=1)
    classify, echo, stream = [each["deployments"][0] for each in config["applications"]]
    config["applications"][1].pop("external_scaler_enabled")
    classify.pop("num_replicas")
    classify["autoscaling_config"] = AUTOSCALING
    echo["num_replicas"] = "auto"
    stream.update(num_replicas="auto", autoscaling_config={"min_replicas": 2})
    run.deploy(config, "autoscaling", step="deploy what follows its load")
    names = {each["name"]: "RUNNING" for each in config["applications"]}
    run.wait("all run", **names)

    def shown(at):
        one = config["applications"][at]
        return run.details().applications[one["name"]].deployments[one["deployments"][0]["name"]]

    asked = dict(shown(0).deployment_config.autoscaling_config)
    for key, value in AUTOSCALING.items():
        check(key, asked[key], value)
    said = shown(0).deployment_config.model_fields_set
    check("num_replicas is unset", "num_replicas" in said, False)
    check("initial replicas", [shown(at).target_num_replicas for at in range(3)], [0, 1, 2])
    check("auto", dict(shown(1).deployment_config.autoscaling_config)["max_replicas"], 100)
    seen = yaml.safe_load(run.serve("status", step="status of what follows its load"))
    check("status", {n: a["status"] for n, a in seen["applications"].items()}, names)
    config = list(yaml.safe_load_all(run.serve("config")))
    autoscaling = [each["deployments"][0].get("autoscaling_config") for each in config]
    check("config", autoscaling, [None, {"min_replicas": 2}, AUTOSCALING])
    check("echo", run.berth.get("/echo", b"load"), (200, "load"))
    passed("deploy of Ray's examples with autoscaling_config, and num_replicas: auto")

    both = quickstart(echo=1)
    both["applications"][0]["deployments"][0]["num_replicas"] = "auto"
    contains("deploy", run.deploy(both, "both", exits=1), "external_scaler_enabled is set to True")
    run.deploy(quickstart(echo=3, stream=1), "second")
    run.wait("the other applications run again", echo="RUNNING", stream="RUNNING")


def refuses_a_bad_config(run):
    config = quickstart(echo=1, stream=1)
    config["applications"][0]["deployments"][0]["max_ongoing_requests"] = 1000000
    config["applications"][1]["runtime_env"]["env_vars"] = {"A": "1"}
    said = run.deploy(config, "bad", exits=1, step="deploy what is refused")
    contains(
        "deploy",
        said,
        "Request failed with status code 400: ",
        "applications[0].deployments[0].max_ongoing_requests: 1000000 (expected: ",
        "applications[1].runtime_env.env_vars: ",
    )
    seen = yaml.safe_load(run.serve("config", "-n", "echo"))
    check("config", seen["deployments"][0]["num_replicas"], 3)
    check("echo", run.berth.get("/echo", b"still"), (200, "still"))
    passed("a config that Berth refuses: every problem is printed, and nothing changed")

    before = len(run.recorder.exchanges)
    said = run.deploy({"applications": [{"name": "a"}]}, "worse", exits=1)
    contains("deploy", said, "import_path", "Field required")
    check("requests", len(run.recorder.exchanges), before)
    passed("a config that Ray's command itself refuses")


def tells_why_a_deployment_fails(run):
    config = quickstart(echo=3)
    config["applications"] += [
        broken("missing", "dev.berth.examples.Quickstart:nothing"),
        broken("unknown", "dev.berth.examples.Quickstart:stream", {"name": "nope"}),
    ]
    said = run.deploy(config, "failing", step="deploy what fails")
    contains("deploy", said, "Sent deploy request successfully.")
    run.wait("two fail", echo="RUNNING", missing="DEPLOY_FAILED", unknown="DEPLOY_FAILED")
    seen = yaml.safe_load(run.serve("status", step="status of what failed"))
    contains("message", seen["applications"]["missing"]["message"], "nothing")
    contains("message", seen["applications"]["unknown"]["message"], "nope")
    check("echo", run.berth.get("/echo", b"still"), (200, "still"))
    passed("deployments that fail: DEPLOY_FAILED with the cause, and the others serve")


def shuts_down(run):
    said = run.serve("shutdown", "-y", step="shutdown")
    contains("shutdown", said, "Sent shutdown request; applications will be deleted")
    run.wait("no application is left")
    check("echo", run.berth.get("/echo")[0], 404)
    check("config", run.serve("config").strip(), "No configuration was found.")
    contains("shutdown", run.serve("shutdown", "-y"), "Sent shutdown request")
    passed("shutdown: all applications are deleted, the instance still runs")

    run.deploy(quickstart(echo=1), "third")
    run.wait("echo runs again", echo="RUNNING")
    check("echo", run.berth.get("/echo", b"anew"), (200, "anew"))
    passed("deploy after a shutdown")


def asks_for_a_token(run):
    said = run.serve("status", exits=1)
    contains("status", said, "Authentication required")
    run.environment.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="another-token-than-that")
    contains("status", run.serve("status", exits=1), "Authentication required")
    run.environment.update(RAY_AUTH_TOKEN=TOKEN)
    run.deploy(quickstart(echo=1), "token", step="deploy with a token")
    run.wait("echo runs", echo="RUNNING")
    check("applications", list(yaml.safe_load(run.serve("status"))["applications"]), ["echo"])
    text = run.berth.text()
    if TOKEN in text or "another-token" in text:
        raise AssertionError("log: contains a token (expected: none)")
    contains("the log", text, "token ray")
    passed("RAY_AUTH_TOKEN for an instance that requires tokens")
    return text


def says_that_no_one_is_there(run):
    run.berth.close()
    address = "http://127.0.0.1:%d" % run.berth.admin_port
    run.environment["RAY_DASHBOARD_ADDRESS"] = address
    for command in (["status"], ["config"], ["deploy", "first.yaml"]):
        said = run.serve(*command, exits=1)
        contains(command[0], said, "Failed to connect to Ray at address: " + address)
    contains("shutdown", run.serve("shutdown", "-y"), "Unable to shutdown Serve", address)
    passed("commands to a stopped instance")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true", help="store the requests as fixtures")
    parser.add_argument("--cluster", action="store_true", help="use a worker of two nodes")
    arguments = parser.parse_args()
    record, in_cluster = arguments.record, arguments.cluster
    if record and in_cluster:
        parser.error("--record: not with --cluster (expected: one of the two)")
    folder = tempfile.mkdtemp()
    runs = []
    try:
        run = Run(folder, Berth(os.path.join(folder, "open"), in_cluster=in_cluster), record)
        runs.append(run)
        nothing_is_deployed(run)
        deploys(run)
        names_what_is_not_there(run)
        deploys_a_change(run)
        deploys_an_import_path(run)
        deploys_what_follows_its_load(run)
        refuses_a_bad_config(run)
        tells_why_a_deployment_fails(run)
        shuts_down(run)
        token = Berth(os.path.join(folder, "closed"), TOKEN, in_cluster)
        closed = Run(folder, token, record)
        runs.append(closed)
        asks_for_a_token(closed)
        says_that_no_one_is_there(run)
        if record:
            run.steps += closed.steps
            run.keep()
            print("recorded " + FIXTURES)
    except (AssertionError, subprocess.TimeoutExpired) as failed:
        print("FAIL %s" % failed, flush=True)
        for run in runs:
            print("--- the log of Berth\n" + run.berth.text()[-4000:])
        return 1
    finally:
        for run in runs:
            run.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("all passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
