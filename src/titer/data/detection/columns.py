"""Guess which columns have the subject, relation, object and time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from titer.data.detection.dates import DateGuess, guess_dates
from titer.data.time_unit import TimeUnit

# Words in the names of columns, the most specific first.
WORDS: dict[str, str] = {
    "subject": "subject,head,actor1,actor,source,src,sender,initiator,acquirer,buyer,home team,home,player,person,who,"
    "agent,author,user,employee,investor,from,u,name",
    "object": "object,tail,actor2,recipient,target,tgt,dst,destination,receiver,acquired,company,seller,away team,away,"
    "whom,organisation,organization,party,club,team,investee,country,to,i,v",
    "relation": "relation,predicate,relationship,rel type,event type,sub event type,event text,event,relation type,rel,"
    "verb,property,action,type,edge,label,did,what,kind,category,position,office,role,status,result,tournament",
    "time": "time,timestamp,date,event date,datetime,when,day,ts,at,month,quarter,year,created",
    "start": "start,start date,begin,beginning,valid from,since,from date,date from,start time,valid at,term start,"
    "from",
    "end": "end,end date,until,valid to,till,to date,date to,end time,invalid at,term end,to",
}
PAIRS = (
    *(("subject", "object"), ("head", "tail"), ("actor1", "actor2"), ("actor", "recipient"), ("source", "target")),
    *(("src", "dst"), ("source", "destination"), ("sender", "receiver"), ("from", "to"), ("home", "away")),
    *(("acquirer", "company"), ("buyer", "seller"), ("who", "whom"), ("player", "club"), ("u", "i"), ("u", "v")),
)
"""Words for subject and object that belong together."""
_NOT_NAMES = {
    "id",
    "uuid",
    "url",
    "code",
    "key",
    "lat",
    "lon",
    "latitude",
    "longitude",
    "notes",
    "note",
    "number",
    "score",
}


@dataclass(frozen=True)
class ColumnGuess:
    """Columns for the parts of a fact."""

    columns: dict[str, str] = field(default_factory=dict)
    """The column of each part that was found."""
    dates: DateGuess | None = None
    """How the dates are written, if a column of dates was found."""


def guess_columns(values: Mapping[str, Sequence[str]], given: Mapping[str, str]) -> ColumnGuess:
    """Guess the columns of facts.

    Args:
        values: Some values of each column.
        given: The parts whose columns are known.
    """
    columns = dict(given)
    dates = {name: guess for name, column in values.items() if (guess := guess_dates(column)) is not None}
    _guess_times(columns, dates)
    timed = next((part for part in ("time", "start", "end") if part in columns), None)
    text = [name for name in values if _is_text(values[name], dates.get(name))]
    numbers = [name for name, guess in dates.items() if guess.is_integer]
    _guess_pair(columns, [name for name in (*text, *numbers) if name not in columns.values()])
    for part in ("subject", "object", "relation"):
        # Ids are names too, if their column is called exactly like this part.
        likely = [*text, *(name for name in numbers if _score(part, name) > 60)]
        if part not in columns and (name := _best(part, [name for name in likely if name not in columns.values()])):
            columns[part] = name
    _guess_by_content(columns, {name: values[name] for name in text if name not in columns.values()})
    return ColumnGuess(columns, dates.get(columns[timed]) if timed else None)


def _guess_times(columns: dict[str, str], dates: Mapping[str, DateGuess]) -> None:
    """Choose one column of dates, or two for facts that last."""
    if {"time", "start", "end"} & set(columns):
        return
    # Numbers are times only if the name of their column says so.
    dated = [name for name, guess in dates.items() if not guess.is_integer]
    start, end = (_best(part, [name for name in dated if _score(part, name) >= 40]) for part in ("start", "end"))
    if start and end and start != end:
        columns |= {"start": start, "end": end}
        return
    named = [name for name in dates if _score("time", name) > 0 or name in dated]
    # Days are better than months and years, and the name decides between several columns of days.
    named.sort(key=lambda name: (name not in dated, _coarseness(dates[name]), -_score("time", name)))
    if named:
        columns["time"] = named[0]


def _coarseness(guess: DateGuess) -> int:
    return max(list(TimeUnit).index(guess.precision), list(TimeUnit).index(TimeUnit.DAY))


def _guess_pair(columns: dict[str, str], names: Sequence[str]) -> None:
    """Choose subject and object whose names belong together, such as ``ACTOR1`` and ``ACTOR2``."""
    if {"subject", "object"} & set(columns):
        return
    best, found = 0.0, ("", "")
    for words in PAIRS:
        pair = [max(names, key=lambda name: _fit(name, word), default="") for word in words]
        score = min(_fit(name, word) for name, word in zip(pair, words, strict=True))
        if score > best and pair[0] != pair[1]:
            best, found = score, (pair[0], pair[1])
    if best > 0:
        columns["subject"], columns["object"] = found


def _guess_by_content(columns: dict[str, str], values: Mapping[str, Sequence[str]]) -> None:
    """Choose columns whose names say nothing: subject and object first, then the column with the fewest values."""
    kinds = {name: len({value.strip() for value in column if value.strip()}) for name, column in values.items()}
    missing = [part for part in ("subject", "object") if part not in columns]
    if "relation" not in columns and len(kinds) > len(missing):
        fewest = min(kinds, key=lambda name: kinds[name])
        if kinds[fewest] <= max(len(values[fewest]) // 3, 2):
            columns["relation"] = fewest
            del kinds[fewest]
    for part, name in zip(missing, kinds, strict=False):
        columns[part] = name


def _best(part: str, names: Sequence[str]) -> str | None:
    best = max(names, key=lambda name: _score(part, name), default=None)
    return best if best is not None and _score(part, best) > 0 else None


def _score(part: str, column: str) -> float:
    """Return how well the name of a column fits a part of a fact, 0 if not at all."""
    return max(max(_fit(column, word) - i, 0.0) for i, word in enumerate(WORDS[part].split(",")))


def _fit(column: str, word: str) -> float:
    """Return how well the name of a column fits a word: 100 if it is this word, 0 if it does not contain it."""
    tokens, wanted = _tokens(column), _tokens(word)
    if tokens == wanted:
        return 100.0
    if len(word) <= 2 or not _contains(tokens, wanted):
        return 0.0
    extra = [token for token in tokens if token not in wanted]
    return max(60 - 5 * len(extra) + 12 * ("name" in extra) - 30 * bool(_NOT_NAMES & {*extra}), 1.0)


def _tokens(name: str) -> list[str]:
    """Split a name into words: ``Actor1Name`` is actor, 1, name."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def _contains(tokens: list[str], wanted: list[str]) -> bool:
    return any(tokens[i : i + len(wanted)] == wanted for i in range(len(tokens) - len(wanted) + 1))


def _is_text(column: Sequence[str], dates: DateGuess | None) -> bool:
    """Return whether values can be names: neither dates and numbers nor mostly empty nor long texts."""
    filled = [value for value in column if value.strip()]
    if not filled or dates is not None or len(filled) < 0.1 * len(column):
        return False
    numbers = sum(bool(re.fullmatch(r"[+-]?[\d.,]+%?", value.strip())) for value in filled)
    return numbers < len(filled) / 2 and sum(map(len, filled)) / len(filled) < 80
