"""Measure the throughput and the latency of the service.

    python benchmarks/service.py RUN --clients 32 --seconds 20

Starts the service on a free loopback port and stops it at the end. Each client has its own connection, and asks one
question after the other about the time step after the last fact of the run.
"""

import argparse
import asyncio
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2

from titer.runs.run import Run


async def client(url: str, questions: list[dict[str, object]], until: float, seconds: list[float]) -> None:
    """Ask one question after the other until a time, and record how long each takes."""
    async with httpx2.AsyncClient(base_url=url, timeout=30) as session:
        while time.perf_counter() < until:
            started = time.perf_counter()
            response = await session.post("/v1/forecast", json=random.choice(questions))
            response.raise_for_status()
            seconds.append(time.perf_counter() - started)


async def load(
    url: str, questions: list[dict[str, object]], clients: int, duration: float
) -> tuple[list[float], float]:
    """Run all clients concurrently; return the latencies and the total time."""
    seconds: list[float] = []
    started = time.perf_counter()
    await asyncio.gather(*(client(url, questions, started + duration, seconds) for _ in range(clients)))
    return seconds, time.perf_counter() - started


def some_questions(run: Run, count: int, top: int, explain: int) -> list[dict[str, object]]:
    """Return requests for the object and for the subject of random test facts."""
    names, test = run.dataset.vocabulary, run.dataset.test
    rows = [test[i : i + 1] for i in random.sample(range(len(test)), min(count, len(test)))]
    questions: list[dict[str, object]] = []
    for fact in (next(iter(row)) for row in rows):
        asked: dict[str, object] = {"relation": names.relations[fact[1]], "top": top, "explain": explain}
        questions.append({**asked, "subject": names.entities[fact[0]]})
        questions.append({**asked, "object": names.entities[fact[2]]})
    return questions


def main() -> None:
    """Start the service, measure, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="run directory")
    parser.add_argument("--clients", type=int, default=32, help="number of concurrent clients")
    parser.add_argument("--seconds", type=float, default=20, help="how long to measure")
    parser.add_argument("--top", type=int, default=10, help="answers per question")
    parser.add_argument("--explain", type=int, default=0, help="pieces of evidence per answer")
    options = parser.parse_args()
    random.seed(0)
    questions = some_questions(Run(options.run), 2000, options.top, options.explain)
    command = [sys.executable, "-m", "titer", "serve", str(options.run), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            for line in server.stderr:
                if found := re.search(r"running on (http://\S+)", line):
                    break
            else:
                raise SystemExit("the service did not start")
            asyncio.run(load(found[1], questions, options.clients, 2))  # warm up
            seconds, took = asyncio.run(load(found[1], questions, options.clients, options.seconds))
        finally:
            server.send_signal(signal.SIGINT)
    seconds.sort()
    print(
        f"{options.clients} clients, {len(seconds):,} forecasts in {took:.1f} s: {len(seconds) / took:.0f} per second"
    )
    for share in (0.5, 0.9, 0.99):
        print(f"  {share:.0%} within {seconds[int(share * (len(seconds) - 1))]:.3f} s")


if __name__ == "__main__":
    main()
