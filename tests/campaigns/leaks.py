"""Change the future in random worlds: no answer, no evidence and no forecast of events may change with it.

``python tests/campaigns/leaks.py --count 2000 --seed 0``; a failure prints the command that repeats it.
"""

import math
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.random_worlds import MODELS, World, prepared_model, random_world
from campaigns.small_run import make_small_run
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.forecasting.forecaster import Forecaster
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.runs.run import Run
from titer.store.facts import NamedFact

TOLERANCE = 1e-4
"""Difference that sums in single precision may have, since they are rounded differently in histories of other sizes."""
EVERY = 20
"""One trial of so many asks a trained model in words; the others ask models with random weights."""
STEPS_BACK = 60
ABOUT_THE_DATA = {"ahead", "horizon"}
"""Parts of a result that say how far its time is from the end of the data, which is no forecast."""


def main() -> None:
    """Run the campaign and print its figures."""
    campaign = Campaign(__file__, __doc__, "worlds", count=2000)
    torch.set_num_threads(1)
    figures: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="titer-leaks-") as folder:
        run = Run(make_small_run(Path(folder)))
        for number in campaign.numbers():
            choice = random.Random(number)
            if number % EVERY == 0:
                problems = words_trial(run, Path(folder) / f"facts-{number}.db", choice, figures)
            else:
                problems = model_trial(choice.choice(list(MODELS)), random_world(choice), choice, figures)
            for problem in problems:
                campaign.problem(number, problem)
    campaign.end(models=len(MODELS), **count_by(figures))


def model_trial(name: str, world: World, choice: random.Random, figures: Counter[str]) -> list[str]:
    """Compare the scores and the evidence of a model with the past alone and with several futures."""
    vocabulary, facts, time = world.vocabulary, world.facts, world.time
    past = facts.before(time)
    model = prepared_model(name, vocabulary, past, seed=choice.randrange(1000))
    size = vocabulary.num_entities
    entities = torch.arange(size)
    relation = torch.full_like(entities, choice.randrange(vocabulary.num_directed_relations))
    queries = Queries(entities, relation, torch.full_like(entities, time))
    larger = Vocabulary([*vocabulary.entities, f"{vocabulary.entities[0]} again", "Added"], vocabulary.relations)
    added = [(choice.randrange(size + 2), 0, choice.randrange(size + 2), time + choice.choice([0, 0, 1, 1000]))]
    about = [(int(s), int(relation[0]) % vocabulary.num_relations, choice.randrange(size), time) for s in entities]
    futures = {
        "the facts of the future": (facts, vocabulary),
        "facts at the time of the query": (Facts.concatenate(past, Facts.from_rows(about)), vocabulary),
        "new entities": (Facts.concatenate(facts, Facts.from_rows(added)), larger),
    }
    problems: list[str] = []
    with torch.inference_mode():
        known = History(past, vocabulary)
        expected = model.score(queries, known)
        row = choice.randrange(size)
        evidence = _evidence(model, queries[[row]], expected[row], known)
        for what, (changed, names) in futures.items():
            history = History(changed.sorted_by_time(), names)
            scores = model.score(queries, history)[:, :size]
            figures["scores compared"] += scores.numel()
            if not torch.allclose(scores, expected, rtol=TOLERANCE, atol=TOLERANCE):
                problems.append(f"{name}: {what} change scores by {float((scores - expected).abs().max())}")
            figures["lists of evidence compared"] += len(evidence)
            if not same(_evidence(model, queries[[row]], expected[row], history), evidence):
                problems.append(f"{name}: {what} change evidence")
        earlier = Facts.concatenate(past, Facts.from_rows([(s, r, o, time - 1) for s, r, o, _ in about]))
        changed = model.score(queries, History(earlier.sorted_by_time(), vocabulary))
        figures["controls"] += 1
        figures["controls in which facts before the query changed scores"] += not torch.equal(changed, expected)
    return problems


def _evidence(model: Model, query: Queries, scores: torch.Tensor, history: History) -> list[Any]:
    """Return the evidence for the best answers to a query."""
    best = [answer for answer in scores.topk(min(2, len(scores))).indices.tolist() if scores[answer] > UNREACHED]
    return [
        [(item.share, [(e.subject, e.relation, e.object, e.time) for e in item.path]) for item in found]
        for found in (model.explain(query, answer, history, limit=20) for answer in best)
    ]


def words_trial(run: Run, store: Path, choice: random.Random, figures: Counter[str]) -> list[str]:
    """Compare answers, evidence and event forecasts for a past time before and after facts of its future are added."""
    dataset = run.dataset
    names, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    last = int(dataset.facts.time.max())
    with Forecaster.load(run, "cpu", store) as forecaster:
        time = last + 1 - choice.randrange(STEPS_BACK)
        subject, object = choice.sample(names, 2)
        relation, start = choice.choice(relations), forecaster.axis.label(time)

        def asked() -> list[Any]:
            return [
                forecaster.ask(subject, relation, at=start, top=20, explain=3).to_dict(),
                forecaster.ask(None, relation, object, at=start, top=20).to_dict(),
                forecaster.events(entity=subject, start=start, within=7, top=20, explain=1).to_dict(),
                forecaster.likely(subject, relation, object, 3, start=start, explain=1).to_dict(),
                forecaster.when(subject, relation, object, start=start, explain=1).to_dict(),
            ]

        before = asked()
        later = [
            NamedFact(
                subject if choice.random() < 0.5 else choice.choice([*names, "Newland", f"{subject} again"]),
                relation if choice.random() < 0.5 else choice.choice(relations),
                object if choice.random() < 0.5 else choice.choice(names),
                time + choice.choice([0, 0, 1, 3]),
            )
            for _ in range(choice.choice([1, 20, 200]))
        ]
        forecaster.fact_store.add(later, backfill=True, allow_future=True)
        after = asked()
    figures["forecasts in words compared"] += len(before)
    kinds = ("answers", "answers for the subject", "events", "likelihood", "time of an event")
    return [
        f"{len(later)} facts at or after {start} change the {kind} about {subject} | {relation} | {object}"
        for kind, old, new in zip(kinds, before, after, strict=True)
        if not same(old, new)
    ]


def same(one: Any, other: Any) -> bool:
    """Return whether two results are equal, but for the rounding of numbers."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one.keys() - ABOUT_THE_DATA)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


if __name__ == "__main__":
    main()
