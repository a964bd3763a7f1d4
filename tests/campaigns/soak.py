"""Keep a real service under a steady mixed load: memory and open files must stay flat in the second half of the time.

``python tests/campaigns/soak.py --seconds 1800 --rate 20``; the result states the slopes.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path
from statistics import linear_regression, median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.hostile_requests import TOKEN, random_request
from campaigns.http_fuzz import CLIENTS, Client, check_log
from campaigns.small_run import make_small_run
from service.process import Service

SECONDS = 60
"""Duration unless ``--seconds`` gives another one."""
MAX_GROWTH = 1.1
"""Memory at the end as a multiple of that at half time, above which it counts as growing."""
MAX_MORE_FILES = 5
MAX_SAMPLES = 120
"""Samples in the result file."""
Sample = tuple[float, float, int]
"""Seconds, resident memory in MB, open files."""


def main() -> None:
    """Run the campaign and print its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=20.0, help="requests per second (default: 20)")
    campaign = Campaign(__file__, __doc__, "requests", count=10**9, parser=parser)
    with tempfile.TemporaryDirectory(prefix="titer-soak-") as folder:
        service = Service(make_small_run(Path(folder), "recurrency"), TITER_TOKEN=TOKEN)
        try:
            samples, statuses = load(campaign, service)
        finally:
            code = service.stop()
    check_log(campaign, service, code)
    half = samples[len(samples) // 2 :]
    for text in grown(half):
        campaign.report(repeat(campaign), text)
    campaign.end(
        duration_seconds=round(samples[-1][0]),
        memory_mb={"start": samples[0][1], "half time": half[0][1], "end": samples[-1][1]},
        memory_slope_mb_per_hour=slope(half, 1),
        open_files={"start": samples[0][2], "most": max(sample[2] for sample in samples), "end": samples[-1][2]},
        open_files_slope_per_hour=slope(half, 2),
        statuses=count_by(statuses),
        samples=samples[:: max(1, len(samples) // MAX_SAMPLES)],
    )


def load(campaign: Campaign, service: Service) -> tuple[list[Sample], Counter[str]]:
    """Send requests at a steady rate, and sample the process meanwhile."""
    statuses: Counter[str] = Counter()
    lock = threading.Lock()
    every = map(random_request, count(campaign.options.seed))
    requests = (request for request in every if request.kind in ("valid", "values"))
    begin = time.monotonic()
    end = begin + min(campaign.options.seconds, SECONDS if campaign.options.seconds == float("inf") else 1e9)

    def work() -> None:
        client = Client(service)
        while time.monotonic() < end and service.process.poll() is None:
            with lock:
                request = next(requests)
                campaign.num_trials += 1
                due = begin + campaign.num_trials / campaign.options.rate
            time.sleep(max(0.0, min(due, end) - time.monotonic()))
            status, problem = client.send(request)
            with lock:
                statuses[status] += 1
                if problem:
                    campaign.report(repeat(campaign), f"{problem}, for {request.method} {request.path}")
        client.close()

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    samples: list[Sample] = []
    while any(thread.is_alive() for thread in threads) and service.process.poll() is None:
        samples.append(sample(service.process.pid, time.monotonic() - begin))
        time.sleep(0.5)
    for thread in threads:
        thread.join()
    return samples, statuses


def repeat(campaign: Campaign) -> str:
    """Return the command that repeats the campaign."""
    given = campaign.options
    return f"python tests/campaigns/soak.py --seconds {given.seconds:g} --rate {given.rate:g} --seed {given.seed}"


def sample(process: int, seconds: float) -> Sample:
    """Return the resident memory and the number of open files of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = int(status.partition("VmRSS:")[2].split()[0])
    return round(seconds, 1), round(kilobytes / 1024, 1), len(list(Path(f"/proc/{process}/fd").iterdir()))


def slope(samples: list[Sample], column: int) -> float:
    """Return the growth of a column per hour."""
    if len(samples) < 2:
        return 0.0
    found = linear_regression([one[0] for one in samples], [float(one[column]) for one in samples])
    return round(3600 * found.slope, 2)


def grown(samples: list[Sample]) -> list[str]:
    """Return what grew from the first tenth of some samples to their last."""
    tenth = max(1, len(samples) // 10)
    first, last = samples[:tenth], samples[-tenth:]
    memory = [median(one[1] for one in part) for part in (first, last)]
    files = [median(one[2] for one in part) for part in (first, last)]
    return [
        *([f"memory grew from {memory[0]:.0f} to {memory[1]:.0f} MB"] if memory[1] > MAX_GROWTH * memory[0] else []),
        *([f"open files grew from {files[0]} to {files[1]}"] if files[1] > files[0] + MAX_MORE_FILES else []),
    ]


if __name__ == "__main__":
    main()
