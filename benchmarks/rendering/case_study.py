"""The case study of the paper (Table 4): its five queries, its paths, and ours."""

from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, figure, table
from titer.evaluation.published import CASES


def case_table(measured: Measurements) -> list[str]:
    """Return each query with the path of the paper and its β, our rank of the answer, and our strongest path."""
    ours: list[Row] = measured.case_study.get("cases", [])
    by_query = {(one["subject"], one["relation"], one["object"], one["time"]): one for one in ours}
    lines = []
    for case in CASES:
        path = "; ".join(f"{hop.relation}, {hop.entity}, {hop.date}" for hop in case.path)
        found = by_query.get((case.subject, case.relation, case.answer, case.date))
        query = f"{case.subject}, {case.relation}, {case.answer}, {case.date}"
        lines.append([query, path, figure(case.beta), *(_ours(found) if found else [NOTHING] * 3)])
    header = ["query", "path of the paper", "β", "our rank", "our strongest path", "π and β of its hops"]
    return table(header, lines if ours else [])


def _ours(found: Row) -> list[str]:
    if not found["paths"]:
        return [str(found["rank"] or NOTHING), NOTHING, NOTHING]
    facts: list[Row] = found["paths"][0]["facts"]
    # Followed against its direction, a fact leads to its subject; the paper writes an inverse relation.
    path = "; ".join(
        f"{'^' if fact['reversed'] else ''}{fact['relation']}, "
        f"{fact['subject'] if fact['reversed'] else fact['object']}, {fact['time']}"
        for fact in facts
    )
    numbers = "; ".join(f"{fact['numbers']['probability']:.2f}, {fact['numbers']['beta']:.2f}" for fact in facts)
    return [str(found["rank"] or NOTHING), path, numbers]
