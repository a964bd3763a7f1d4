"""A cluster of Ray on this machine."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

MARK = "TITER_TEST_CLUSTER"
NODES = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, "include_log_monitor": False}
)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line == "remove\\n":
        cluster.remove_node(second, allow_graceful=False)
        print("removed", flush=True)
    else:
        second = cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        print("added", flush=True)
cluster.shutdown()
"""


class RayCluster:
    """A cluster of one node, to which a second can be added. Each has processes of its own."""

    def __init__(self) -> None:
        self.mark = uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, "-c", NODES],
            env={**os.environ, MARK: self.mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address = self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() in ("removed", "added") or ":" in line.split(" ")[0]:
                return line.strip()
        raise AssertionError("the cluster did not start")

    def do(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        self._line()

    def workers(self) -> list[int]:
        """Return the processes of this cluster that answer partitions."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if (
                    folder.name.isdecimal()
                    and b"PartitionWorker" in (folder / "cmdline").read_bytes()
                    and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes()
                ):
                    found.append(int(folder.name))
            except OSError:
                continue  # it has ended
        return found

    def stop(self) -> None:
        self.process.communicate(timeout=60)  # the end of its input ends the cluster
