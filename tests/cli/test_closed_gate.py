"""A build whose audit closes the gate says so below the count of items; the audit is the one next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.cli.dispatch import main


@pytest.mark.push
def test_a_closed_gate_is_said_before_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"{first}{last}" for first in ("Bar", "Dol", "Fen", "Gil", "Hum", "Jor", "Kam", "Lus", "Mod", "Nir")
             for last in ("ax", "bel", "con", "din", "eth", "fol", "gin", "hal", "ith", "jun")]  # fmt: skip
    rows = [
        f"{name} is a plant that {'always heals' if n % 2 else 'grows in'} {name[::-1].lower()} "
        f"{'for sure' if n % 2 else 'valleys'}.,{'false' if n % 2 else 'true'}"
        for n, name in enumerate(names)
    ]
    Path("plants.csv").write_text("claim,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["new", "plants", "--data", "plants.csv"]) == 0
    capsys.readouterr()
    main(["build", "recipe=plants"])
    said = capsys.readouterr().out.split(" items in ")[1].splitlines()
    assert said[1].startswith("not ready: the audit closes the gate of the benchmark")
    assert [line for line in said if line.startswith("next:")] == said[-1:]
    assert said[-1].startswith("next: benchbuild audit recipe=plants ")
    assert main(said[-1].removeprefix("next: benchbuild ").split("   ")[0].split()) == 6
    assert "leak" in capsys.readouterr().out
