"""``titer evaluate RUN --protocol tgb``."""

from pathlib import Path
from typing import Any

from titer.cli.interruption import note_state
from titer.cli.screen import note, say, say_json, say_table
from titer.parallel.environment import is_first


def evaluate_tgb_runs(path: Path, folder: Path | None, device: str, batch_size: int | None, *, json: bool) -> None:
    """Evaluate a run, or each run in a folder, as TGB does, and print what a submission needs."""
    from titer.evaluation.tgb_candidates import TgbCandidates
    from titer.parallel.processes import joined
    from titer.runs.tgb import candidate_files, evaluate_run, runs_of, submission
    from titer.training.device import choose_device

    runs = runs_of(path)
    files = candidate_files(runs[0].dataset, folder)
    records: list[dict[str, Any]] = []
    candidates: dict[str, TgbCandidates] = {}
    with joined(choose_device(device)) as place:
        for run in runs:
            if is_first():
                note_state(run.path)
            records.append(evaluate_run(run, files, place, candidates=candidates, batch_size=batch_size))
    if not is_first():
        return
    summary = submission(records)
    if json:
        say_json(summary)
    else:
        _show(summary)


def _show(summary: dict[str, Any]) -> None:
    runs: list[dict[str, Any]] = summary["runs"]
    ranked = "all entities without the exclusion sets" if runs[0]["test"]["candidates"] == "all" else "given candidates"
    say(
        f"{summary['model']} on {summary['dataset']}, protocol of TGB 2.0: both directions, mean rank of ties, {ranked}"
    )
    say()
    rows = [
        [
            str(run["seed"]),
            *(f"{run[split]['mrr']:.4f}" for split in ("valid", "test")),
            f"{run['test']['hits_at_10']:.4f}",
            _duration(run["training"].get("seconds")),
            _duration(run["valid"]["seconds"] + run["test"]["seconds"]),
            _gigabytes(run),
        ]
        for run in runs
    ]
    headers = ["seed", "validation MRR", "test MRR", "test Hits@10", "training", "evaluation", "memory"]
    say_table(headers, rows, numbers_from=0)
    say()
    for split, label in (("valid", "validation"), ("test", "test")):
        found = summary[f"{split}_mrr"]
        spread = f" ± {found['standard_deviation']:.4f}" if found["standard_deviation"] is not None else ""
        say(f"{label} MRR: {found['mean']:.4f}{spread}")
    say(f"parameters: {summary['parameters']:,}")
    say(f"hardware: {summary['hardware']}")
    say(f"seeds: {', '.join(map(str, summary['seeds']))}; commit: {summary['commit']}")
    if summary["missing_seeds"]:
        note(
            f"note: a submission needs five seeds; train {summary['missing_seeds']} more with --set training.seed=N "
            "into one folder, and evaluate that folder"
        )


def _duration(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.2f} s"


def _gigabytes(run: dict[str, Any]) -> str:
    on_gpu = max(run["training"].get("gpu_gigabytes", 0.0), run["memory"].get("gpu_gigabytes", 0.0))
    return f"{on_gpu:.2f} GB GPU" if on_gpu else f"{run['memory']['resident_gigabytes']:.2f} GB"
