"""The catalogue of published benchmarks: where their files are, their checksums, and their dates."""

from dataclasses import dataclass
from pathlib import Path

from titer.data.time_axis import TimeAxis, TimeUnit
from titer.files import sha256_of

FILES = ("train.txt", "valid.txt", "test.txt", "entity2id.txt", "relation2id.txt", "stat.txt")


@dataclass(frozen=True)
class Benchmark:
    """A published dataset. The checksums of its files identify it, not its name."""

    name: str
    home: str
    """The URL of the folder with its files."""
    facts: tuple[int, int, int]
    """Numbers of facts in the training, validation and test splits."""
    axis: TimeAxis
    raw_axis: TimeAxis
    """The time axis of the files: plain numbers with a first one and a stride."""
    sha256: dict[str, str]
    """The SHA-256 of every file."""


def _benchmark(
    name: str, home: str, facts: tuple[int, int, int], axis: TimeAxis, raw_axis: TimeAxis, sums: list[str]
) -> Benchmark:
    # The last file, stat.txt, is not read, and not needed where its checksum is not known.
    return Benchmark(name, home, facts, axis, raw_axis, dict(zip(FILES, sums, strict=False)))


_TITER = "https://raw.githubusercontent.com/JHL-HUST/TITer/HEAD/data"
_RENET = "https://raw.githubusercontent.com/INK-USC/RE-Net/HEAD/data"
_CEN = "https://raw.githubusercontent.com/Lee-zix/CEN/HEAD/data"

_DAYS_2014, _DAYS_2018 = TimeAxis(TimeUnit.DAY, "2014-01-01"), TimeAxis(TimeUnit.DAY, "2018-01-01")
_HOURS = TimeAxis(TimeUnit.INTEGER, 0, 24)
_YEARS = TimeAxis(TimeUnit.INTEGER, 0, 1)

BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        # Times are hours since 1 January, in steps of one day.
        _benchmark("ICEWS14", f"{_TITER}/ICEWS14/", (63685, 13823, 13222), _DAYS_2014, _HOURS, [
            "f1afca58a2537b323ab97ea237b865403f65a94b2e393807c2542338d0603da2",
            "96ecf52a26b5b3af86836ddaaba57b0d1c05239c269dfc6c9e9893bde456baab",
            "0156d01b465fbfeebd65182155fa3b981131a731cf2669b3bd2512c8ac57d7c6",
            "703678935d28c068a79fd2f8ac5ae2c54306f2ad03268a058d9a448fde9f59e3",
            "0a56e88458482f1457d45004d79b09217ff016a2d5a7f1bc947735b51886ec07",
            "590d6632d8efd57bdd13dcab133dc0fcd848103f651766fe47ba4316a1db2547",
        ]),
        _benchmark("ICEWS18", f"{_TITER}/ICEWS18/", (373018, 45995, 49545), _DAYS_2018, _HOURS, [
            "019cfba096e15abae04e8d8d6f4dbeda2add15f53826681702f25298a9fbc7bf",
            "aa9966e928768ad3a9fd28c7fe2c078458ec1caa523fc0ddf9d0a38ece349c50",
            "a00d46f993557cf78a8823b0c3a7b3b135f40ffa74150ee8f795794e2b536e33",
            "7d247def04f9e0a70b986da665fce498ef2057779842dd83af1df3df5c5e6d74",
            "6099be14a4bb517019146818704858af040843df4caa77b816552223330dcb49",
            "0f198e1b76c90bf39428bdd9eb41fe3c84ef287f93f9934d478cf068b0794690",
        ]),
        # Times are year indices. WIKI's origin is in the interval data that it was made from. YAGO's origin is the one
        # for which the births and creations in its facts agree with the years in its entity dictionary.
        _benchmark("WIKI", f"{_RENET}/WIKI/", (539286, 67538, 63110), TimeAxis(TimeUnit.YEAR, "1786"), _YEARS, [
            "ea9bdc1ee6c2fbfd5e138004271579bf7c7eaef127c089796b396cc2abb1307e",
            "d9fb60e43b9e6ed970c6c63f1252d2bb5b3ed60eb1384a51e4b771d624350663",
            "3e70736c25102f85faac7e0763263d67b113a3698e71efac72bb4dc2f84c9d79",
            "307628d198b9369b650d46bb88980b38ed0957a9e8148227c94907f9b2804f01",
            "50e6d3c632dde882c8a84aece1eda1f640f4a79a184033eb0941c10dad90e517",
            "6dc7a849dd77bbb4a88220d34636ded1f7fb879c6d4e8a0bc74bc1ae99fe146f",
        ]),
        _benchmark("YAGO", f"{_RENET}/YAGO/", (161540, 19523, 20026), TimeAxis(TimeUnit.YEAR, "1830"), _YEARS, [
            "31f78c30627ffe143940a5dadf06562602944e58f1c766481e894a366561f7ec",
            "c99d9d520264a9f0f8ef5774436f0d3941fbb3637181b6f2ad0dd665da9d2bb2",
            "9b2c808c89f9045ddbc92983b84e88333fa1ce695abacd4f2531d47d9df5248a",
            "3a5482d19f80b3936ca735ea105db799f5c500b170c57f7a59f0ea2650231789",
            "83e460205fa11720980c814aa99d70b4ec42ff9571f7ce9915390e262fc8dc34",
            "49cf9bb1e0340938ab7da557e7c50168d05a8ecdf1207c9425cb1b041f903eed",
        ]),
        # The facts of ICEWS14 in another split, with other ids; its days are numbered from 1.
        _benchmark("ICEWS14-RE-GCN", f"{_CEN}/ICEWS14s/", (74845, 8514, 7371), _DAYS_2014,
                   TimeAxis(TimeUnit.INTEGER, 1, 1), [
            "228da10c44ae0a5babc439c76e063ee8094352da7270b299b0b0a6778cddd0f4",
            "b046fe729601246f0b52fceff371e7cb668b63669aee812ddf392cad4fcd8196",
            "1ce0a75fbdc1d1e041efe290f44948722327c65a9ea09a728060b2c34d3474bd",
            "0251b09f1c2e56cdc5506f9d7f83e7a88d5d54c3df25609ae8ce4edb7fb3e573",
            "32fcce0906d05205824f03e980981436a71a85feba72a817f5291e4afda9d04e",
        ]),
    )
}  # fmt: skip


def benchmark_named(name: str) -> Benchmark | None:
    """Return the benchmark with a name, in any capitalisation, or ``None``."""
    return BENCHMARKS.get(name.upper())


def identify(folder: Path) -> Benchmark | None:
    """Return the benchmark whose facts are in a folder, or ``None`` if they are others."""
    train = sha256_of(folder / "train.txt")
    for benchmark in BENCHMARKS.values():
        if benchmark.sha256["train.txt"] == train:
            same = all(sha256_of(folder / f) == benchmark.sha256[f] for f in ("valid.txt", "test.txt"))
            return benchmark if same else None
    return None
