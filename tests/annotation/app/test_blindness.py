"""Whatever an annotator asks for, nothing of another annotator comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from review_world import Browser, World

SECRETS = ("Bo Geheim", "bo-note", "bo-draft", "bo-answer", "bo-flag")


def crawl(browser: Browser, world: World) -> Iterator[tuple[str, str]]:
    """Every page that links and guessed addresses lead to, with its address; without the token of the session."""
    csrf = browser.csrf
    guessed = [f"/p/{project}/{n}" for project in ("claims", "ratings", "forms") for n in range(1, 15)]
    guessed += [f"/adjudicate/{project}/{n}" for project in ("claims", "ratings", "forms") for n in range(1, 15)]
    for route in world.app.routes:
        path = getattr(route, "path", "")
        if "GET" in (getattr(route, "methods", None) or ()):
            guessed.append(
                re.sub(r"\{(\w+)(:\w+)?\}", lambda m: {"number": "1", "seconds": "5"}.get(m[1], "claims"), path)
            )
    waiting, seen = ["/", *guessed], set[str]()
    while waiting:
        address = waiting.pop()
        if address in seen or address.startswith("/enter"):
            continue
        seen.add(address)
        answer = browser.get(address)
        assert answer.status_code < 500, address
        body = re.sub(r'data-now="[^"]*"', "", answer.text.replace(csrf, "CSRF")) + str(sorted(answer.headers.items()))
        yield address, body
        found = re.findall(r'(?:href|src|action)="(/[^"]*)"', answer.text)
        waiting += [link.replace("&amp;", "&") for link in found] + [answer.headers.get("location", "/")]


def _work(bo: Browser, project: str) -> None:
    """Everything that can be done with tasks, all of it marked."""
    texts = {"claims": "0", "ratings": "0.25", "forms": "bo-answer"}
    for number in range(1, 5):
        path = f"/p/{project}/{number}"
        if bo.get(path).status_code == 200:
            tone = {name: "2" for name in bo.form(path) if project == "ratings" and name.startswith("v.")}
            bo.submit(path, texts[project], "flag", note="bo-flag")
            bo.submit(path, texts[project], note="bo-note", **tone)
    if bo.get(f"/p/{project}/2").status_code == 200:
        bo.submit(f"/p/{project}/2", texts[project], "draft", note="bo-draft")
    bo.submit(f"/p/{project}/1", None, "skip")
    bo.undo(f"/p/{project}/1")


@pytest.mark.full
def test_a_crawl_as_one_annotator_shows_nothing_of_another(world: World) -> None:
    ann, bo = world.browser("Ann Offen"), world.browser("Bo Geheim")
    for number in (1, 2):
        ann.submit(f"/p/claims/{number}", note="own note")
    list(crawl(ann, world))  # opens every task, so that nothing about the times changes from one crawl to the next
    before = dict(crawl(ann, world))
    assert sum(address.startswith("/p/claims/") for address in before) >= 5
    for project in ("claims", "ratings", "forms"):
        _work(bo, project)
    assert any(vote.person == "Bo Geheim" for vote in world.store.vote_events("claims"))
    assert world.store.count_disputes("claims") == 2
    after = dict(crawl(ann, world))
    for address, body in after.items():
        assert not [secret for secret in SECRETS if secret in body], address
        assert not re.search(r"\bA2\b", body), address
        assert before.get(address) == body, f"{address}: what Bo did changed what Ann sees"


def test_nobody_writes_into_the_work_of_another(world: World) -> None:
    ann, bo = world.browser("Ann"), world.browser("Bo")
    bo.submit("/p/claims/1", "0", "draft", note="bo-draft")
    draft = bo.form("/p/claims/1")
    for action in ("submit", "draft", "skip", "flag"):
        ann.submit("/p/claims/1", "1", action, note="ann")
    assert bo.form("/p/claims/1") == draft
    ann.undo("/p/claims/1")
    assert bo.form("/p/claims/1") == draft
    progress = world.store.progress(bo.person, "claims")
    assert (progress.done, progress.skipped, progress.flagged) == (0, 0, 0)
