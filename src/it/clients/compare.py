"""Runs the clients against two base URLs, compares their reports, and prints tables.

Started by src/it/clients.sh, which installs the clients. Exit status: 0 when all reports are equal
or all differences are explained, 1 otherwise.
"""

import argparse
import json
import os
import pathlib
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import record
from front import Front

HERE = pathlib.Path(__file__).resolve().parent
IGNORED = {"id", "item_id", "message_id", "created", "created_at", "completed_at", "timings",
           "modified_at", "request_id", "_request_id"}
ABSENT = "absent"
FAILED = "run of the client"
TIMEOUT_S = 300
RECORDED_MODEL = "smol"  # the server takes any name, so that requests have Berth's

# Calls with other answers of Berth than of the server behind it: call, Berth's outcome, reason.
EXPLAINED = [
    (r"models.*|model", r"ok|200", "Berth lists its own models, also by name"),
    (r"unknown model.*", r"(error )?404", "the server takes any name; Berth refuses an unknown one"),
    (r"no model", r"400", "the server needs no name; Berth selects by it"),
    (r"unknown path", r"404", "Berth's own words, in the form of the API"),
    (r"broken JSON", r"400", "Berth's own words: it refuses the request before it takes a slot"),
    (r"responses background", r"error 400", "the server ignores it; Berth refuses it"),
]

PYTHON = {"openai-python": ("openai-python", "openai_calls.py", "openai"),
          "openai-python-1": ("openai-python-1", "openai_calls.py", "openai"),
          "anthropic-python": ("anthropic-python", "anthropic_calls.py", "anthropic"),
          "litellm": ("litellm", "litellm_calls.py", "litellm")}
JAVA = {"langchain4j": "LangChainCalls", "springai": "SpringCalls"}
ALL = ["curl", *PYTHON, "openai-node", *JAVA, "litellm-proxy"]


def command(work, client):
    """Returns the command that makes the calls of a client."""
    if client == "curl":
        return [sys.executable, str(HERE / "curl_calls.py")]
    if client == "openai-node":
        folder = work / "openai-node"
        return [str(folder / "node_modules/.bin/node"), str(folder / "openai_calls.mjs")]
    if client in JAVA:
        folder = work / client
        classpath = f"{folder / 'classes'}:{(folder / 'classpath').read_text().strip()}"
        return ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classpath, JAVA[client]]
    folder, script, _ = PYTHON[client]
    return [str(work / folder / "bin/python"), str(HERE / script)]


def version(work, client):
    try:
        if client == "curl":
            return subprocess.run(["curl", "--version"], capture_output=True, text=True).stdout.split()[1]
        if client == "openai-node":
            package = work / "openai-node/node_modules/openai/package.json"
            return json.loads(package.read_text())["version"]
        if client in JAVA:
            name = {"langchain4j": "langchain4j-open-ai", "springai": "spring-ai-openai"}[client]
            return re.search(name + r"-([0-9.]+)\.jar", (work / client / "classpath").read_text())[1]
        folder, _, package = PYTHON[client.replace("-proxy", "")]
        return subprocess.run(
            [str(work / folder / "bin/python"), "-c",
             f"from importlib.metadata import version as v; print(v('{package}'))"],
            capture_output=True, text=True).stdout.strip()
    except (OSError, TypeError, ValueError):
        return "?"


