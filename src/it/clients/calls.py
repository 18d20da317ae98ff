"""Reports of the Python clients: one JSON line per call, with its result or its error."""

import json
import os

BASE, ONCE, NEVER = (os.environ[name] for name in ("BASE", "ONCE", "NEVER"))
MODEL, KEY = os.environ["MODEL"], os.environ.get("KEY", "unused")
ONLY = [name for name in os.environ.get("CALLS", "").split(",") if name]
UNKNOWN = "no-such-model"
MESSAGES = [{"role": "user", "content": "Name a colour."}]
UTF_8 = [{"role": "user", "content": "Name a colour. «été à Ærø» 🌊"}]
MAX_TOKENS = 12
SEED = 7


def plain(value):
    """Returns a value of a client's model classes as JSON values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", warnings=False)
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def call(name, action):
    if ONLY and name not in ONLY:
        return
    report = {"call": name}
    try:
        report["result"] = plain(action())
    except Exception as failure:
        report["error"] = {"type": type(failure).__name__,
                           "status": getattr(failure, "status_code", None),
                           "body": getattr(failure, "body", None)}
        if report["error"]["status"] is None:
            report["error"]["text"] = str(failure)
    print(json.dumps(report), flush=True)
