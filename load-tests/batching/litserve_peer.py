"""LitServe with the work of BatchApps.work: 10 ms for up to 16 requests. Argument: the port."""

import sys
import time

import litserve


class TenMillis(litserve.LitAPI):
    def setup(self, device):
        pass

    def decode_request(self, request):
        return request["x"]

    def batch(self, inputs):
        return inputs

    def predict(self, batch):
        end = time.perf_counter() + 0.01
        time.sleep(0.0097)  # a sleep ends late by about 0.1 ms
        while time.perf_counter() < end:
            pass
        return batch

    def unbatch(self, output):
        return output

    def encode_response(self, output):
        return {"y": output}


if __name__ == "__main__":
    api = TenMillis(max_batch_size=16, batch_timeout=0.005)
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="warning",
               timeout_keep_alive=120)
