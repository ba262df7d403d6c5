"""Comparing candidates over the rows of a step, and people's verdicts on what they wrote."""

from __future__ import annotations

import csv
import io
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from writing_server import SECRET, FakeOpenAI, words, writing

from benchbuilder.cli.dispatch import main

BARE = ["recipe=care_mi", "annotation=none"]
FOLDER = Path("builds/care_mi/compare/state_choice")
RULES = ["--with", "rules", "--with", "short: rules steps.state_choice.max_length=25"]
Capture = pytest.CaptureFixture[str]
Cells = dict[str, str]


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeOpenAI]:
    with writing(tmp_path_factory.mktemp("server")) as running:
        yield running


def packet(rater: str) -> list[Cells]:
    text = (FOLDER / "packets" / f"{rater}.csv").read_text(encoding="utf-8-sig")
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    names = [cell.rpartition("[")[2].rstrip("]") for cell in head]
    return [dict(zip(names, line, strict=True)) for line in lines]


def fill(rater: str, judge: Callable[[Cells], Cells]) -> None:
    """Fill a packet as a spreadsheet saves it."""
    path = FOLDER / "packets" / f"{rater}.csv"
    head = next(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows(list((line | judge(line)).values()) for line in packet(rater))
    path.write_bytes(stream.getvalue().encode("utf-8-sig"))


def right(_: Cells) -> Cells:
    return {"fluent": "1", "consistent": "1", "no_leak": "1"}


def table() -> dict[str, list[str]]:
    lines = (FOLDER / "table.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {line[0]: line[1:] for line in cells[2:]}


def untimed(page: bytes) -> bytes:
    """A table without the seconds that a candidate took, which are others each time."""
    found, count = re.subn(rb"\| \d+\.\d (?=\| 0 \| 0 \| 0 \|)", b"", page)
    assert count == len(table())
    return found


def compare(*more: str, n: int = 20) -> int:
    return main(["compare-models", "state_choice", *more, f"n={n}", *BARE])


def test_rules_are_compared_with_rules(capsys: Capture) -> None:
    assert compare(*RULES) == 0
    told = capsys.readouterr().out
    assert table()["rules"][:2] == ["20", "0.75 (15/20)"]
    assert table()["short"][:2] == ["20", "0.70 (14/20)"]
    assert "1 of 20 rows: the candidates differ." in told
    assert "short: dropped (too_long): 27 characters" in told
    rows = (FOLDER / "rows.tsv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 21
    assert sum(row.endswith("\t1") for row in rows) == 1
    first = {name: (FOLDER / name).read_bytes() for name in ("table.md", "rows.tsv", "key.tsv")}
    first["table.md"] = untimed(first["table.md"])
    assert compare(*RULES) == 0
    again = {name: (FOLDER / name).read_bytes() for name in first}
    assert {**again, "table.md": untimed(again["table.md"])} == first


def test_packets_are_blind_and_hold_each_text_once() -> None:
    assert compare(*RULES) == 0
    one, two = packet("rater_1"), packet("rater_2")
    assert len(one) == 15  # what both wrote is shown once
    assert {line["id"] for line in one} == {line["id"] for line in two}
    assert [line["id"] for line in one] != [line["id"] for line in two]
    assert "short" not in (FOLDER / "packets" / "rater_1.csv").read_text(encoding="utf-8-sig")
    key = (FOLDER / "key.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(key) == 29
    assert {line.split("\t")[2] for line in key} == {"rules", "short"}


@pytest.mark.full
def test_verdicts_come_back(capsys: Capture) -> None:
    assert compare(*RULES) == 0
    wrong = packet("rater_1")[0]["id"]
    fill("rater_1", lambda line: right(line) | ({"fluent": "0"} if line["id"] == wrong else {}))
    fill("rater_2", lambda line: right(line) if line["id"] != wrong else {"fluent": "1"})
    before = (FOLDER / "packets/rater_1.csv").read_bytes()
    capsys.readouterr()
    assert compare(*RULES) == 0
    told = capsys.readouterr().out
    assert table()["rules"][2:4] == ["0.93 (14/15)", "1.00 (14/14)"]
    assert table()["rules"][-2:] == ["0.70 (14/20)", "not all rated"]
    assert "a proportion of rated texts: rules wrote 15 of 20 rows, short wrote 14 of 20 rows." in told
    assert "rater_1: " not in told
    assert "rater_2: 1 of 15 texts are not rated yet." in told
    assert "Agreement of the two on 14 texts (right or not): percent 1.00" in told
    assert (FOLDER / "packets/rater_1.csv").read_bytes() == before


def test_a_text_that_changes_loses_its_own_verdict_alone() -> None:
    assert compare("--with", "rules") == 0
    fill("rater_1", right)
    assert compare("--with", "rules") == 0
    assert table()["rules"][2] == "1.00 (15/15)"
    # other rows: the verdicts on those of before are kept
    assert compare("--with", "rules", n=25) == 0
    assert table()["rules"][2] == "1.00 (15/15)"
    assert sum(line["fluent"] == "1" for line in packet("rater_1")) == 15
    assert len(packet("rater_1")) > 15
    # another text for every row, by another stop: none counts for it, and all count again afterwards
    assert compare("--with", "rules 'steps.state_choice.stop=\"！\"'") == 0
    assert table()["rules"][2] == ""
    assert compare("--with", "rules") == 0
    assert table()["rules"][2] == "1.00 (15/15)"


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("fluent", "yes", "fluent is 'yes', allowed are 0, 1 and an empty cell"),
        ("text", "another text", "it was changed, or cells were moved"),
    ],
)
def test_bad_cells_are_named_and_nothing_is_lost(column: str, cell: str, message: str, capsys: Capture) -> None:
    assert compare("--with", "rules") == 0
    first = packet("rater_2")[0]["id"]
    fill("rater_2", lambda line: right(line) | ({column: cell} if line["id"] == first else {}))
    before = (FOLDER / "packets/rater_2.csv").read_bytes()
    assert compare("--with", "rules") == 3
    told = capsys.readouterr().err
    assert "packets/rater_2.csv:2" in told
    assert message in told
    assert (FOLDER / "packets/rater_2.csv").read_bytes() == before


def test_models_are_compared_and_paid_once(server: FakeOpenAI, capsys: Capture, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "as_of: 2026-01-02\nsource: https://example.org\ncurrency: USD\nper_tokens: 1000000\n"
        "models: {blunt: {input: 1000, output: 2000}}\n", encoding="utf-8",
    )  # fmt: skip
    known = "model.prices=prices.yaml"
    both = ["--with", "rules", "--with", " ".join([*words(server, "blunt"), known]),
            "--with", f"careful: {' '.join(words(server, 'careful'))}"]  # fmt: skip
    server.configure(latency_s=0.2)  # so that there is a time to be seen
    try:
        assert compare(*both) == 0
    finally:
        server.configure(latency_s=0.0)
    made = table()
    assert list(made) == ["rules", "blunt", "careful"]
    assert made["rules"][5:] == ["0", "0", "0", "0.0000"]
    calls = len(server.log())
    assert int(made["blunt"][5]) + int(made["careful"][5]) == calls
    assert float(made["blunt"][4]) >= 0.2
    spent = sum(int(n) * price for n, price in zip(made["blunt"][6:8], (0.001, 0.002), strict=True))
    assert float(made["blunt"][8]) == pytest.approx(spent, abs=1e-3)
    assert made["careful"][8] == "unknown"
    assert "Prices of 2026-01-02." in capsys.readouterr().out
    assert compare(*both) == 0
    again = table()
    assert len(server.log()) == calls
    assert again["blunt"][4] == made["blunt"][4]  # the time of the run that asked
    assert again["blunt"][5] == f"{made['blunt'][5]} ({made['blunt'][5]} from before)"
    # the build of the recipe with that model asks for none of these rows again
    asked = {line["hash"] for line in server.log()}
    assert main([*BARE, *words(server, "blunt"), "steps.state_choice.strategy=model"]) == 0
    assert not asked & {line["hash"] for line in server.log(since=calls)}
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.push
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["facts_choice", "--with", "rules"], "this step puts no prompts"),
        (["state_chioce", "--with", "rules"], "there is no such step"),
        (["state_choice", "--with", "rules", "--with", "rules"], "two candidates are called 'rules'"),
        (["stat_choice", "--with", "rules"], "did you mean 'state_choice'?"),
        (["state_choice", "--with", "gpt-4o"], "an override such as 'model=openai model.name=NAME'"),
        (["state_choice", "--with", " "], "a candidate without overrides"),
        (["state_choice", "--with", "model='openai"], "the overrides cannot be separated"),
        (["state_choice", "--with", "model=none"], "the strategy `model` needs a model"),
        (["ask_oe_choice", "--with", "rules steps.ask_oe_choice.from=replace_choice"], "the rows of another step"),
        (["state_choice", "--with", "rules", "n=some"], "n is a number of rows"),
    ],
)
def test_wrong_words(asked: list[str], message: str, capsys: Capture) -> None:
    assert main(["compare-models", *asked, *BARE]) == 2
    assert message in capsys.readouterr().err


