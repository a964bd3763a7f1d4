"""Run the partitions of a batch job on a Ray cluster."""

import json
import logging
import os
import re
import socket
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import ray.data
from numpy.typing import NDArray
from ray.exceptions import RayError

import ray
from titer.errors import ConfigError, StoreError, TiterError, one_line
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs.job import Job, PartitionResult
from titer.ray.node import NodeRun, pack
from titer.runs.run import Run
from titer.threads import THREADS_VARIABLE

CONNECT_SECONDS = 10.0
FIXABLE = (TiterError, OSError, pa.ArrowException)
"""Errors the user can fix: those of titer, of the file system such as a full disk, and of damaged files."""


@dataclass(frozen=True)
class Cluster:
    """The cluster that a job runs on, and how much of it.

    Attributes:
        address: The address of a running cluster, or ``auto`` to find it. None starts Ray on this machine.
        workers: Number of workers, each with a copy of the model. None for as many as fit.
        gpus_per_worker: GPUs of each worker; several workers share one if it is less than 1.
        threads: CPU threads of each worker.
    """

    address: str | None = None
    workers: int | None = None
    gpus_per_worker: float = 0.0
    threads: int = 1


class PartitionWorker:
    """A process on a node of the cluster that has loaded the run, and answers one partition after the other.

    An error that the user can fix is a result, since Ray would report it inside of errors of its own.
    """

    def __init__(self, job: Job, run: NodeRun, device: str, store: str | None, threads: int):
        os.environ[THREADS_VARIABLE] = str(threads)
        self.job = job
        self.forecaster: Forecaster | Exception
        try:
            self.forecaster = Forecaster.load(run.open(), device, store)
            if store is not None and list(self.forecaster.facts_version) != job.settings["facts"]:
                raise StoreError(
                    f"{self.forecaster.fact_store.name} has other facts on {socket.gethostname()} than when the job "
                    "began; use a database that all nodes reach, and if facts were added, begin again with --overwrite"
                )
        except FIXABLE as error:
            self.forecaster = error

    def __call__(self, batch: Mapping[str, NDArray[np.int64]]) -> dict[str, list[str]]:
        """Answer the partition with the given number; return what was done, as JSON, or the error."""
        (number,) = batch["partition"].tolist()
        try:
            if isinstance(self.forecaster, Exception):
                raise self.forecaster
            result = self.job.answer(number, self.forecaster)
        except FIXABLE as error:
            return {"result": [""], "error": [one_line(error)]}
        return {"result": ["" if result is None else json.dumps(asdict(result))], "error": [""]}


def run_on_ray(
    job: Job, run: Run, checksums: dict[str, Any], device: str, store: str | None, cluster: Cluster
) -> Iterator[PartitionResult]:
    """Answer the missing partitions of a job on a cluster.

    A worker that dies is replaced, and its partition is answered again. As a partition appears atomically and is not
    answered if it exists, no answer is lost or written twice.

    Args:
        job: The job. Its folder must be reachable from all nodes.
        run: The run. Nodes that do not have it get a copy.
        checksums: The fingerprint of the run.
        device: As for ``Forecaster.load``; ``"auto"`` uses the GPUs that Ray gives to a worker.
        store: The database of added facts; None for that of the run.
        cluster: The cluster.

    Yields:
        Each partition when it is answered.

    Raises:
        ConfigError: The cluster cannot be reached, or does not have enough CPUs or GPUs.
        TiterError: A worker cannot load the run or answer a partition.
    """
    missing = job.missing()
    if not missing:
        return
    with _connected(cluster) as started_here:
        workers = min(_num_workers(cluster), len(missing))
        # A cluster may get more nodes while the job runs, so the run is sent even if there is one node now.
        archive = None if started_here else ray.put(pack(run, facts=store is None))
        last_sequence, num_removals, facts = job.settings["facts"]
        version = (last_sequence, num_removals, facts) if store is None else None
        node_run = NodeRun(str(run.path.absolute()), checksums, job.task.needs_events, version, archive)
        chosen = "cpu" if device == "auto" and not cluster.gpus_per_worker else device
        # One block for each partition, so that a worker that dies loses one partition at most.
        numbers = ray.data.from_items([{"partition": n} for n in missing], override_num_blocks=len(missing))
        answered = numbers.map_batches(
            PartitionWorker,
            fn_constructor_args=(job, node_run, chosen, store, cluster.threads),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
            num_cpus=cluster.threads,
            num_gpus=cluster.gpus_per_worker or None,
        )  # an actor that dies is replaced by Ray Data, and its task is repeated
        for row in answered.iter_rows():
            if row["error"]:
                raise TiterError(row["error"])
            if row["result"]:
                yield PartitionResult(**json.loads(row["result"]))


@contextmanager
def reached(cluster: Cluster) -> Generator[None]:
    """Connect to a running cluster before a job is prepared; Ray on this machine is started when the job needs it.

    Raises:
        ConfigError: The cluster cannot be reached, or does not have enough CPUs or GPUs.
    """
    if cluster.address is None:
        yield
        return
    with _connected(cluster):
        _num_workers(cluster)
        yield


@contextmanager
def _connected(cluster: Cluster) -> Generator[bool]:
    """Connect to the cluster, unless this process is connected already; yield whether it is on this machine only."""
    if ray.is_initialized():
        yield False
        return
    options: dict[str, Any] = {"address": cluster.address}
    if cluster.address is None:
        # More CPUs than workers, as Ray Data needs some itself; they are logical.
        options = {"address": "local", "num_cpus": (cluster.workers or os.cpu_count() or 1) * cluster.threads + 1}
    try:
        if found := re.fullmatch(r"([^/]+):(\d+)", cluster.address or ""):
            # Ray itself would try for minutes.
            socket.create_connection((found[1], int(found[2])), CONNECT_SECONDS).close()
        ray.init(**options, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise ConfigError(f"cannot use the Ray cluster {cluster.address!r}: {str(error).splitlines()[0]}") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)  # the command shows the progress itself
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.enable_rich_progress_bars = False
    try:
        yield cluster.address is None
    finally:
        ray.shutdown()


def _num_workers(cluster: Cluster) -> int:
    """Return the number of workers that were asked for, or as many as fit."""
    resources = ray.cluster_resources()
    cpus, gpus = int(resources.get("CPU", 0)), resources.get("GPU", 0.0)
    fit = max((cpus - 1) // cluster.threads, 0)
    if cluster.gpus_per_worker:
        fit = min(fit, int(gpus / cluster.gpus_per_worker))
    if cluster.workers is None and fit:
        return fit
    if (cluster.workers or 1) > fit:
        needed = f"{(cluster.workers or 1) * cluster.threads + 1} CPUs"
        if cluster.gpus_per_worker:
            needed += f" and {(cluster.workers or 1) * cluster.gpus_per_worker:g} GPUs"
        raise ConfigError(
            f"{cluster.workers or 1} workers need {needed}, one CPU more than the workers use; "
            f"the cluster has {cpus} CPUs and {gpus:g} GPUs"
        )
    assert cluster.workers is not None
    return cluster.workers
