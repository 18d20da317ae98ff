#!/usr/bin/env python3
"""Reserves a slot over HTTP, renews it, dispatches a request on it, and lets another reservation expire.
Checks the ledger before, during and after.

    python3 reservations.py ADMIN_URL DATA_URL APPLICATION DEPLOYMENT PATH [BEARER]

Standard library only. Prints each step; the exit code is 1 at the first unexpected result. With BEARER
it reserves on the data port, as that client.
"""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


def call(method, url, body=None, headers=None):
    """Sends a request; returns status, headers, and the body, parsed if it is JSON."""
    request = urllib.request.Request(url, method=method, headers=headers or {})
    if body is not None:
        request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, parsed(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, parsed(error.read())


def parsed(body):
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode()


def check(what, actual, expected):
    if actual != expected:
        sys.exit("%s: %r (expected: %r)" % (what, actual, expected))
    print("ok: %s" % what)


class Reservations:
    def __init__(self, admin, data, application, deployment, path, bearer=None):
        self.admin = admin
        self.data = data
        self.path = path
        self.deployment = deployment
        self.application = application
        base = data + "/-" if bearer else admin
        self.url = "%s/api/v1/applications/%s/deployments/%s/reservations" % (
            base,
            application,
            deployment,
        )
        self.headers = {"Authorization": "Bearer " + bearer} if bearer else {}

    def reserve(self, body, key=None):
        headers = dict(self.headers)
        if key:
            headers["Idempotency-Key"] = key
        return call("POST", self.url, body, headers)

    def renew(self, token):
        return call("PATCH", self.url + "/" + token, None, self.headers)

    def release(self, token):
        return call("DELETE", self.url + "/" + token, None, self.headers)[0]

    def dispatch(self, token):
        return call(
            "POST", self.data + self.path, b"{}", {"X-Berth-Reservation": token, "Accept": "application/json"}
        )

    def ledger(self):
        """Returns (running, reserved) slots of the deployment's replicas together."""
        _, _, ledger = call("GET", self.admin + "/api/v1/ledger")
        own = [
            replica
            for replica in ledger["replicas"]
            if replica["deployment"] == self.deployment
            and replica["application"] == self.application
        ]
        return sum(r["running"] for r in own), sum(r["reserved"] for r in own)

    def ledger_becomes(self, what, expected):
        until = time.monotonic() + 5
        while self.ledger() != expected and time.monotonic() < until:
            time.sleep(0.02)
        check(what, self.ledger(), expected)


def main(arguments):
    slots = Reservations(*arguments)
    check("the ledger before", slots.ledger(), (0, 0))

    status, headers, held = slots.reserve({"ttl_s": 30, "session_id": "python"})
    check("reserve", status, 201)
    token = held["token"]
    check("ttl_s", held["ttl_s"], 30)
    check("expires in time", 0 < held["expires_in_ms"] <= 30000, True)
    check("the port for its use", held["port"], int(slots.data.rsplit(":", 1)[1]))
    check("Location", urllib.parse.urljoin(slots.url, headers["Location"]), slots.url + "/" + token)
    check("the ledger during the reservation", slots.ledger(), (0, 1))

    status, _, renewed = slots.renew(token)
    check("renew", (status, renewed["token"]), (200, token))

    status, headers, _ = slots.dispatch(token)
    check("dispatch", status, 200)
    check("the response does not repeat the token", "X-Berth-Reservation" in headers, False)
    slots.ledger_becomes("the ledger after its use", (0, 0))
    check("a second dispatch", (slots.dispatch(token)[0], slots.renew(token)[0]), (409, 409))
    check("release after use", slots.release(token), 409)

    status, _, brief = slots.reserve({"ttl_s": 0.3})
    check("reserve for 0.3 s", status, 201)
    slots.ledger_becomes("the ledger after the expiry", (0, 0))
    status, _, why = slots.dispatch(brief["token"])
    check("dispatch too late", (status, why["code"]), (410, "reservation_expired"))
    check("renew too late", slots.renew(brief["token"])[0], 410)

    request = {"ttl_s": 20}
    first = slots.reserve(request, "attempt-1")
    again = slots.reserve(request, "attempt-1")
    check("retry with a key", (first[0], again[0]), (201, 201))
    check("the same lease", again[2]["token"], first[2]["token"])
    check("one slot", slots.ledger(), (0, 1))
    other = slots.reserve({"ttl_s": 21}, "attempt-1")
    check("the key with another request", (other[0], other[2]["code"]), (409, "idempotency_key_reused"))
    check("release", slots.release(first[2]["token"]), 204)
    check("release again", slots.release(first[2]["token"]), 204)
    check("retry after release", slots.reserve(request, "attempt-1")[0], 410)

    check("an unknown token", slots.dispatch("x" * 32)[0], 404)
    check("release of an unknown token", slots.release("x" * 32), 404)
    bad = slots.reserve({"ttl": 1, "wait_timeout_s": "long"})
    check("a bad body", (bad[0], bad[2]["code"]), (400, "bad_request"))
    check("the message names each problem", "ttl" in bad[2]["message"] and "wait" in bad[2]["message"], True)
    slots.ledger_becomes("the ledger at the end", (0, 0))


if __name__ == "__main__":
    if not 6 <= len(sys.argv) <= 7:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1:])
