"""Runs a server of this folder and, on SIGTERM, ends it with all of its processes.

Arguments: the script, its port.
"""

import os
import signal
import subprocess
import sys

ENDS = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    server = subprocess.Popen(
        [sys.executable, *sys.argv[1:]],
        start_new_session=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS),
    )
    while server.poll() is None and signal.sigwait(ENDS) == signal.SIGCHLD:
        pass
    end(server, signal.SIGTERM)
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        pass
    end(server, signal.SIGKILL)


def end(server, how):
    try:
        os.killpg(server.pid, how)
    except ProcessLookupError:
        pass  # all have ended


if __name__ == "__main__":
    main()