def run(work, client, base, front, model, key, **more):
    """Returns the reports of a client's calls by their name."""
    environment = {**os.environ, "BASE": base, "ONCE": front.url + "/once-503", "MODEL": model,
                   "NEVER": front.url + "/never-503", "KEY": key, "NO_PROXY": "*", **more}
    done = subprocess.run(command(work, client), env=environment, text=True, timeout=TIMEOUT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    reports = {}
    for line in done.stdout.splitlines():
        try:
            report = json.loads(line)
            reports[report.pop("call")] = report
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    if done.returncode != 0 or not reports:
        reports[FAILED] = {"error": {"status": done.returncode, "text": done.stderr[-800:]}}
    return reports


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def through_proxy(work, base, front, model, key):
    """Runs LiteLLM's proxy in front of a base URL, and the OpenAI client for Python against it."""
    port = free_port()
    models = {"proxied": base, "once": front.url + "/once-503", "never": front.url + "/never-503"}
    entries = [{"model_name": name, "litellm_params": {
        "model": "openai/" + model, "api_base": url + "/v1", "api_key": key}}
        for name, url in models.items()]
    folder = work / "litellm-proxy"
    folder.mkdir(exist_ok=True)
    own_key = "sk-" + secrets.token_hex(16)  # the proxy starts with a key only
    config = {"model_list": entries, "general_settings": {"master_key": own_key}}
    (folder / "config.yaml").write_text(json.dumps(config))
    with open(folder / "log", "w") as log:
        proxy = subprocess.Popen(
            [str(work / "litellm/bin/litellm"), "--config", str(folder / "config.yaml"), "--port",
             str(port), "--host", "127.0.0.1", "--num_workers", "1"],
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"},
            cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(240):
            try:
                urllib.request.urlopen(url + "/health/liveliness", timeout=2).read()
                break
            except OSError:
                time.sleep(0.5)
                if proxy.poll() is not None:
                    return {FAILED: {"error": {"status": proxy.returncode, "text": "see its log"}}}
        reports = run(work, "openai-python", url, front, "proxied", own_key,
                      CALLS="models,chat,stream,stream with usage,completions,embeddings,unknown model")
        for name in ("once", "never"):
            reports[name + " 503"] = run(
                work, "openai-python", url, front, name, own_key, CALLS="chat")["chat"]
        return reports
    finally:
        proxy.terminate()
        proxy.wait(30)


def flat(value, path="", fields=None):
    """Returns the leaves of a report by their path, without fields that differ by their nature."""
    fields = {} if fields is None else fields
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in IGNORED:
                flat(each, f"{path}.{name}" if path else name, fields)
    elif isinstance(value, list):
        fields[path + "[]"] = len(value)
        for index, each in enumerate(value):
            flat(each, f"{path}[{index}]", fields)
    else:
        fields[path] = value
    return fields


def differences(direct, berth):
    one, other = flat(direct), flat(berth)
    return [(path, one.get(path, ABSENT), other.get(path, ABSENT))
            for path in [*one, *(path for path in other if path not in one)]
            if one.get(path, ABSENT) != other.get(path, ABSENT)]


def reason(call, berth):
    """Returns why Berth's report may differ, or None."""
    for calls, outcomes, why in EXPLAINED:
        if re.fullmatch(calls, call) and re.fullmatch(outcomes, outcome(berth)):
            return why
    return None


def short(value):
    text = json.dumps(value, ensure_ascii=False) if value is not ABSENT else ABSENT
    return text if len(text) <= 200 else text[:97] + " ... " + text[-97:]


def outcome(report):
    if report is None:
        return ABSENT
    if "error" in report:
        return "error " + str(report["error"].get("status"))
    result = report["result"]
    return str(result["status"]) if isinstance(result, dict) and "content-type" in result else "ok"


def table(client, direct, berth, detail):
    """Prints the calls of a client; returns the number of unexplained differences."""
    unexplained = 0
    for call in [*direct, *(call for call in berth if call not in direct)]:
        found = differences(direct.get(call), berth.get(call))
        why = reason(call, berth.get(call)) if found else None
        unexplained += (0 if why else len(found)) + (call == FAILED)
        verdict = "equal" if not found else f"{len(found)} fields differ"
        if call == FAILED:
            print(f"{'':20}{short((direct.get(call) or berth[call])['error'])}")
        print(f"{client:18} {call:26} {outcome(direct.get(call)):10} "
              f"{outcome(berth.get(call)):10} {verdict}")
        if why:
            print(f"{'':20}explained: {why}")
        for path, one, other in found[:25 if detail else 0 if why else 5]:
            print(f"{'':20}{path}: {short(one)} -> {short(other)}")
    sys.stdout.flush()
    return unexplained


def waits(front):
    """Returns the attempts of the refused calls, and the waits between them, as text."""
    texts = []
    for name in ("once-503", "once-503/again", "never-503"):
        if times := front.attempts.get(name):
            gaps = ", ".join(f"{after - before:.1f} s" for before, after in zip(times, times[1:]))
            texts.append(f"{name}: {len(times)} requests" + (f" after {gaps}" if gaps else ""))
    return "; ".join(texts)


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--direct", required=True)
    parser.add_argument("--berth")
    parser.add_argument("--direct-model", default="SmolLM2-135M")
    parser.add_argument("--berth-model")
    parser.add_argument("--key", default="unused")
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--only", default=",".join(ALL))
    parser.add_argument("--detail", action="store_true")
    parser.add_argument("--record", type=pathlib.Path)
    return parser.parse_args()


def reports_of(chosen, client, base, model, key):
    front = Front(base)
    try:
        base = front.url if chosen.record else base
        if client == "litellm-proxy":
            return through_proxy(chosen.work, base, front, model, key), front
        return run(chosen.work, client, base, front, model, key), front
    finally:
        front.close()


def main():
    chosen = options()
    for url in filter(None, (chosen.direct, chosen.berth)):
        try:
            urllib.request.urlopen(url + "/v1/models", timeout=10).close()
        except OSError as failure:
            if not isinstance(failure, urllib.error.HTTPError):
                sys.exit(f"clients: {url}: {failure}")
    berth = chosen.berth or chosen.direct
    berth_model = chosen.berth_model or (
        "smol" if chosen.berth and chosen.berth != chosen.direct else chosen.direct_model)
    unexplained, missing, notes = 0, [], []
    print(f"{'client':18} {'call':26} {'direct':10} {'berth':10} comparison")
    for client in chosen.only.split(","):
        failed = chosen.work / (client.replace("-proxy", "") + ".failed")
        if failed.exists():
            print(f"{client:18} not installed here: {failed.read_text().strip()[-300:]}")
            missing.append(client)
            continue
        model = RECORDED_MODEL if chosen.record else chosen.direct_model
        direct, front = reports_of(chosen, client, chosen.direct, model, "unused")
        if chosen.record:
            record.store(
                chosen.record, client, version(chosen.work, client), front.exchanges, model)
            table(client, direct, direct, chosen.detail)
        else:
            other, front = reports_of(chosen, client, berth, berth_model, chosen.key)
            unexplained += table(client, direct, other, chosen.detail)
        notes.append(f"{client} {version(chosen.work, client)}: {waits(front)}")
    print("\nRetries (Retry-After-Ms 1200, Retry-After 2; never: x-should-retry false):")
    print("\n".join(notes))
    if missing:
        print(f"\nnot installed here, so not compared: {', '.join(missing)}")
    print(f"\n{unexplained} unexplained differences")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
