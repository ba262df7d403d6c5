"""Invite links and sessions over HTTP: what lets nobody in, and that no log holds what does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from live_app import SESSION, Answer, Browser, serving
from vote_worlds import PROJECT, lay_out

from benchbuilder.annotation.database.store import AnnotationStore


def assert_plain_refusal(answer: Answer) -> None:
    """403, and a page without a form, a script, or anything about what went wrong inside."""
    assert answer.status == 403
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert SESSION not in answer.headers.get("set-cookie", "")
    for word in ("<form", "<script", "Traceback", "sqlalchemy", "annotator 1"):
        assert word not in answer.text
    assert "<h1>" in answer.text


def test_what_lets_nobody_in(database: str, tmp_path: Path) -> None:
    (first, second) = lay_out(database, 2, 2)
    (foreign, _) = lay_out(f"sqlite:///{tmp_path / 'another.sqlite'}", 2, 2)
    with AnnotationStore.open(database, lambda: datetime.now(UTC) - timedelta(days=3)) as store:
        expired = store.invite("late", "annotator", days=2)[1]
    with AnnotationStore.open(database) as store:
        replaced = second.token
        renewed = store.reinvite(second.person.name)[1]
        revoked = store.invite("gone", "annotator")[1]
        store.revoke("gone")
    wrong = {
        "forged": "A" * 43, "shortened": first.token[:-1], "longer": first.token + "A", "case": first.token.swapcase(),
        "expired": expired, "revoked": revoked, "replaced": replaced, "foreign": foreign.token,
        "odd": "%00%FF%0d%0aSet-Cookie:%20session=1", "sql": "'%20OR%20'1'='1",
    }  # fmt: skip
    with serving(database, tmp_path, "--log") as server, Browser(server) as right, Browser(server) as browser:
        assert right.enter(first.token).status == 303
        assert right.get(f"/p/{PROJECT}/1").status == 200
        for what, token in wrong.items():
            refused = browser.get(f"/enter/{token}")
            assert_plain_refusal(refused)
            assert SESSION not in browser.cookies, what
        page = browser.get(f"/enter/{first.token}").text
        slip = page.partition('name="csrf" value="')[2].partition('"')[0]
        for token in (expired, revoked, foreign.token):
            assert_plain_refusal(browser.post("/enter", {"token": token, "csrf": slip}))
        sessions = {"none": {}, "forged": {SESSION: "B" * 43}, "token": {SESSION: first.token}}
        for cookies in sessions.values():
            with Browser(server, dict(cookies)) as stranger:
                for path in ("/", f"/p/{PROJECT}", f"/p/{PROJECT}/1", f"/p/{PROJECT}/list", "/lead"):
                    assert_plain_refusal(stranger.get(path))
                assert_plain_refusal(stranger.post(f"/p/{PROJECT}/1", {"action": "submit", "csrf": right.csrf}))
        session = right.cookies[SESSION]
        with AnnotationStore.open(database) as store:
            store.revoke(first.person.name)
        assert_plain_refusal(right.get(f"/p/{PROJECT}/1"))
        assert_plain_refusal(right.post(f"/p/{PROJECT}/1", {"action": "submit", "csrf": right.csrf}))
        assert browser.enter(renewed).status == 303
        said = server.said
    assert "/enter/..." in said, "the log that is looked at is there"
    for secret in (*wrong.values(), first.token, renewed, session, browser.cookies[SESSION], right.csrf, slip):
        assert secret not in said
    assert "Traceback" not in said


def test_guessing_is_slowed_down(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'votes.sqlite'}"
    (annotator,) = lay_out(url, 1, 1, per_task=1, rule="mean")
    with serving(url, tmp_path) as server, Browser(server) as inside, Browser(server) as guesser:
        assert inside.enter(annotator.token).status == 303
        statuses = [guesser.get(f"/enter/{number:043}").status for number in range(25)]
        assert statuses == [403] * 20 + [429] * 5
        forged = [guesser.get("/enter/" + "0" * 43, X_Forwarded_For=f"192.0.2.{n}").status for n in range(5)]
        assert forged == [429] * 5, "nobody named a proxy, so what a client says about its address does not count"
        assert guesser.get("/enter/x").headers["retry-after"]
        assert guesser.enter(annotator.token).status == 303, "a valid link works, whoever else is at this address"
        assert inside.get(f"/p/{PROJECT}/1").status == 200, "who is in stays in"
