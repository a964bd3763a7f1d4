"""The two tables of a fact store."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, MetaData, String, Table, Text

FORMAT = 1

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
