"""Explain the five test queries of the paper's case study (Table 4) with a run of TITer on ICEWS18.

    python benchmarks/case_study.py RUN

writes ``benchmarks/case_study.json``: for each query the rank of the true answer, and the strongest paths to it with
the probability π and the weight β of every hop. ``python benchmarks/render.py`` renders it.
"""

import argparse
from pathlib import Path
from typing import Any

import titer
from published_tables import CASES, PublishedCase, PublishedHop
from titer.errors import TiterError
from titer.files import write_json
from titer.forecasting.forecast import Answer, Reason
from titer.forecasting.question import Question
from titer.runs.provenance import provenance
from titer.runs.run import Run

RESULT = Path(__file__).parent / "case_study.json"
MAX_PATHS = 3
"""Paths that are kept of each query, besides that of the paper."""
SEARCHED = 100
"""Paths among which that of the paper is looked for."""


def main() -> None:
    """Explain all cases and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, help="run directory of TITer on ICEWS18")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=RESULT, help="result file")
    arguments = parser.parse_args()
    run = Run(arguments.run)
    if (run.config.model_name, run.dataset.name) != ("titer", "ICEWS18"):
        raise SystemExit(
            f"{run.path} is a run of {run.config.model_name} on {run.dataset.name}, not of titer on ICEWS18"
        )
    forecaster = titer.Forecaster.load(run, arguments.device)
    rows = [explained(forecaster, case) for case in CASES]
    about = {
        "command": f"python benchmarks/case_study.py {arguments.run}",
        "config": run.config.to_dict(),
        "dataset": {"name": run.dataset.name, "checksum": run.dataset.checksum},
        **provenance(forecaster.model.device),
    }
    write_json(arguments.out, {**about, "cases": rows})
    for row in rows:
        best = row["paths"][0]["text"] if row["paths"] else "no path"
        print(f"{row['subject']} | {row['relation']} | {row['object']} | {row['time']}: rank {row['rank']}, {best}")


def explained(forecaster: titer.Forecaster, case: PublishedCase) -> dict[str, Any]:
    """Return the paths to the true answer of a case, and where the path of the paper is among them."""
    train = forecaster.dataset.train
    trained = {forecaster.dataset.vocabulary.entities[i] for i in {*train.subject.tolist(), *train.object.tolist()}}
    first = forecaster.ask(case.subject, case.relation, at=case.time, top=1).answers
    answer = _answer(forecaster, case)
    reasons = [reason for reason in answer.reasons if reason.facts] if answer else []
    same = [i for i, reason in enumerate(reasons) if _steps(reason) == [_step(hop) for hop in case.path]]
    return {
        **{name: getattr(case, name) for name in ("subject", "relation", "object", "time")},
        "unseen": sorted({case.subject, case.object} - trained),
        "first": first[0].entity if first else None,
        "rank": answer.rank if answer else None,
        "probability": answer.probability if answer else None,
        "paths": [_path(reason) for reason in reasons[:MAX_PATHS]],
        "path_of_the_paper": {"place": same[0] + 1, **_path(reasons[same[0]])} if same else None,
    }


def _answer(forecaster: titer.Forecaster, case: PublishedCase) -> Answer | None:
    question = Question(case.subject, case.relation, None, case.time)
    try:
        return forecaster.explain(question, case.object, limit=SEARCHED)
    except TiterError:  # no path reaches the answer; other errors were raised by the same question before
        return None


def _steps(reason: Reason) -> list[tuple[str, str, str]]:
    return [(fact.subject, fact.relation, fact.object) for fact in reason.facts]


def _step(hop: PublishedHop) -> tuple[str, str, str]:
    return hop.subject, hop.relation, hop.object


def _path(reason: Reason) -> dict[str, Any]:
    names = ("subject", "relation", "object", "time", "reversed", "numbers")
    facts = [{name: getattr(fact, name) for name in names} for fact in reason.facts]
    return {"share": reason.share, "count": reason.count, "text": reason.text, "facts": facts}


if __name__ == "__main__":
    main()