def test_a_step_with_a_model_of_its_own_is_not_silently_compared(server: FakeOpenAI, capsys: Capture) -> None:
    own = ["model@steps.state_choice.model=openai", "steps.state_choice.model.name=own"]
    assert compare("--with", "model=openai model.name=other", *own) == 2
    assert "write model@steps.state_choice.model=..." in capsys.readouterr().err


@pytest.fixture
def nobody() -> str:
    """The words of a model where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return f"model=openai model.name=gone model.base_url=http://127.0.0.1:{port}/v1 model.retries=0"


def test_a_dead_service_is_no_candidate(nobody: str, capsys: Capture) -> None:
    assert compare("--with", "rules", "--with", nobody, n=3) == 4
    told = capsys.readouterr().out
    assert table()["gone"][1] == "failed 3"
    assert table()["gone"][4] == "not timed"
    assert table()["rules"][1].endswith("/3)")
    assert told.count("no connection to") == 1
    assert "gone: 3 rows failed: no connection to" in told
    assert "0 of 3 rows: the candidates differ." in told  # who did not answer differs from nobody
    assert "fill in the sheets" not in told


def test_failed_rows_are_left_out_of_the_share(server: FakeOpenAI, capsys: Capture) -> None:
    refused = {"do": "server_error", "when": {"share": 0.4}}
    server.configure(rules=[refused])
    try:
        told = " ".join([*words(server, "shaky"), "model.retries=0"])
        assert compare("--with", told, n=20) == 0
    finally:
        server.configure(rules=[])
    share, _, failed = table()["shaky"][1].partition(", failed ")
    assert 0 < int(failed) < 20
    assert share.endswith(f"/{20 - int(failed)})")
    assert "the candidates differ" not in capsys.readouterr().out  # there is only one


def test_a_narrow_terminal_gets_a_block_a_candidate(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "a candidate with quite a long name: rules steps.state_choice.max_length=25"
    monkeypatch.setenv("COLUMNS", "80")
    assert compare("--with", "rules", "--with", long) == 0
    narrow = capsys.readouterr().out
    assert "\na candidate with quite a long name\n  rows " in narrow
    monkeypatch.delenv("COLUMNS")
    assert compare("--with", "rules", "--with", long) == 0
    wide = capsys.readouterr().out
    assert re.search(r"^ ?a candidate with quite a long name +20 ", wide, re.MULTILINE)
    assert max(len(line) for line in wide.partition("rows: the candidates")[0].splitlines()) <= 120


@pytest.mark.full
def test_a_candidate_of_the_same_sort_is_asked_at_the_same_address(server: FakeOpenAI, capsys: Capture) -> None:
    server.reset()
    assert compare("--with", "model=openai model.name=other", *words(server), n=2) == 0
    assert {entry["model"] for entry in server.log()} == {"other"}  # and nobody at OpenAI was asked
