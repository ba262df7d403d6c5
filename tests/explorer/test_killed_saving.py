"""A server that is killed while it saves rules leaves the old file or the new one, and the draft until it is saved."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from injected_faults import VARIABLE
from once import BUILT, Once
from own_rules import write_own_recipe, write_recipe_with_bundled_rules
from patience import patience

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes"),
]
STEP = "b/own/work/state_choice"
SERVER = """
from injected_faults import arm
from benchbuilder.cli.dispatch import main

if __name__ == "__main__":
    arm()
    raise SystemExit(main(["view", "recipe=own", "--no-browser"]))
"""
DRAFT, RULES, RECIPE = "*/workbench/*.json", "*/recipes/rules/*.yaml", "*/recipes/recipe/own.yaml"
MATRIX = Path(__file__).parents[1] / "e2e" / "faults" / "matrix.yaml"
MOMENTS: list[dict[str, Any]] = yaml.safe_load(MATRIX.read_text(encoding="utf-8"))["saved_rules"]
BEFORE, AFTER = "  seams: [是, 为, 的,", "  seams: [是, 的,"


class Visitor:
    """A browser without a script, at a server of its own."""

    def __init__(self, entrance: str) -> None:
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
        self._site, self._query = entrance.partition("enter/")[0], ""
        self._open(entrance, timeout=patience()).read()

    def page(self) -> str:
        page = self._open(f"{self._site}{STEP}", timeout=patience()).read().decode()
        (self._query,) = re.findall(rf'"/{STEP}/try(\?[^"]+)"', page)[:1]
        return page

    def text(self) -> str:
        (text,) = re.findall(r"<textarea[^>]*>\n?(.*?)</textarea>", self.page(), re.DOTALL)[:1]
        return unescape(text)

    def post(self, part: str, **fields: str) -> str:
        request = urllib.request.Request(
            f"{self._site}{STEP}/{part}{unescape(self._query)}", urlencode(fields).encode()
        )
        return self._open(request, timeout=patience()).read().decode()

    def save(self, text: str) -> None:
        (shown,) = re.findall(r'name="shown" value="(\w+)"', self.post("difference", text=text))[:1]
        self.post("save", shown=shown)


class Bench:
    """The folder of an author, whose server a fault may kill."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, folder.with_name("mark")

    @contextmanager
    def served(self, fault: dict[str, Any] | None = None) -> Iterator[Visitor]:
        environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "support")}
        if fault is not None:
            said = {"do": "kill", "mark": str(self.mark), "place": str(self.folder), **fault}
            environ[VARIABLE] = json.dumps(said)
        server = subprocess.Popen([sys.executable, "-c", SERVER], cwd=self.folder, env=environ, text=True,
                                  stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip
        assert server.stdout is not None
        try:
            entrance = re.search(r"http://\S+/enter/\S+", server.stdout.readline())
            assert entrance is not None
            yield Visitor(entrance[0])
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.communicate(timeout=patience())


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment["title"])
def test_rules_are_the_old_or_the_new_ones(once: Once, tmp_path: Path, moment: dict[str, Any]) -> None:
    bench = Bench(tmp_path / "here")
    rules = write_own_recipe(bench.folder)
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", bench.folder / "builds" / "own")
    old = rules.read_text("utf-8")
    assert BEFORE in old
    new = old.replace(BEFORE, AFTER, 1)
    with bench.served({name: moment[name] for name in moment.keys() - {"title", "left"}}) as author:
        author.page()
        with pytest.raises((OSError, HTTPException)):
            author.save(new)
    assert bench.mark.exists()
    assert rules.read_text("utf-8") == (new if moment["left"] == "new" else old)
    with bench.served() as author:
        assert author.text() == new, "the draft is there when one comes back"
        if rules.read_text("utf-8") == old:
            author.save(new)
    assert rules.read_text("utf-8") == new


@pytest.mark.parametrize("fault", [
    {"event": "open", "path": f"{DRAFT}*", "nth": 3}, {"event": "open", "path": f"{DRAFT}*", "nth": 4},
    {"event": "rename", "path": DRAFT, "nth": 2},
])  # fmt: skip
def test_a_draft_is_the_one_before_or_the_new_one(once: Once, tmp_path: Path, fault: dict[str, Any]) -> None:
    bench = Bench(tmp_path / "here")
    rules = write_own_recipe(bench.folder)
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", bench.folder / "builds" / "own")
    old = rules.read_text("utf-8")
    first, second = old.replace(BEFORE, AFTER, 1), old.replace(BEFORE, "  seams: [是,", 1)
    with bench.served(fault) as author:
        author.page()
        author.post("difference", text=first)
        with pytest.raises((OSError, HTTPException)):
            author.post("difference", text=second)
    assert bench.mark.exists()
    assert rules.read_text("utf-8") == old
    with bench.served() as author:
        assert author.text() == first


@pytest.mark.parametrize("fault", [
    {"event": "rename", "path": RULES}, {"event": "rename", "path": RECIPE},
    {"event": "read", "path": "*/recipes/recipe"},
])  # fmt: skip
def test_a_first_copy_of_bundled_rules_is_made_or_not(once: Once, tmp_path: Path, fault: dict[str, Any]) -> None:
    """The copy is written before the recipe chooses it: until then, the recipe uses the bundled rules."""
    bench = Bench(tmp_path / "here")
    write_recipe_with_bundled_rules(bench.folder)
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", bench.folder / "builds" / "own")
    recipe, copies = bench.folder / "recipes" / "recipe" / "own.yaml", bench.folder / "recipes" / "rules"
    old = recipe.read_text("utf-8")
    with bench.served(fault) as author:
        new = author.text().replace(BEFORE, AFTER, 1)
        assert AFTER in new
        with pytest.raises((OSError, HTTPException)):
            author.save(new)
    assert bench.mark.exists()
    written = [path.read_text("utf-8") for path in copies.glob("*.yaml")]
    assert written == ([] if fault["path"] == RULES else [new])
    assert (recipe.read_text("utf-8") == old) == (fault["event"] == "rename")
    with bench.served() as author:
        assert author.text() == new, "the draft is there when one comes back"
        if recipe.read_text("utf-8") == old:
            author.save(new)
    assert [path.read_text("utf-8") for path in copies.glob("*.yaml")] == [new]
    assert recipe.read_text("utf-8") != old
