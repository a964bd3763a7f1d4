"""The temporal knowledge graphs of TGB 2.0: where their archives are, and their sizes."""

from dataclasses import dataclass

STATIC = "+static"
"""Ending of a dataset's name that includes its static edges."""


@dataclass(frozen=True)
class TgbBenchmark:
    """A temporal knowledge graph of TGB 2.0.

    TGB publishes no checksums. Where none is known, the SHA-256 of the first download is kept beside the files, and
    later downloads are compared with it.
    """

    name: str
    facts: int
    entities: int
    relations: int
    steps: int
    has_static: bool = False
    """Whether there is a second edge list, of facts without a time."""
    num_negatives: int | None = None
    """Candidates given for each query; None if all entities are candidates, except those in an exclusion set."""
    sha256: str | None = None
    """The SHA-256 of the archive, if it is known."""
    home: str = "https://object-arbutus.alliancecan.ca/swift/v1/14c95234f6cd4a21a47deafe20cce2a7/tgb/"
    """The URL of the folder with its archive."""

    @property
    def archive(self) -> str:
        """The name of the archive."""
        return f"{self.name}.zip"

    @property
    def files(self) -> list[str]:
        """The names of the files in the archive that are needed."""
        static = [static_file(self.name)] if self.has_static else []
        return [edge_file(self.name), *static, *(candidate_file(self.name, split) for split in ("valid", "test"))]


def edge_file(name: str) -> str:
    """Return the name of the edge list of a dataset."""
    return f"{name}_edgelist.csv"


def static_file(name: str) -> str:
    """Return the name of the list of static edges of a dataset."""
    return f"{name}_static_edgelist.csv"


def candidate_file(name: str, split: str) -> str:
    """Return the name of the file with the exclusion sets or the negatives of a split, ``valid`` or ``test``."""
    return f"{name}_{'val' if split == 'valid' else split}_ns.pkl"


TGB_BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        TgbBenchmark("tkgl-smallpedia", 550_376, 47_433, 283, 125, has_static=True),
        TgbBenchmark("tkgl-polecat", 1_779_610, 150_931, 16, 1_826),
        TgbBenchmark("tkgl-icews", 15_513_446, 87_856, 391, 10_224),
        TgbBenchmark("tkgl-wikidata", 9_856_203, 1_226_440, 596, 2_025, has_static=True, num_negatives=1000),
    )
}


def tgb_benchmark_named(name: str) -> TgbBenchmark | None:
    """Return the benchmark with a name, with or without ``+static``, in any capitalisation; None if there is none."""
    return TGB_BENCHMARKS.get(name.lower().removesuffix(STATIC))
