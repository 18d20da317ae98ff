"""Calls of curl: statuses, content types and bodies as they come, without a client's own classes."""

import json
import subprocess
import tempfile

from calls import BASE, KEY, MAX_TOKENS, MESSAGES, MODEL, NEVER, ONCE, SEED, UNKNOWN, call


def parsed(body, kind):
    """Returns a body as JSON; of a stream the lines, with the data of each event as JSON."""
    if not kind.startswith("text/event-stream"):
        return json.loads(body) if "json" in kind else body
    return [{"data": json.loads(line[6:])} if line.startswith("data: {") else line
            for line in body.split("\n")]


def curl(path, body=None, *more, base=BASE):
    command = ["curl", "-sN", "-m", "120", *more, "-H", f"Authorization: Bearer {KEY}",
               "-w", "\n%{http_code} %{content_type}", base + path]
    if body is not None:
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        command += ["-H", "content-type: application/json", "--data-binary", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    text, _, last = done.stdout.rpartition("\n")
    status, _, kind = last.partition(" ")
    return {"exit": done.returncode, "status": int(status), "content-type": kind,
            "body": parsed(text, kind)}


def chat(model=MODEL, **more):
    return {"model": model, "messages": MESSAGES, "max_tokens": MAX_TOKENS, "temperature": 0,
            "seed": SEED, **more}


def behind_9_mb():
    """Sends a model behind 9 MB of a field that the server ignores."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"metadata": {"padding": "x" * 9_000_000}, **chat()}, file)
        file.flush()
        return curl("/v1/chat/completions", "@" + file.name)


anthropic = ("-H", "anthropic-version: 2023-06-01")
call("models", lambda: curl("/v1/models"))
call("models by anthropic", lambda: curl("/v1/models", None, *anthropic))
call("model", lambda: curl("/v1/models/" + MODEL))
call("chat", lambda: curl("/v1/chat/completions", chat()))
call("stream", lambda: curl("/v1/chat/completions", chat(stream=True)))
call("messages", lambda: curl("/v1/messages", chat(), *anthropic))
call("messages stream", lambda: curl("/v1/messages", chat(stream=True), *anthropic))
call("unknown model", lambda: curl("/v1/chat/completions", chat(UNKNOWN)))
call("unknown model by anthropic", lambda: curl("/v1/messages", chat(UNKNOWN), *anthropic))
call("unknown path", lambda: curl("/v1/no-such-path", {}))
call("no model", lambda: curl("/v1/chat/completions", {"messages": MESSAGES, "max_tokens": 1, "temperature": 0}))
call("broken JSON", lambda: curl("/v1/chat/completions", '{"model": "smol", "messages": ['))
call("model behind 9 MB", behind_9_mb)
call("wrong value", lambda: curl("/v1/chat/completions", chat(messages="none")))
call("once 503", lambda: curl("/v1/chat/completions", chat(), "-f", "--retry", "2", base=ONCE))
call("never 503", lambda: curl("/v1/chat/completions", chat(), "-f", "--retry", "2", base=NEVER))
