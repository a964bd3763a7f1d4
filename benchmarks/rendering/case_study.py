"""The case study of the paper (Table 4): its five queries, its paths, and ours."""

from published_tables import CASES, PublishedCase
from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, figure, table


def case_table(measured: Measurements) -> list[str]:
    """Return each query with the path and β of the paper, and our paths with π and β of every hop."""
    ours: list[Row] = measured.case_study.get("cases", [])
    by_query = {(one["subject"], one["relation"], one["object"], one["time"]): one for one in ours}
    lines = []
    for case in CASES:
        found = by_query.get((case.subject, case.relation, case.object, case.time))
        unseen = found["unseen"] if found else []
        subject, answer = (f"{name} †" if name in unseen else name for name in (case.subject, case.object))
        query = f"{subject}, {case.relation}, {answer}, {case.time}"
        lines.append([query, _published(case), figure(case.beta), *(_ours(found) if found else [NOTHING] * 3)])
    header = ["query", "path in the paper", "β", "our rank", "our strongest path", "the paper's path among ours"]
    return table(header, lines if ours else [])


def _published(case: PublishedCase) -> str:
    return "; ".join(
        f"{hop.subject}, {hop.relation}, {hop.object}, {hop.time}"
        + (f" (printed as {hop.printed})" if hop.printed else "")
        for hop in case.path
    )


def _ours(found: Row) -> list[str]:
    same = found["path_of_the_paper"]
    return [
        str(found["rank"] or NOTHING),
        _path(found["paths"][0]) if found["paths"] else NOTHING,
        f"{same['place']}: {_hops(same)}" if same else NOTHING,
    ]


def _path(path: Row) -> str:
    facts = (f"{fact['subject']}, {fact['relation']}, {fact['object']}, {fact['time']}" for fact in path["facts"])
    return f"{'; '.join(facts)} ({_hops(path)})"


def _hops(path: Row) -> str:
    numbers = [fact["numbers"] for fact in path["facts"]]
    return "; ".join(f"π {one['probability']:.2f}, β {one['beta']:.2f}" for one in numbers)
