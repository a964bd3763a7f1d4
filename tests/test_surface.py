"""The public names of the package, and the packages it needs."""

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import pytest

import titer
from titer import errors
from titer.graph.history import DERIVED

SOURCE = Path(titer.__file__).parents[1]
ROOT = SOURCE.parent

# Absent on a machine that only trains: training, evaluation and forecasting must work without them.
ABSENT = (
    "pooch",
    "platformdirs",
    "pydantic",
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "psycopg",
    "optuna",
    "mlflow",
    "wandb",
    "ray",
    "pandas",
    "sklearn",
)

# Types of other packages in annotations, which titer imports only when they are used.
OTHER_NAMES = {"pa": SimpleNamespace(Table=object, RecordBatch=object), "pd": SimpleNamespace(DataFrame=object)}


def type_checking_names() -> dict[str, str]:
    """Return what the block for type checkers imports: name to module."""
    tree = ast.parse(Path(titer.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def test_type_checkers_see_the_names_that_exist_at_run_time():
    assert type_checking_names() == titer._MODULES
    assert [*titer._MODULES, "__version__"] == titer.__all__
    assert set(dir(titer)) == set(titer.__all__)


def test_no_name_is_listed_twice():
    assert len(set(titer.__all__)) == len(titer.__all__)


def test_a_public_name_belongs_to_the_module_it_is_listed_with():
    for name, module in titer._MODULES.items():
        assert getattr(titer, name).__module__ == module, name


def test_every_error_is_public():
    found = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert found <= set(titer.__all__)


def test_a_wrong_name_is_an_attribute_error():
    assert not hasattr(titer, "Titer")


def members(value: type) -> dict[str, Any]:
    """Return what a class defines, and what it inherits from classes of titer that are not public themselves."""
    classes = [base for base in value.__mro__ if base.__module__.partition(".")[0] == "titer"]
    private = [base for base in classes if base is not value and base.__name__ not in titer.__all__]
    return {name: defined for base in (*reversed(private), value) for name, defined in vars(base).items()}


def documented(name: str) -> Iterator[tuple[str, Callable]]:
    """Yield the functions that a public name brings: itself, or its constructor and its public methods."""
    value = getattr(titer, name)
    if not inspect.isclass(value):
        yield name, value
        return
    if issubclass(value, Enum | Exception):
        return
    if "__init__" in members(value) and not is_dataclass(value):
        yield f"{name}.__init__", value
    for member, defined in members(value).items():
        method = getattr(defined, "__func__", defined)
        if not member.startswith("_") and inspect.isfunction(method):
            yield f"{name}.{member}", method


def undocumented(label: str, function: Callable) -> Iterator[str]:
    """Yield what the docstring of a function lacks: a first sentence, the description of an argument, or the result."""
    text = inspect.getdoc(function) or ""
    if inspect.isclass(function):
        text += inspect.getdoc(function.__init__) or ""  # the arguments are described in either place
    if not text:
        yield f"{label} has no docstring"
        return
    signature = inspect.signature(function)
    arguments = text.partition("Args:")[2]
    for parameter in signature.parameters.values():
        if parameter.name not in ("self", "cls") and not re.search(
            rf"^ +\**{parameter.name}\b.*:", arguments, re.MULTILINE
        ):
            yield f"{label}: argument {parameter.name}"
    gives = not inspect.isclass(function) and signature.return_annotation not in (None, "None", signature.empty)
    # A summary that says what is returned needs no section to repeat it.
    said = re.match("(Return|Yield) ", text) or re.search(r"^(Returns|Yields):$", text, re.MULTILINE)
    if gives and len(signature.parameters) > 1 and not said:
        yield f"{label}: returns"


@pytest.mark.parametrize("name", [name for name in titer.__all__ if name != "__version__"])
def test_a_public_name_is_documented(name: str):
    assert (getattr(titer, name).__doc__ or "").strip(), name
    missing = [problem for label, function in documented(name) for problem in undocumented(label, function)]
    assert missing == []


def mentioned(annotation: Any) -> Iterator[type]:
    """Yield the classes of titer that a type annotation contains."""
    if inspect.isclass(annotation) and annotation.__module__.partition(".")[0] == "titer":
        yield annotation
    for part in get_args(annotation):
        yield from mentioned(part)


def annotated(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the functions, methods, properties and fields of a public name that have annotations."""
    value = getattr(titer, name)
    if not inspect.isclass(value):
        yield name, value
        return
    yield f"{name} (fields)", value
    for member, defined in members(value).items():
        # The indexes derived from a history are details of the models of titer.
        if (not member.startswith("_") or member == "__init__") and member not in DERIVED:
            function = getattr(defined, "fget", None) or getattr(defined, "func", None)
            function = function or getattr(defined, "__func__", defined)
            if inspect.isfunction(function):
                yield f"{name}.{member}", function


@pytest.mark.parametrize("name", [name for name in titer.__all__ if name != "__version__"])
def test_every_type_that_a_public_name_takes_or_returns_is_public(name: str):
    # Names that are imported for type checkers only are looked up among the public ones.
    names = {public: getattr(titer, public) for public in titer.__all__} | OTHER_NAMES
    private = {
        f"{label}: {found.__name__}"
        for label, value in annotated(name)
        for key, hint in get_type_hints(value, localns=names).items()
        if not key.startswith("_")
        for found in mentioned(hint)
        if found.__name__ not in titer.__all__
    }
    assert private == set()


def documents() -> list[str]:
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb"), *ROOT.glob("*/*.ipynb")]
    return sorted({str(path.relative_to(ROOT)) for path in found})


def code_of(document: Path) -> str:
    text = document.read_text(encoding="utf-8")
    if document.suffix == ".ipynb":
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


@pytest.mark.parametrize("document", documents())
def test_documents_import_from_titer_itself(document: str):
    code = code_of(ROOT / document)
    # titer.ray is public too, and apart from the rest since it is for an engine that few users have.
    assert re.findall(r"^ *(?:from|import) titer\.(?!ray import)[\w.]+.*$", code, re.MULTILINE) == []
    for names in re.findall(r"^ *from titer import (\([^)]*\)|.*)$", code, re.MULTILINE):
        imported = [name.split(" as ")[0].strip() for name in names.partition("#")[0].strip("()").split(",")]
        assert [name for name in imported if name and name not in titer.__all__] == []
    for name in re.findall(r"\btiter\.([A-Za-z]\w*)\(", code):
        assert name in titer.__all__


def test_importing_titer_does_not_import_torch():
    code = "import sys, titer; print(any(name in sys.modules for name in ('torch', 'numpy', 'pyarrow')))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_the_version_has_one_source():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "titer.version.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", titer.__version__)
    written = [path for path in SOURCE.rglob("*.py") if f'"{titer.__version__}"' in path.read_text(encoding="utf-8")]
    assert [path.name for path in written] == ["version.py"]


def test_the_versions_of_python_in_the_classifiers_are_those_that_ci_tests():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"^ +python: (\[.*\])$", workflow, re.MULTILINE)
    assert matrix is not None
    assert json.loads(matrix[1]) == named
    assert project["requires-python"] == f">={named[0]}"


@pytest.mark.slow
def test_training_and_evaluation_run_from_source_without_optional_packages(tmp_path: Path):
    blocked = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ImportError(name + " is not here")
sys.meta_path.insert(0, Blocker())
sys.path.insert(0, {str(SOURCE)!r})
import titer
from titer.cli.main import app
run = {str(tmp_path / "run")!r}
for words in (
    ["train", "small-world", "--model", "recurrency", "--out", run],
    ["evaluate", run],
    ["forecast", run, "Aldoria", "accuse"],
    ["data", "info", "small-world"],
):
    app(words, standalone_mode=False)
titer.train("small-world", "recurrency").ask("Aldoria", "accuse")
try:
    titer.FactStore
except titer.MissingPackageError as error:
    assert "pip install 'titer[serve]'" in str(error)
else:
    raise AssertionError("sqlalchemy was blocked")
"""
    result = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def packages_of(extra: str) -> list[str]:
    """Return the modules that an extra brings, by the names under which they are imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.match(r"[\w-]+", requirement) for requirement in project["optional-dependencies"][extra])
    return [match[0].replace("-", "_") for match in found if match is not None]


@pytest.mark.parametrize("package", packages_of("serve"))
def test_the_service_names_its_extra_if_a_package_is_missing(package: str, monkeypatch: pytest.MonkeyPatch):
    for module in [name for name in sys.modules if re.match(r"titer\.service\b", name)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingPackageError, match=r"pip install 'titer\[serve\]'"):
        import_module("titer.service")
