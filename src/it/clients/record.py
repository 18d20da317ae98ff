"""Stores recorded exchanges as fixtures of the tests.

requests/CLIENT.json has each different request of a client as it was sent, but for its Host;
answers/CALL.json and CALL.sse have the bodies of llama.cpp's server, and answers/heads.json their heads.
"""

import json
import pathlib

MAX_BODY = 20_000
ANSWERS_OF = ("curl", "openai-python", "anthropic-python")
SIMILAR = ("-unknown-model", "-second-attempt", "-system", "-store", "-background")
CALLS = {"/v1/chat/completions": "chat", "/v1/completions": "completions", "/v1/models": "models",
         "/v1/embeddings": "embeddings", "/v1/responses": "responses", "/v1/messages": "messages",
         "/v1/messages/count_tokens": "count-tokens"}


def name(exchange, model):
    """Returns a name for a request, made of its contents."""
    path = exchange["path"].split("?")[0]
    words = [CALLS.get(path, "model" if path.startswith("/v1/models/") else "unknown-path")]
    headers = {name.lower(): value for name, value in exchange["headers"]}
    if path.startswith("/v1/models") and "anthropic-version" in headers:
        words.append("by-anthropic")
    try:
        body = json.loads(exchange["body"] or b"{}")
    except ValueError:
        return "-".join([*words, "broken"])
    if body.get("stream"):
        words.append("stream")
    if body.get("stream_options", {}).get("include_usage"):
        words.append("with-usage")
    if "🌊".encode() in exchange["body"] or b"\\ud83c" in exchange["body"]:
        words.append("utf-8")
    words += [key for key in ("system", "store", "background") if body.get(key)]
    if exchange["body"] and words[0] != "unknown-path":
        if "model" not in body:
            words.append("without-model")
        elif body["model"] != model:
            words.append("unknown-model")
    if not (isinstance(body.get("messages", []), list) and 7 not in body.get("messages", [])):
        words.append("wrong-value")
    if headers.get("x-stainless-retry-count", "0") != "0":
        words.append("second-attempt")
    return "-".join(words)


def store(folder, client, version, exchanges, model):
    folder = pathlib.Path(folder)
    (folder / "requests").mkdir(parents=True, exist_ok=True)
    (folder / "answers").mkdir(exist_ok=True)
    requests = {}
    for exchange in exchanges:
        if len(exchange["body"]) <= MAX_BODY:
            requests.setdefault(name(exchange, model), exchange)
    recorded = {"client": client, "version": version, "requests": [
        {"call": call, "method": each["method"], "path": each["path"],
         "headers": [[key, "127.0.0.1" if key.lower() == "host" else value]
                     for key, value in each["headers"]],
         "body": each["body"].decode()}
        for call, each in requests.items()]}
    write(folder / "requests" / f"{client}.json", recorded)
    if client not in ANSWERS_OF:
        return
    heads_file = folder / "answers/heads.json"
    heads = json.loads(heads_file.read_text()) if heads_file.exists() else {}
    for call, each in requests.items():
        if call in heads or call.endswith(SIMILAR):
            continue
        heads[call] = {"status": each["status"], "headers": [
            [key, value] for key, value in each["answer_headers"] if key.lower() != "keep-alive"]}
        kind = dict(each["answer_headers"]).get("Content-Type", "")
        suffix = "sse" if kind.startswith("text/event-stream") else "json"
        (folder / "answers" / f"{call}.{suffix}").write_bytes(each["answer"])
    write(heads_file, heads)


def write(file, value):
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
