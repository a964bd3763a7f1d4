"""The tables of a fact store."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, MetaData, String, Table, Text

FORMATS = (1, 2)
"""The formats that can be read. A store has the second one once facts were removed, which older versions of titer would
take for damage."""

metadata = MetaData()

# In SQLite only a column of type INTEGER can be the row number.
Sequence = BigInteger().with_variant(Integer, "sqlite")

about = Table(
    "titer_store",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("dataset", String(64), nullable=False),  # its checksum
    Column("dataset_name", Text, nullable=False),
    Column("last_sequence", BigInteger, nullable=False),
)
"""One row. A writer holds it locked until its facts are committed, so sequence numbers become visible in order."""

facts = Table(
    "titer_facts",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=False),  # 1, 2, 3, … without gaps
    Column("fingerprint", String(64), nullable=False, unique=True),  # names can be too long to index
    Column("subject", Text, nullable=False),
    Column("relation", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("step", BigInteger, nullable=False, index=True),  # of the dataset's time axis
    Column("added_at", String(32), nullable=False),  # UTC
)

changes = Table(
    "titer_changes",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3, …
    Column("kind", String(8), nullable=False),  # add or remove
    Column("first_sequence", BigInteger, nullable=False),
    Column("last_sequence", BigInteger, nullable=False),
    Column("num_facts", BigInteger, nullable=False),
    Column("at", String(32), nullable=False),  # UTC
    Column("note", Text, nullable=False),
)
"""The journal: every addition and every removal."""

removed = Table(
    "titer_removed",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("relation", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("added_at", String(32), nullable=False),
    Column("change", Integer, nullable=False),  # the removal
)
"""Facts that were removed. Their numbers are not used again."""
