"""The card of a run: a Markdown description of its model, data, results and settings."""

from typing import Any

from titer.data.dataset import Dataset
from titer.toml import to_toml
from titer.training.config import Config


def card(name: str, config: Config, dataset: Dataset, evaluations: list[dict[str, Any]]) -> str:
    """Return the card of a run.

    Args:
        name: The name of the run.
        config: Its configuration.
        dataset: The dataset it was trained on.
        evaluations: Its evaluations, as ``metrics.json`` stores them.

    Returns:
        The text of the card.
    """
    sizes = " / ".join(f"{len(facts):,}" for facts in dataset.splits.values())
    lines = [
        f"# {name}",
        "",
        f"A `{config.model_name}` model for temporal knowledge graph forecasting, trained with titer.",
        "",
        f"- Dataset: **{dataset.name}**, {sizes} facts (train / valid / test), {dataset.vocabulary.sizes}",
        f"- Dataset checksum: `{dataset.checksum}`",
        f"- Last fact: {dataset.axis.words(int(dataset.facts.time.max()))}",
        "",
    ]
    if evaluations:
        lines += ["| split | protocol | MRR | Hits@1 | Hits@3 | Hits@10 |", "|---|---|---|---|---|---|"]
        for found in evaluations:
            choices = {**found["protocol"], **found.get("changed", {})}
            protocol = ", ".join(f"{k}: {v}" for k, v in choices.items() if k != "convention")
            keys = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")
            numbers = " | ".join(f"{100 * found['metrics'][key]:.2f}" for key in keys)
            lines.append(f"| {found['split']} | {protocol} | {numbers} |")
        lines.append("")
        words = [found["baseline"]["words"] for found in evaluations if found.get("baseline")]
        lines += [words[-1], ""] if words else []
    lines += ["## Settings", "", "```toml", to_toml(config.to_dict()).rstrip(), "```", ""]
    return "\n".join(lines)
