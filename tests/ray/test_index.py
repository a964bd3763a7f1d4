"""Workers of a node map the same files of a stored index."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ray_cluster import TwoNodes
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.time_unit import TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.graph.stored_history import MIN_FACTS
from titer.models.registry import model_class
from titer.runs.run import Run
from titer.training.config import Config
from titer.training.layout import MODEL
from titer.training.weights import save_weights

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.timeout(600)]

WORKERS = """
import sys, pyarrow as pa, ray
from titer.ray import Predictor
ray.init(address=sys.argv[2], log_to_driver=False)

@ray.remote
class Worker:
    def __init__(self, run):
        self.predictor = Predictor(run, device="cpu", top=1)

    def maps(self):
        self.predictor(pa.table({"subject": ["entity 1"], "relation": ["relation 0"]}))
        with open("/proc/self/maps") as file:
            lines = [line.split() for line in file if "/index/" in line]
        return sorted({(line[4], line[5]) for line in lines})

workers = [Worker.remote(sys.argv[1]) for _ in range(2)]
first, second = ray.get([worker.maps.remote() for worker in workers])
assert first == second, (first, second)
print(*(path for _, path in first), sep="\\n")
"""


def test_workers_share_the_memory_of_the_stored_index(cluster: TwoNodes, tmp_path: Path):
    rng, size = np.random.default_rng(0), MIN_FACTS + 1000
    subject, object = (rng.integers(0, 5000, size, dtype=np.int32) for _ in range(2))
    facts = Facts(subject, rng.integers(0, 5, size, dtype=np.int32), object, np.arange(size, dtype=np.int32) // 5000)
    names = Vocabulary([f"entity {i}" for i in range(5000)], [f"relation {i}" for i in range(5)])
    axis = TimeAxis(TimeUnit.INTEGER, 0)
    dataset = Dataset("many", names, axis, facts[:-2000], facts[-2000:-1000], facts[-1000:])
    run = Run.create(tmp_path / "run", Config.from_dict({}, "recurrency"), dataset)
    save_weights(model_class("recurrency")(names, axis), run.path / MODEL)
    words = [str(run.path), cluster.address]
    done = subprocess.run([sys.executable, "-c", WORKERS, *words], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    mapped = {Path(line) for line in done.stdout.splitlines() if line.startswith("/")}
    stored = {path for path in (run.path / "dataset/index").rglob("*.bin") if path.stat().st_size}
    assert len(mapped) > 3
    assert mapped <= {path.resolve() for path in stored}
