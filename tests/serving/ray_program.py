"""Run by the Python that has Ray: a local cluster serves the repository in argv[1]; a replica is killed under
load. Prints what happened as one line of JSON."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import ray
from ray import serve

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.serving.ray import app

ROOT, PORT = sys.argv[1], int(sys.argv[2])
#: Right answers that are waited for before a replica is killed, and after it is replaced.
ANSWERS = 40
X = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)


def ask(connection: http.client.HTTPConnection, rows: np.ndarray) -> tuple[int, np.ndarray | None]:
    tensor = {"name": "x", "datatype": "FP32", "shape": list(rows.shape)}
    tensor["parameters"] = {"binary_data_size": rows.nbytes}
    text = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    connection.request("POST", "/v2/models/rows/infer", text + rows.tobytes(), headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        return answer.status, None
    size = int(answer.headers["inference-header-content-length"])
    return 200, np.frombuffer(body[size:], np.float32).reshape(len(rows), -1)


class Client(threading.Thread):
    """Asks until it is stopped; counts right and wrong answers, and refusals by status."""

    def __init__(self, seed: int, wanted: np.ndarray) -> None:
        super().__init__(daemon=True)
        self.random = np.random.default_rng(seed)
        self.wanted = wanted
        self.right = self.wrong = 0
        self.refused: dict[str, int] = {}
        self.last_refusal = 0.0
        self.going = True

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=20)
        while self.going:
            first = int(self.random.integers(0, 15))
            count = int(self.random.integers(1, 16 - first + 1))
            try:
                status, made = ask(connection, X[first : first + count])
            except (OSError, http.client.HTTPException) as error:
                status, made = type(error).__name__, None
                connection.close()
                time.sleep(0.05)
            if made is None:
                self.refused[str(status)] = self.refused.get(str(status), 0) + 1
                self.last_refusal = time.monotonic()
            elif np.array_equal(made, self.wanted[first : first + count]):
                self.right += 1
            else:
                self.wrong += 1


def quiet_seconds(clients: list[Client]) -> float:
    return time.monotonic() - max(c.last_refusal for c in clients)


def replicas() -> list[int]:
    """The processes of the deployment: Ray names them after it."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            title = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:
            continue
        if title.startswith(b"ray::ServeReplica") and b"ascend-serve" in title:
            found.append(int(folder.name))
    return found


def refusals() -> list[str]:
    wrong = ({"num_cpu": 1}, {"model_repository": "/nowhere"}, {"num_cpus": "many"}, {"min_replicas": -1})
    texts = []
    for arguments in wrong:
        try:
            app({"model_repository": ROOT, **arguments})
        except AscendError as error:
            texts.append(str(error))
    return texts


def wait_for(condition: object, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.2)
    return False


def main() -> None:
    refused_arguments = refusals()
    wanted = ascend_ep.InferenceSession(f"{ROOT}/rows/2/model.om").run(None, {"x": X})[0]
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    arguments = {"model_repository": ROOT, "num_cpus": "0.4", "min_replicas": "2", "max_replicas": "3"}
    serve.run(app(arguments), route_prefix="/")
    clients = [Client(seed, wanted) for seed in range(4)]
    for client in clients:
        client.start()
    wait_for(lambda: sum(c.right for c in clients) >= ANSWERS, 60)
    before = sum(c.right for c in clients)
    first = replicas()
    killed = time.monotonic()
    os.kill(first[0], signal.SIGKILL)
    replaced = wait_for(lambda: first[0] not in replicas() and len(replicas()) >= 2, 60)
    back = time.monotonic() - killed
    again = sum(c.right for c in clients)
    wait_for(lambda: quiet_seconds(clients) > 1 and sum(c.right for c in clients) >= again + ANSWERS, 60)
    quiet = quiet_seconds(clients)
    for client in clients:
        client.going = False
    for client in clients:
        client.join(30)
    refused: dict[str, int] = {}
    for client in clients:
        for status, count in client.refused.items():
            refused[status] = refused.get(status, 0) + count
    print(
        json.dumps(
            {
                "before": before,
                "after": sum(c.right for c in clients) - again,
                "refusals": refused_arguments,
                "wrong": sum(c.wrong for c in clients),
                "refused": refused,
                "processes": len(set(first)),
                "replaced": replaced,
                "seconds": round(back, 1),
                "quiet": round(quiet, 1),
            }
        )
    )
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
