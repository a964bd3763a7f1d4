"""Explain the five test queries of the paper's case study (Table 4) with a run of TITer on ICEWS18.

    python benchmarks/case_study.py RUN

writes ``benchmarks/case_study.json``: for each query the rank of the true answer, and the strongest paths to it with
the probability π and the weight β of every hop. ``python benchmarks/recipes_page.py`` renders it into a document.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import titer
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


@dataclass(frozen=True)
class Hop:
    """One fact of a path in the paper, in its own direction."""

    subject: str
    relation: str
    object: str
    time: str
    printed: str = ""
    """The relation that the paper prints, if it is another. The ids of both differ by one, and only facts that a path
    uses against their direction are affected: there the released code has one more id before the inverse relations."""


@dataclass(frozen=True)
class Case:
    """A test query of the paper, the path that the paper shows, and β of it."""

    subject: str
    relation: str
    object: str
    time: str
    path: tuple[Hop, ...]
    beta: float | None

    @property
    def question(self) -> Question:
        """The query as a question for its object."""
        return Question(self.subject, self.relation, None, self.time)


MILITARY, CITIZEN, REBEL = (f"{who} (Comoros)" for who in ("Military", "Citizen", "Armed Rebel"))
GOVERNOR, MEMBER, IVORIAN = (f"{who} (Cote d'Ivoire)" for who in ("Governor", "Party Member", "Citizen"))
POLICE, INDIAN, NIGERIA, BUHARI = "Police (India)", "Citizen (India)", "Nigeria", "Muhammadu Buhari"
ATTACK, APPEAL, ASSAULT = "Use conventional military force", "Make an appeal or request", "Physically assault"
FIGHT, VIOLENCE = "fight with small arms and light weapons", "Use unconventional violence"
CASES = (
    Case(MILITARY, ATTACK, CITIZEN, "2018-10-17", (Hop(MILITARY, FIGHT, CITIZEN, "2018-10-16"),), 0.46),
    Case(MILITARY, ATTACK, REBEL, "2018-10-26", (Hop(REBEL, VIOLENCE, MILITARY, "2018-10-19", "Investigate"),), 0.54),
    Case(
        NIGERIA, "Consult", BUHARI, "2018-10-04", (Hop(BUHARI, "Make statement", NIGERIA, "2018-10-01", APPEAL),), 0.96
    ),
    Case(POLICE, ASSAULT, INDIAN, "2018-10-08", (Hop(POLICE, "Investigate", INDIAN, "2018-10-06"),), 0.96),
    Case(
        GOVERNOR,
        APPEAL,
        IVORIAN,
        "2018-10-14",
        (Hop(GOVERNOR, "Praise or endorse", MEMBER, "2018-10-12"), Hop(MEMBER, APPEAL, IVORIAN, "2018-09-29")),
        None,
    ),
)
"""Table 4 of the paper."""


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


def explained(forecaster: titer.Forecaster, case: Case) -> dict[str, Any]:
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


def _answer(forecaster: titer.Forecaster, case: Case) -> Answer | None:
    try:
        return forecaster.explain(case.question, case.object, limit=SEARCHED)
    except TiterError:  # no path reaches the answer; other errors were raised by the same question before
        return None


def _steps(reason: Reason) -> list[tuple[str, str, str]]:
    return [(fact.subject, fact.relation, fact.object) for fact in reason.facts]


def _step(hop: Hop) -> tuple[str, str, str]:
    return hop.subject, hop.relation, hop.object


def _path(reason: Reason) -> dict[str, Any]:
    names = ("subject", "relation", "object", "time", "reversed", "numbers")
    facts = [{name: getattr(fact, name) for name in names} for fact in reason.facts]
    return {"share": reason.share, "count": reason.count, "text": reason.text, "facts": facts}


if __name__ == "__main__":
    main()
