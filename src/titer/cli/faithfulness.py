"""``titer faithfulness``."""

from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.options import DeviceOption, JsonOption, RunArgument, Split
from titer.cli.screen import say, say_json, say_table

if TYPE_CHECKING:
    from titer.evaluation.faithfulness import Faithfulness, Standing


def faithfulness(
    run: RunArgument,
    split: Annotated[Split, typer.Option(help="Which split to ask about.")] = Split.test,
    questions: Annotated[int, typer.Option(min=1, help="How many of its questions to draw.")] = 500,
    facts: Annotated[
        int | None,
        typer.Option(min=1, help="How many facts of the strongest evidence to take out (default: the strongest path)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")] = 0,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Measure whether a run's evidence is what its answers rest on.

    Takes the strongest evidence for the true answer out of the history and asks again; and, to compare, as many
    other past facts of the question's subject, drawn at random.
    """
    from titer.evaluation.faithfulness import faithfulness as measure
    from titer.training.run import Run

    opened = Run(run)
    model = opened.load_model(device)
    found = measure(model, opened.dataset, split.value, questions=questions, facts=facts, seed=seed)
    if json:
        say_json(found.to_dict())
    else:
        _show(found)


def _show(found: "Faithfulness") -> None:
    say(f"{found.model} on {found.dataset.name}, {found.split} split: {found.sampled:,} questions drawn")
    say(
        f"{found.compared:,} of them have evidence for the true answer and other facts to compare it with; "
        f"{found.facts_taken:.2f} facts taken out for each"
    )
    say()
    rows = (
        ("with all facts", found.whole),
        ("without the strongest evidence", found.without_evidence),
        ("without random facts of the subject", found.without_random),
    )
    say_table(
        ["true answers", "probability", "MRR", "mean rank", "fell in rank"],
        [[what, *_cells(standing)] for what, standing in rows],
    )


def _cells(standing: "Standing") -> list[str]:
    percentages = f"{standing.probability:.2%}", f"{100 * standing.mrr:.2f}"
    return [*percentages, f"{standing.mean_rank:.1f}", f"{standing.fallen:.2%}"]
