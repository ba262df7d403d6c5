"""The page about the tests: their tiers, and what became of the last run of all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reference_pages.reading import table

_LAST = Path(__file__).parents[2] / "tests" / "full.json"
_TIERS = (
    (
        "`quick`",
        "none",
        "tests that cost at most 0.5 s of processor each; a run names those that cost more",
        "the second command of the README",
    ),
    (
        "`push`",
        "`@pytest.mark.push`",
        "one path through each job: recipes and their results, commands of the documentation, faults, pages",
        "`.ci/run`, after `quick`",
    ),
    (
        "`full`",
        "`@pytest.mark.full`",
        "every moment of every fault, PostgreSQL, training, harnesses, clusters, wheels, accessibility",
        "`tests/full`, with all others, before a version is cut",
    ),
)
_PARTS = """`.ci/run` also runs the tests of `full` that guard a part of the program in which a file changed since the
last whole run; its log names the file."""


def tests_page() -> str:
    """The tiers, and the result in `tests/full.json`."""
    parts = [
        "# Tests, and their last whole run",
        "Tests are in three tiers:",
        table(("tier", "marker", "what it holds", "who runs it"), _TIERS),
        _PARTS,
        "## The last whole run",
    ]
    return "\n\n".join([*parts, *(_result() if _LAST.exists() else ["None is recorded."])])


def _result() -> list[str]:
    last: dict[str, Any] = json.loads(_LAST.read_text(encoding="utf-8"))
    outcomes = ("passed", "failed", "skipped")
    rows = [(f"`{tier}`", *(str(counts.get(name, 0)) for name in outcomes)) for tier, counts in last["counts"].items()]
    parts = [
        f"{last['date']}, commit `{last['commit'][:8]}`, {last['minutes']:.0f} minutes:",
        table(("tier", *outcomes), rows),
    ]
    if later := last.get("guarded"):
        when = f"{later['date']}, commit `{later['commit'][:8]}`"
        parts.append(f"`.ci/run` has tested what changed until {when}: green.")
    if last["failed"]:
        parts += ["These failed:", "\n".join(f"- `{name}`" for name in last["failed"])]
    return parts
