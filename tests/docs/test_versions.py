"""The version of the package, CITATION.cff, CHANGELOG.md and the release notes tell of the same versions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest
import yaml
from doc_blocks import ROOT
from packaging.version import Version

import benchbuilder

_HEADING = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)


@dataclass(frozen=True)
class VersionFiles:
    """The texts that name versions."""

    version: str
    citation: str
    changelog: str
    notes: str

    def disagreements(self) -> list[str]:
        """What does not agree; see *Cut a version* in CONTRIBUTING.md."""
        cited = yaml.safe_load(self.citation)
        dates: dict[str, str] = dict(_HEADING.findall(self.changelog))
        _, *parts = re.split(r"^(?=## \[)", self.changelog, flags=re.MULTILINE)
        open_entries = any(part.startswith("## [Unreleased]") and "\n- " in part for part in parts)
        released = [name for name in dates if name != "Unreleased"]
        wrong: list[str] = []
        if cited["version"] != self.version:
            wrong.append(f"CITATION.cff has {cited['version']}, the package {self.version}")
        if str(cited.get("date-released", "")) != dates.get(self.version, ""):
            wrong.append("the date in CITATION.cff is not that of the changelog")
        if open_entries == (self.version in dates):
            wrong.append("unreleased entries belong to a version that is not released yet")
        if released != sorted(released, key=Version, reverse=True) or not all(dates[name] for name in released):
            wrong.append("released versions have dates, the newest first")
        if any(Version(name) > Version(self.version) for name in released):
            wrong.append("the package is older than the changelog")
        for name in {*released, self.version}:
            if f"**{name}**" not in self.notes:
                wrong.append(f"{name} has no release note")
        return wrong


HERE = VersionFiles(
    benchbuilder.__version__,
    (ROOT / "CITATION.cff").read_text("utf-8"),
    (ROOT / "CHANGELOG.md").read_text("utf-8"),
    (ROOT / "docs/reference/changelog.md").read_text("utf-8"),
)
CUT = VersionFiles(
    "0.2.0",
    "version: 0.2.0\ndate-released: '2026-12-01'",
    "# Changelog\n\n## [0.2.0] - 2026-12-01\n\n- Add b.\n\n## [0.1.0] - 2026-11-30\n\n- Add a.\n",
    "**0.2.0** adds b. **0.1.0** adds a.",
)
BEGUN = replace(
    CUT, version="0.3.0", citation="version: 0.3.0", changelog="## [Unreleased]\n\n- Add c.\n\n" + CUT.changelog,
    notes="**0.3.0** adds c. " + CUT.notes,
)  # fmt: skip


def test_the_files_agree() -> None:
    assert HERE.disagreements() == []


def test_a_version_that_was_cut_and_the_next_one_agree() -> None:
    assert CUT.disagreements() == BEGUN.disagreements() == []


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        (replace(CUT, version="0.2.1"), "CITATION.cff has 0.2.0, the package 0.2.1"),
        (replace(CUT, citation="version: 0.2.0"), "the date in CITATION.cff is not that of the changelog"),
        (replace(BEGUN, version="0.2.0", citation=CUT.citation), "a version that is not released yet"),
        (replace(CUT, changelog=CUT.changelog.replace("0.1.0", "0.3.0")), "the newest first"),
        (replace(CUT, notes="**0.2.0** adds b."), "0.1.0 has no release note"),
    ],
)
def test_a_step_that_was_forgotten_is_named(files: VersionFiles, wrong: str) -> None:
    assert any(wrong in text for text in files.disagreements())
