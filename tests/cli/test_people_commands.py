"""The commands about people's work: invitations, votes out and in, and serving."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from files_spec import RECIPES
from patience import patience, until

from benchbuilder.cli.dispatch import main

SAMPLE = ["recipe=care_mi", "source=[medqa,textbook,encyclopaedia]", "steps.items.sample=8", "annotation=app"]
TOKEN = re.compile(r"/enter/([\w-]{40,})")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with a build that waits for people in the app."""
    folder = tmp_path_factory.mktemp("desk")
    os.chdir(folder)
    assert main(SAMPLE) == 75
    return folder


@pytest.fixture
def here(built, monkeypatch):
    monkeypatch.chdir(built)
    return built


@pytest.mark.push
def test_candidates_are_judged_in_the_app_only_where_the_words_say_so(here, capsys):
    assert main(["votes", "export", "csv", *SAMPLE[:-1]]) == 2
    told = capsys.readouterr().err
    assert "the recipe has no project 'claims'" in told
    assert "annotation=app has candidates judged in the app" in told


@pytest.mark.full
def test_invitations(here, capsys):
    assert main(["people", "invite", "wang", "li", "--days", "3", *SAMPLE]) == 0
    told = capsys.readouterr().out
    assert len(TOKEN.findall(told)) == 2
    assert "wang (annotator A1), until" in told
    assert main(["people", "invite", "zhao", "--role", "adjudicator", "--url", "https://r.example.org/", *SAMPLE]) == 0
    assert "  https://r.example.org/enter/" in capsys.readouterr().out
    assert main(["people", "revoke", "li", *SAMPLE]) == 0
    assert main(["people", "ls", *SAMPLE]) == 0
    table = capsys.readouterr().out
    assert re.search(r"li +annotator +A2 +every one +revoked +never", table)
    assert not TOKEN.search(table)
    assert main(["people", "allow", "wang", "--project", "claims", "--project", "answers", *SAMPLE]) == 0
    assert main(["people", "allow", "li", *SAMPLE]) == 0
    assert "wang: works on claims, answers\nli: works on every project" in capsys.readouterr().out
    assert main(["people", "link", "li", *SAMPLE]) == 0
    (token,) = TOKEN.findall(capsys.readouterr().out)
    database = here / "builds/care_mi/annotation/review.sqlite"
    stored = b"".join(path.read_bytes() for path in database.parent.glob("review.sqlite*"))
    assert token.encode() not in stored


@pytest.mark.push
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["invite"], "no person was named"), (["invite", "a/b"], "'a/b' is not a valid name"),
        (["invite", "x", "--days", "0"], "--days is a number of days"), (["revoke", "nobody"], "nobody"),
        (["invite", "wang"], "wang"),
        (["allow", "wang", "--project", "nothing"], "the recipe has no project 'nothing'"),
    ],
)  # fmt: skip
def test_wrong_words_about_people(here, capsys, words, told):
    main(["people", "invite", "wang", *SAMPLE])  # whether or not another test has done so
    capsys.readouterr()
    assert main(["people", *words, *SAMPLE]) in (2, 3)
    assert told in capsys.readouterr().err


