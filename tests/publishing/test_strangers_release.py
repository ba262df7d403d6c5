"""A release that somebody else made: nothing of it becomes a program, a setting or the name of a file elsewhere."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from built_sample import BuiltSample
from jinja2 import nodes

from benchbuilder.core import DataError
from benchbuilder.publishing import HARNESSES, ExportRequest, Release, export_benchmark
from benchbuilder.publishing.harnesses.templates_of import ENCODERS, environment, jinja_text
from benchbuilder.publishing.release.items import read_release
from benchbuilder.publishing.release.record import read_record

HOSTILE = '1.0.0\n"""\ndoc_to_text: "{{ cycler.__init__ }}"'
FREE = ("citation", "reason", "refusals", "note", "receipts")
"""Texts for people, which no program gets."""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts in a record, but for those that are free."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in FREE:
                yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    elif isinstance(value, str):
        yield path


def with_value(record: Any, path: tuple[Any, ...], value: str) -> Any:
    changed = json.loads(json.dumps(record))
    place = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return changed


@pytest.mark.push
def test_every_text_of_a_record_has_a_form(released: Release, tmp_path: Path) -> None:
    record = json.loads((released.folder / "release.json").read_text("utf-8"))
    places = list(leaves(record))
    assert len(places) > 30
    for path in places:
        changed = with_value(record, path, HOSTILE)
        (tmp_path / "release.json").write_text(json.dumps(changed), encoding="utf-8")
        for read in (read_record, read_release):
            with pytest.raises(DataError, match="holds no release") as caught:
                read(tmp_path)
            assert str(path[0]) in str(caught.value.why), path


@pytest.mark.push
@pytest.mark.parametrize("file", ["../secret.jsonl", "/etc/passwd", "data/../../secret", "..", "data\\..\\x", ""])
def test_a_record_names_files_of_its_own_folder_only(released: Release, tmp_path: Path, file: str) -> None:
    record = json.loads((released.folder / "release.json").read_text("utf-8"))
    record["configs"][0]["files"] = {"test": file}
    (tmp_path / "release.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(DataError, match="holds no release"):
        read_release(tmp_path)


@pytest.mark.push
@pytest.mark.parametrize("text", ["[" * 200_000, "null", "[]", "", "\x00", '{"name": 1e999}'])
def test_a_record_that_is_none_says_so(text: str, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="holds no release"):
        read_release(tmp_path)


@pytest.mark.push
def test_rows_of_a_stranger_stay_data_in_every_export(built: BuiltSample, released: Release, tmp_path: Path) -> None:
    """Texts with formulas, quotation marks and templates; sources are names of files, so they are refused."""
    folder = tmp_path / "release"
    record = json.loads((released.folder / "release.json").read_text("utf-8"))
    file = next(iter(record["configs"][0]["files"].values()))
    folder.mkdir()
    for path in released.folder.rglob("*"):
        if path.is_file():
            (folder / path.relative_to(released.folder)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(released.folder)).write_bytes(path.read_bytes())
    rows = [json.loads(line) for line in (folder / file).read_text("utf-8").split("\n") if line]
    evil = '=cmd|\' /C calc\'!A0 {{ cycler }} """ \n{% raw %}'
    rows[0] |= {"question": evil, "id": "-1+1"}
    (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    request = ExportRequest(built.loaded, tuple(HARNESSES), built.folder, folder, tmp_path / "exports")
    for export in export_benchmark(request):
        for path in export.files:
            if path.suffix == ".py":
                compile(path.read_text("utf-8"), str(path), "exec")
            elif path.suffix == ".yaml":
                settings = yaml.load(path.read_text("utf-8"), _Functions)
                assert "cycler" not in str(settings.get("doc_to_text"))
    data = tmp_path / "exports" / "plain" / "data"
    csv_rows = [row for path in data.glob("*.csv") for row in csv.DictReader(io.StringIO(path.read_text("utf-8")))]
    found = next(row for row in csv_rows if "cmd|" in row["question"])
    assert (found["question"], found["id"]) == ("'" + evil, "'-1+1")
    lines = "".join(path.read_text("utf-8") for path in data.glob("*.jsonl"))
    assert any(json.loads(line)["question"] == evil for line in lines.split("\n") if line)
    rows[0]["source"] = "x\ndoc_to_text: y"
    (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(DataError, match="cannot be a name"):
        export_benchmark(ExportRequest(built.loaded, ("lm_eval",), built.folder, folder, tmp_path / "more"))


class _Functions(yaml.SafeLoader):
    """YAML as lm-eval reads it: `!function` names a function."""


_Functions.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))  # type: ignore[arg-type]


def outputs() -> Iterator[tuple[str, nodes.Expr]]:
    """Every expression that a template of a harness prints."""
    source = environment()
    assert source.loader is not None
    for name in source.loader.list_templates():
        tree = source.parse(source.loader.get_source(source, name)[0])
        for output in tree.find_all(nodes.Output):
            yield from ((name, node) for node in output.nodes if not isinstance(node, nodes.TemplateData))


def test_every_value_of_every_template_goes_through_an_encoder() -> None:
    found = list(outputs())
    assert len(found) > 60
    allowed = {*ENCODERS, "int", "length"}
    raw = [f"{name}:{node.lineno}" for name, node in found
           if not isinstance(node, nodes.Filter) or node.name not in allowed]  # fmt: skip
    assert raw == []


def test_a_raw_value_makes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    made = environment()
    made.loader = jinja2.DictLoader({"raw": "{{ value }}", "encoded": "{{ value | yaml }}"})
    with pytest.raises(TypeError, match="no encoder has seen"):
        made.get_template("raw").render(value="1.0.0")
    assert made.get_template("encoded").render(value="1.0.0") == '"1.0.0"'


@pytest.mark.parametrize(
    "text", ["a: b\n- c", "\x85\u2028\ufeff", "# no", "&a *a !!x", "\ud800", "é中", "'\"\\", "yes", "1.0"]
)
def test_encoders_give_back_the_text(text: str) -> None:
    assert eval(ENCODERS["python"](text)) == text
    assert jinja2.Environment().from_string(jinja_text(f"{text}{{{{ x }}}}{{% raw %}}{{#")).render() == (
        f"{text}{{{{ x }}}}{{% raw %}}{{#"
    )
    if text != "\ud800":  # half a character is no text of YAML
        assert yaml.safe_load(f"key: {ENCODERS['yaml'](text)}\n") == {"key": text}
    assert "\n" not in ENCODERS["markdown"](text)


@pytest.mark.parametrize("text", ["", "a b", "a\n", "a;b", '"', "../a", "a/b", ".a"])
def test_a_name_is_plain_or_refused(text: str) -> None:
    with pytest.raises(DataError, match="cannot be a name"):
        ENCODERS["plain"](text)
