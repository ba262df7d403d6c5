"""A release that somebody else made: nothing of it becomes a program, a setting or the name of a file elsewhere."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from built_sample import BuiltSample
from jinja2 import nodes

from benchbuilder.api.exporting_site import export_site
from benchbuilder.core import DataError, StoreError
from benchbuilder.publishing import HARNESSES, ExportRequest, Release, export_benchmark
from benchbuilder.publishing.harnesses.templates_of import ENCODERS, environment, jinja_text
from benchbuilder.publishing.release.items import read_release
from benchbuilder.publishing.release.record import read_record
from benchbuilder.publishing.release.upload import plan_upload

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
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"type": "../" * 14 + "tmp/answers"}, "its type is not"),
        ({"question": {"a": 1}}, "question is no text"),
        ({"question": "\ud800"}, "surrogates not allowed"),
        ({"id": ""}, "it has no id"),
        ({"evidence": 5}, "evidence is no list"),
        ({"expected": "maybe"}, "neither yes nor no"),
        ({"tags": [float("nan")]}, "not JSON compliant"),
        (None, "the row is not an object"),
    ],
)
def test_a_row_of_another_form_is_refused_with_its_place(
    released: Release, tmp_path: Path, change: dict[str, Any] | None, fault: str
) -> None:
    folder = shutil.copytree(released.folder, tmp_path / "1.0.0")
    file = next(folder.glob("tf/test.jsonl"))
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rows[1] = None if change is None else rows[1] | change
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(DataError, match="holds no release") as caught:
        read_release(folder)
    assert f"tf/test.jsonl:2: {caught.value.why.split(': ', 1)[1]}" == caught.value.why
    assert fault in caught.value.why


@pytest.mark.push
def test_a_row_that_stands_twice_is_refused(released: Release, tmp_path: Path) -> None:
    folder = shutil.copytree(released.folder, tmp_path / "1.0.0")
    file = next(folder.glob("tf/test.jsonl"))
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines, lines[0]]), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_release(folder)
    assert "that of another row" in caught.value.why


@pytest.mark.push
@pytest.mark.parametrize("name", ["README.md", "tf/test.jsonl", "SHA256SUMS", "CHANGES.md"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_leads_out_of_a_release_or_never_ends_is_refused(
    released: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = Path(shutil.copytree(released.folder, tmp_path / "here" / "1.0.0"))
    (tmp_path / "secret").write_text("SECRET", encoding="utf-8")
    (folder / name).unlink(missing_ok=True)
    if kind == "link":
        (folder / name).symlink_to(tmp_path / "secret")
    else:
        os.mkfifo(folder / name)
    with pytest.raises(StoreError) as caught:
        export_site(folder, tmp_path / "site")
    assert name in str(caught.value)
    assert ("is a link that leads out" if kind == "link" else "is a pipe") in str(caught.value)
    with pytest.raises(StoreError):
        plan_upload(folder, "a/b")


@pytest.mark.push
@pytest.mark.parametrize("line", [b"x", b"\xff\xfe  x", b"0" * 64 + b"  ../../etc/hostname"])
def test_checksums_are_of_files_of_the_release(released: Release, tmp_path: Path, line: bytes) -> None:
    folder = Path(shutil.copytree(released.folder, tmp_path / "1.0.0"))
    with (folder / "SHA256SUMS").open("ab") as sums:
        sums.write(line + b"\n")
    with pytest.raises(DataError, match="holds no whole release"):
        plan_upload(folder, "a/b")


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