@pytest.mark.full
def test_votes_go_out_and_come_in(here, capsys, tmp_path, monkeypatch):
    for name, role in (("a", "annotator"), ("b", "annotator"), ("meta", "adjudicator")):
        assert main(["people", "invite", name, "--role", role, *SAMPLE]) == 0
    # the sample votes of the recipe, as filled packets
    votes = sorted((RECIPES / "recipe" / "care_mi" / "sample" / "votes").glob("*.csv"))
    capsys.readouterr()
    assert main(["votes", "import", "packets", *map(str, votes), *SAMPLE]) == 0
    told = capsys.readouterr().out
    new = int(re.search(r"(\d+) new votes, 0 changed, 0 as before", told)[1])
    assert new >= 30
    assert "left out: their tasks are no longer shown" in told
    assert main(["votes", "import", "packets", *map(str, votes), *SAMPLE]) == 0
    assert f"0 new votes, 0 changed, {new} as before" in capsys.readouterr().out
    assert main(["votes", "export", "label_studio", "--output", str(tmp_path / "ls"), *SAMPLE]) == 0
    told = capsys.readouterr().out
    assert "what label_studio does not carry:" in told
    tasks = json.loads((tmp_path / "ls" / "tasks.json").read_text("utf-8"))
    assert len(tasks) == 9  # eight, and the rest of their families
    assert all(len(task["annotations"]) >= 2 for task in tasks)
    words = [str(tmp_path / "ls" / "tasks.json"), "--users", str(tmp_path / "ls" / "users.csv")]
    with monkeypatch.context() as patch:
        patch.setattr("benchbuilder.annotation.database.store.Spool", None)  # the votes of one file are not copied
        assert main(["votes", "import", "label_studio", *words, *SAMPLE]) == 0
    assert "0 new votes, 0 changed" in capsys.readouterr().out
    for name in ("csv", "history"):  # the docs run them all
        assert main(["votes", "export", name, *SAMPLE]) == 0
        assert list((here / "builds/care_mi/annotation/export/claims" / name).iterdir())
    # the votes are in: the same command goes on
    assert main(SAMPLE) == 0
    assert (here / "builds/care_mi/items.jsonl").exists()


@pytest.mark.push
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["export"], "no format was named"), (["export", "labelstudio"], "did you mean 'label_studio'"),
        (["export", "packets"], "packets can only be imported"),
        (["export", "csv", "x.csv"], "export takes no file: x.csv"),
        (["import", "csv"], "no file was named"), (["import", "csv", "missing.csv"], "missing.csv cannot be read"),
        (["export", "csv", "--project", "nothing"], "the recipe has no project 'nothing'"),
        (["export", "csv", "--project", "answers"], "'answers' has no tasks yet"),
    ],
)  # fmt: skip
def test_wrong_words_about_votes(here, capsys, words, told):
    assert main(["votes", *words, *SAMPLE]) in (2, 3)
    assert told in capsys.readouterr().err


def test_formats_are_listed_with_what_they_cannot_carry(capsys):
    assert main(["votes", "formats"]) == 0
    told = capsys.readouterr().out
    assert "label_studio" in told
    assert "cannot carry" in told


@pytest.mark.push
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--port", "0"], "--port is a number"), (["--host", "0.0.0.0"], "--url is needed"),
        (["--url", "review.example.org"], "--url is an address"),
        (["--url", "https://example.org/review"], "--url is an address without a path"),
    ],
)  # fmt: skip
def test_wrong_words_for_serving(here, capsys, words, told):
    assert main(["review", *words, *SAMPLE]) == 2
    assert told in capsys.readouterr().err


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.full
def test_serving_until_it_is_stopped(here, tmp_path):
    port = _free_port()
    answers = tmp_path / "answers.jsonl"
    row = {
        "id": "1",
        "question": "正常胎龄是多少？",
        "answer": "40周。",
        "reference": "37至42周。",
        "evidence": "一段。",
    }
    answers.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    program = str(Path(sys.executable).with_name("benchbuild"))
    command = [program, "review", *SAMPLE, f"paths.answers={answers}", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here) as server:
        try:
            told, errors = _served(server, port)
        finally:
            server.kill()
    assert f"serving at http://127.0.0.1:{port} (Ctrl-C stops)" in told
    assert "answers: 1 task" in told
    assert "claims: 9 tasks" in told  # whole families
    rule = "Votes given in the review app count in the build with the same words, and in no other."
    assert f"{rule} Here: benchbuild {shlex.join(command[2:-2])}" in told
    assert "forged" not in told + errors
    assert server.returncode == 0


def _served(server, port):
    """What the server says until it is stopped, after it refused a forged token."""
    until(lambda: server.poll() is not None or _status_of_a_forged_token(port))
    assert _status_of_a_forged_token(port) == 403
    server.send_signal(signal.SIGINT)
    return server.communicate(timeout=patience())


def _status_of_a_forged_token(port):
    """The status that a forged token gets; 0 if nobody answers."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/enter/forged", timeout=patience())
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code
    except OSError:
        return 0
