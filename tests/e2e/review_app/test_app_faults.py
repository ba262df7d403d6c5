"""Faults of the machine while the review app serves: every vote that was acknowledged is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from injected_faults import VARIABLE
from live_app import serving
from load import Save, Shift, acknowledged, check_kept, in_background, signed_in, trouble
from vote_worlds import check_consistent, connected, lay_out

MATRIX = yaml.safe_load((Path(__file__).parents[1] / "faults" / "matrix.yaml").read_text(encoding="utf-8"))
PEOPLE, SAVES = 3, 12
LINES = [
    pytest.param(line, marks=pytest.mark.push if line["fault"] == "kill" else pytest.mark.full, id=line["fault"])
    for line in MATRIX["reviewed"]
]


@pytest.mark.parametrize("line", LINES)
def test_a_fault_loses_no_vote(line: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "votes"
    folder.mkdir()
    url = f"sqlite:///{folder / 'votes.sqlite'}"
    shifts = [
        Shift(annotator, [Save(number, 1, "submit") for number in range(1, SAVES + 1)])
        for annotator in lay_out(url, SAVES * PEOPLE // 2, PEOPLE)
    ]
    mark = tmp_path / "mark"
    fault = {"event": "send", "do": line["fault"], "nth": line["nth"], "mark": str(mark), "place": str(folder)}
    monkeypatch.setenv(VARIABLE, json.dumps(fault))
    with serving(url, tmp_path) as server, signed_in(shifts, server):
        in_background(shifts, 0).join()
        assert mark.exists(), "the fault did not come"
        browsers = "gone" if any(shift.to_do for shift in shifts) else "refused" if trouble(shifts) else "served"
        assert browsers == line["browsers"], trouble(shifts)
        assert all(": 5" in said for said in trouble(shifts)), trouble(shifts)
        server.kill()
        for file in [folder, *folder.iterdir()]:
            file.chmod(0o755)
        monkeypatch.delenv(VARIABLE)
        with connected(url) as connection:
            check_kept(connection, shifts)
        server.start()
        in_background(shifts, 0).join()
    assert acknowledged(shifts) == PEOPLE * SAVES - len(trouble(shifts))
    with connected(url) as connection:
        check_kept(connection, shifts)
    check_consistent(url)
