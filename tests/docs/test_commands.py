"""Every command block of the documentation runs, in order, one shell a page, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from doc_blocks import ROOT, blocks, pages, script
from once import BUILT, EVALUATED, JUDGED, Once
from patience import patience
from step_pool import POOL, give

_SKIPPED_AT_MOST = 12  # servers that do not end, accounts, weights and real data
_ELSEWHERE = ("run-on-a-cluster.md",)
"""Pages whose commands run where their plugin is installed: tests/plugins."""
PAGES = [page for page in pages() if page.name not in _ELSEWHERE and any(not block.skipped for block in blocks(page))]


REAL = "first-benchmark.md"
"""The page whose builds make every step themselves in tier `push` too."""
EARLY = (
    "bring-a-benchmark-into-another-language.md",
    "complete-words-in-a-shell.md",
    "from-triples.md",
    "how-good-are-my-labels.md",
    "how-to-cite.md",
    "labelled-claims.md",
    "make-a-word-list.md",
    "procedures.md",
    "use-the-real-sources.md",
    "what-happens-on-interruption.md",
    "write-rules-beside-rows.md",
    "your-file.md",
)
"""Pages that are in `push` too, with steps that others made. All are in `full`, and in `push` if they changed."""


def _begins_with(page: Path) -> tuple[str, ...]:
    """What need not be done anew on a page, since others do the same; the README does it all."""
    lines = [line for block in blocks(page) if not block.skipped for line in block.text.splitlines()]
    built = next((line for line in lines if line.startswith("benchbuild recipe=")), "")
    if page.name == "README.md" or built != "benchbuild recipe=care_mi":
        return ()
    if "benchbuild judge train recipe=care_mi" in lines:
        return JUDGED
    return EVALUATED if any(line.startswith("benchbuild evaluate ") for line in lines) else BUILT


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def run_page(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Run the commands of a page in an empty folder."""

    def run(page: Path, **more: str) -> None:
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir()
        work.mkdir()
        if begins := _begins_with(page):
            once: Once = request.getfixturevalue("once")
            once.copied(begins, work)
        folders = [Path(sys.executable).parent, os.environ["PATH"]]
        if page.name != "write-a-plugin.md":  # there it is the one that users have, which finds plugins
            folders.insert(0, request.getfixturevalue("warm_folder"))
        paths = os.pathsep.join(map(str, folders))
        environment = {"PATH": paths, "HOME": str(home), "LANG": "C.UTF-8", "PYTHONUTF8": "1"} | more
        environment |= {name: value for name, value in os.environ.items() if name.endswith(("_NUM_THREADS", "_CACHE"))}
        done = subprocess.run(
            ["bash", "-c", script(list(blocks(page)), page)], stdin=subprocess.DEVNULL,
            cwd=work, env=environment, capture_output=True, text=True, timeout=patience(1_200), check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stderr}\n--- output\n{done.stdout[-3000:]}"

    return run


@pytest.fixture(scope="session")
def pool(once: Once) -> Path:
    """Steps of the builds that pages begin with, and what pages add to them."""
    folder = once.folder / "pool"
    give(once.after(EVALUATED), folder)
    return folder


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.push if page.name == REAL else pytest.mark.full) for page in PAGES],
    ids=_name,
)
def test_the_commands_of_a_page_run(page: Path, run_page: Callable[..., None]) -> None:
    run_page(page)


@pytest.mark.push
@pytest.mark.parametrize("page", [page for page in PAGES if page.name in EARLY], ids=_name)
def test_the_commands_of_a_page_run_with_steps_that_others_made(
    page: Path, run_page: Callable[..., None], pool: Path
) -> None:
    run_page(page, **{POOL: str(pool)})


def test_the_pages_of_each_tier_are_there() -> None:
    assert {REAL, *EARLY} <= {page.name for page in PAGES}


def test_few_blocks_are_left_out() -> None:
    left_out = [
        f"{page.name}:{block.line}" for page in pages() for block in blocks(page) if block.skipped and not block.command
    ]
    assert len(left_out) <= _SKIPPED_AT_MOST, left_out


def test_the_readme_has_the_two_commands() -> None:
    """`.ci/run` finds the command of the tests by its marker."""
    commands = {block.command: block.text for block in blocks(ROOT / "README.md") if block.command}
    assert set(commands) == {"build", "tests"}
    assert "benchbuild recipe=care_mi" in commands["build"]
    program = (ROOT / ".ci" / "run").read_text(encoding="utf-8").partition("awk '")[2].partition("'")[0]
    found = subprocess.run(
        ["awk", program, str(ROOT / "README.md")], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert found.stdout == commands["tests"]
