"""The command ``titer faithfulness``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.options import DeviceOption, JsonOption, Split
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import NoEvidenceError

if TYPE_CHECKING:
    from titer.evaluation.faithfulness import Faithfulness
    from titer.evaluation.planted import PlantedResult

EXAMPLES = ("titer faithfulness runs/first runs/titer --questions 200",)


def faithfulness(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    split: Annotated[Split, typer.Option(help="Split from which questions are drawn.")] = Split.test,
    questions: Annotated[int, typer.Option(min=1, help="Number of questions to draw.")] = 500,
    facts: Annotated[
        int | None,
        typer.Option(min=1, help="Number of facts of the strongest evidence to remove (default: the strongest path)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draws.")] = 0,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Measure whether the answers of runs depend on their evidence.

    Removes the strongest evidence for the true answer from the history and asks again; then, as a control, removes the
    same number of random past facts of the same subject. For runs on the small world, whose facts have known causes,
    it also prints the MRR by kind of planted fact, and how often the strongest evidence for a true answer ranked first
    contains all causes.
    """
    from titer.data.small_world import small_world
    from titer.evaluation.faithfulness import faithfulness as measure
    from titer.evaluation.planted import evaluate_planted
    from titer.runs.run import Run

    world = small_world()
    found: dict[Path, Faithfulness] = {}
    planted: dict[Path, dict[str, PlantedResult]] = {}
    for path in runs:
        run = Run(path)
        model = run.load_model(device)
        try:
            found[path] = measure(model, run.dataset, split.value, max_queries=questions, facts=facts, seed=seed)
        except NoEvidenceError as error:
            if len(runs) == 1:
                raise
            note(f"note: {path} is skipped: {error}")
            continue
        if run.dataset.checksum == world.dataset.checksum:
            planted[path] = evaluate_planted(model, world, split.value)
    if not found:
        raise NoEvidenceError("none of these runs has evidence to show")
    if json:
        drawn = {"questions": questions, "facts": facts, "seed": seed}
        say_json([_row(path, result, planted.get(path), drawn, device) for path, result in found.items()])
        return
    _show(found)
    if planted:
        _show_planted(planted, found)


def _row(
    path: Path,
    result: "Faithfulness",
    planted: "dict[str, PlantedResult] | None",
    drawn: dict[str, int | None],
    device: str,
) -> dict[str, Any]:
    from titer.runs.provenance import provenance
    from titer.runs.run import Run
    from titer.training.device import choose_device

    kinds = {kind: asdict(of_kind) for kind, of_kind in planted.items()} if planted is not None else None
    made_by = {"config": Run(path).config.to_dict(), **provenance(choose_device(device))}
    return {"run": str(path), **result.to_dict(), "planted": kinds, "drawn": drawn, **made_by}


def _show(found: "dict[Path, Faithfulness]") -> None:
    say("True answers: with all facts, without the strongest evidence, and without as many random facts.")
    say()
    parts = ("", "without evidence", "without random")
    say_table(
        ["run", "model", "compared", *(f"{what} {part}".strip() for what in ("MRR", "probability") for part in parts)],
        [
            [
                str(path),
                result.model,
                f"{result.compared:,}",
                *(f"{100 * standing.mrr:.2f}" for standing in result.standings),
                *(f"{standing.probability:.1%}" for standing in result.standings),
            ]
            for path, result in found.items()
        ],
        numbers_from=2,
    )


def _show_planted(planted: "dict[Path, dict[str, PlantedResult]]", found: "dict[Path, Faithfulness]") -> None:
    from titer.evaluation.planted import share_of_causes_found

    kinds = sorted({kind for results in planted.values() for kind in results})
    say()
    say("Planted facts: MRR by kind, and how often the evidence for a true answer ranked first contains all causes.")
    say()
    say_table(
        ["run", "model", *(f"MRR {kind}" for kind in kinds), "ranked first", "causes found"],
        [
            [
                str(path),
                found[path].model,
                *(f"{100 * results[kind].metrics.mrr:.2f}" for kind in kinds),
                f"{sum(result.ranked_first for result in results.values()):,}",
                f"{share_of_causes_found(results.values()):.1%}",
            ]
            for path, results in planted.items()
        ],
        numbers_from=2,
    )
