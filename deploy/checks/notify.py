"""Plays systemd for `berth run`: notify.py BERTH. Prints one line; exits with 1 if it is no success."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

folder = tempfile.mkdtemp()
received = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
received.bind(folder + "/notify")
received.settimeout(0.2)
environment = dict(os.environ, NOTIFY_SOCKET=folder + "/notify", WATCHDOG_USEC="1000000")
process = subprocess.Popen(
    [sys.argv[1], "run", "--state-dir", folder + "/state", "--port", "0", "--admin-port", "0"],
    env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(code, text):
    if process.poll() is None:
        process.kill()
    print(text)
    sys.exit(code)


def messages(seconds, until=None):
    got, limit = [], time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            got.append(received.recv(100).decode())
        except TimeoutError:
            continue
        if got[-1] == until:
            break
    return got


def expect(condition, text):
    if not condition:
        end(1, text)


first = messages(90, "READY=1")
expect(first and first[-1] == "READY=1", f"no READY=1 in 90 s: {first}")
beats = messages(5)
expect(beats.count("WATCHDOG=1") >= 3, f"{beats} in 5 s (expected: WATCHDOG=1 each half second)")
process.send_signal(signal.SIGSTOP)
messages(0.5)
expect(not messages(2), "a stopped process sent a message")
process.send_signal(signal.SIGCONT)
expect(messages(20, "WATCHDOG=1"), "no WATCHDOG=1 after SIGCONT")
process.send_signal(signal.SIGTERM)
last = messages(30, "STOPPING=1")
expect(last and last[-1] == "STOPPING=1", f"no STOPPING=1 after SIGTERM: {last}")
expect(process.wait(60) == 0, f"exit code {process.returncode} after SIGTERM")
end(0, f"READY=1, {len(beats)} times WATCHDOG=1 in 5 s of a watchdog of 1 s, none while it stood, STOPPING=1")
