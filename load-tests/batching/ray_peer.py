"""Ray Serve with the work of BatchApps.work: 10 ms for up to 16 requests. Argument: the port."""

import asyncio
import signal
import sys
import time

import ray
from ray import serve


@serve.deployment(num_replicas=1, max_ongoing_requests=100)
class TenMillis:
    @serve.batch(max_batch_size=16, batch_wait_timeout_s=0.005)
    async def work(self, items):
        end = time.perf_counter() + 0.01
        await asyncio.sleep(0.0097)  # a sleep ends late by about 0.1 ms
        while time.perf_counter() < end:
            pass
        return items

    async def __call__(self, request):
        return await self.work("0123456789abcdef0123456789abcdef")


def main():
    ray.init(include_dashboard=False, num_cpus=2, log_to_driver=False, logging_level="error")
    options = {"host": "127.0.0.1", "port": int(sys.argv[1]), "keep_alive_timeout_s": 120}
    serve.start(http_options=options)
    serve.run(TenMillis.bind(), name="peer", route_prefix="/")
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
