"""The house keeps its shape: rooms with faces, names that occur once, files and functions of a size that one reads."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "benchbuilder"
ROOMS = [
    "annotation",
    "api",
    "authoring",
    "cli",
    "config",
    "core",
    "evaluation",
    "explorer",
    "exporters",
    "models",
    "pipeline",
    "publishing",
    "retrieval",
    "sources",
    "steps",
    "testing",
    "web",
]
TWICE: dict[str, str] = {}
"""Class names that may occur in more than one file, each with its reason; at most five."""
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 800, 80
"""Guards against accidents only: a function is as long as its thought; tighter limits made many hops of one thought."""
MODULES_OF_PLUGINS = 15
"""How many modules of benchbuilder all plugins together may import."""
OWN_OPENER = {
    "the openers themselves": "core/special_files.py core/parquet_files.py",
    "files of this package or of an installed one": """
        authoring/clone/plugin_skeleton.py authoring/starter/language_table.py
        authoring/starter/sample.py:table_words cli/completed_words.py
        config/composition_cache.py core/text/languages.py core/text/page_texts.py:_bundled core/text/plurals.py
        core/text/punctuation.py explorer/site/write_site.py pipeline/other_language.py
        publishing/harnesses/reader_source.py publishing/release/scorecard/scorecard.py
        retrieval/tokenizers/jieba_data.py steps/swapping/spec.py web/serving.py""",
    "files of the system": """
        explorer/reading/build_summaries.py models/gateway/process_owner.py pipeline/memory.py""",
    "a log, opened with flags of its own": "cli/repeat.py",
    "files that the same process wrote": """
        exporters/shuffled_rows.py models/gateway/salvage.py pipeline/shards/worker.py sources/columnar/id_names.py
        retrieval/retrievers/bm25_build.py retrieval/retrievers/token_slices.py sources/record_source.py
        steps/language/known_triples.py""",
    "files that a library maps, looked at before": "sources/huggingface.py:_arrow_rows",
    "parts of a build or of a judge, which are compared with their checksums": """
        evaluation/audit/kept_measures.py:__post_init__ evaluation/judge_training/storage.py:read_predictions
        pipeline/shards/files.py sources/items.py:read""",
    "arrays whose header and checksums were read before": "retrieval/retrievers/array_cache.py:_load",
    "streams that a caller opened": """
        annotation/sheets/workbook.py annotation/sheets/workbook_support.py api/opened_build.py
        sources/formats/epub.py:__init__""",
    "for authors of plugins: files of their tests": """
        testing/exporters.py testing/fake_openai/replies.py testing/fake_openai/server.py""",
}
"""Files, or functions of files, that read otherwise than with `open_given_file` and what is made of it, by reason."""
FILE_READERS = {
    *("ZipFile", "OSFile", "memory_map", "load_workbook", "read_csv", "fdopen", "from_file"),
    *("ParquetFile", "read_table", "read_schema", "read_metadata", "read_parquet"),
}
OPENERS = {"bz2", "codecs", "gzip", "io", "lzma", "os", "tarfile", "tokenize"}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def code() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "bundled" not in path.parts)


def code_of_plugins() -> list[Path]:
    return sorted((ROOT / "plugins").glob("*/benchbuilder_*/**/*.py"))


def face(room: str) -> ModuleType:
    return importlib.import_module(f"benchbuilder.{room}")


def test_every_module_is_in_one_of_seventeen_rooms() -> None:
    assert sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")) == ROOMS
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_says_in_one_sentence_what_the_room_is_for(room: str) -> None:
    sentence = (face(room).__doc__ or "").strip().splitlines()[0]
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert len(sentence.split()) <= 25


@pytest.mark.parametrize("room", ROOMS)
def test_each_name_of_a_face_is_there_and_hides_no_module(room: str) -> None:
    package = face(room)
    names: list[str] = package.__all__
    assert names
    assert len(names) == len(set(names))
    assert [name for name in names if isinstance(getattr(package, name), ModuleType)] == []
    modules = {path.stem for path in (PACKAGE / room).iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(names) & modules == set()


@pytest.mark.push
def test_a_class_name_occurs_once() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in (*code(), *code_of_plugins()):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    again = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in again.items() if name not in TWICE} == {}
    assert set(TWICE) <= set(again), "an exception that nothing needs"
    assert len(TWICE) <= 5


def test_files_have_a_size_that_one_reads() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in code()}
    assert {name: size for name, size in sizes.items() if size > LINES_OF_A_FILE} == {}


@pytest.mark.push
def test_functions_have_a_size_that_one_reads() -> None:
    sizes = {
        f"{path.relative_to(ROOT)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in code()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > LINES_OF_A_FUNCTION} == {}


def test_plugins_import_few_modules_of_the_program() -> None:
    modules: set[str] = set()
    for path in code_of_plugins():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchbuilder."):
                modules.add(node.module or "")
            elif isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names if alias.name.startswith("benchbuilder.")}
    assert 0 < len(modules) <= MODULES_OF_PLUGINS


def test_scripts_beside_the_program_import_names_that_it_has() -> None:
    gone = []
    for path in (*(ROOT / "performance").glob("*.py"), *(ROOT / "docs").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "benchbuilder":
                module = importlib.import_module(node.module or "")
                names = {*dir(module), *(found.name for found in pkgutil.iter_modules(getattr(module, "__path__", ())))}
                gone += [f"{path.name}: {name.name}" for name in node.names if name.name not in names]
    assert gone == []


def test_a_test_file_has_a_name_of_its_own() -> None:
    """Pytest imports test files by their names alone."""
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "plugins").glob("*/tests/**/test_*.py")]
    assert [name for name, count in Counter(file.name for file in files).items() if count > 1] == []


def reads_a_file(call: ast.Call) -> bool:
    """Whether a call opens a file to read it, as far as its words tell: writers name a mode or a flag that writes."""
    function, text = call.func, ast.unparse(call)
    if re.search("'[wax][bt+]*'|O_WRONLY|O_RDWR", text):
        return False
    if isinstance(function, ast.Name):
        return function.id in ("open", *FILE_READERS)
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr != "open":
        return function.attr in ("read_text", "read_bytes", *FILE_READERS)
    if isinstance(function.value, ast.Name) and function.value.id in OPENERS:
        return True
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    return any(isinstance(mode, str) for mode in modes) or any(k.arg in ("encoding", "mode") for k in call.keywords)


def places_that_read(path: Path) -> set[str]:
    """`path`, and ``path:function`` for each function, in which a file is opened to be read."""
    name, found = path.relative_to(PACKAGE).as_posix(), set[str]()

    def look(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and reads_a_file(child):
                found.add(f"{name}:{function}")
            look(child, child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function)

    look(parsed(path), "")
    return found


@pytest.mark.parametrize(("line", "reads"), [
    ("path.read_text(encoding='utf-8')", True), ("path.open('rb')", True), ("path.open(encoding='utf-8')", True),
    ("open(path)", True), ("gzip.open(path)", True), ("os.open(path, os.O_RDONLY)", True), ("ZipFile(path)", True),
    ("pq.read_table(path)", True),
    ("path.open('wb')", False), ("os.open(path, os.O_WRONLY)", False), ("tokenizer.open()", False),
    ("step.open(lookups)", False), ("read_given_text(path)", False),
])  # fmt: skip
def test_a_reader_is_known_by_its_words(line: str, reads: bool) -> None:
    (statement,) = ast.parse(line).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    assert reads_a_file(statement.value) == reads


@pytest.mark.push
def test_files_that_somebody_gave_have_one_opener() -> None:
    """`open_given_file` refuses pipes and devices, and what is too large to be held."""
    allowed = {place for places in OWN_OPENER.values() for place in places.split()}
    found = {place for path in code() for place in places_that_read(path)}
    others = {place for place in found if not {place, place.partition(":")[0]} & allowed}
    assert others == set(), "read it with open_given_file, read_given_file, read_given_text, read_json or GivenParquet"
    files = {place.partition(":")[0] for place in found}
    assert allowed <= found | files, "an exception that nothing needs"


def test_every_group_of_recipes_is_in_the_wheel() -> None:
    """A group that the installation lacks makes a checkout another set of recipes, which nobody vouches for."""
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    packed = {Path(place).parts[1] for place in targets["wheel"]["force-include"] if place.startswith("recipes/")}
    assert {path.name for path in (ROOT / "recipes").iterdir() if not path.name.startswith(".")} == packed
