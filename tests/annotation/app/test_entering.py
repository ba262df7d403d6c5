"""Who gets in, and who does not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import pytest
from review_world import World, hidden, make_world
from starlette.testclient import TestClient

from benchbuilder.annotation.app.app import create_app
from benchbuilder.annotation.app.sessions import LoginThrottle
from benchbuilder.annotation.database.store import AnnotationStore


def test_a_link_opens_a_session_and_does_not_wear_out(world: World) -> None:
    ann = world.browser("Ann", enter=False)
    page = ann.get(f"/enter/{ann.token}")
    assert page.status_code == 200
    assert "<button" in page.text
    assert "set-cookie" in page.headers
    assert "session" not in page.headers["set-cookie"]
    assert ann.get("/").status_code == 403, "looking at the link does not sign in"
    entered = ann.enter()
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = next(c for c in entered.headers.get_list("set-cookie") if c.startswith("review_session="))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert ann.get("/").status_code == 200
    assert world.browser("Ann").get("/").status_code == 200, "on another device too"


@pytest.mark.parametrize("path", ["/", "/p/claims", "/p/claims/1", "/p/claims/list", "/lead", "/adjudicate/claims"])
def test_without_a_session_pages_are_closed(world: World, path: str) -> None:
    page = world.browser().get(path)
    assert page.status_code == 403
    assert "invite link" in page.text
    assert world.browser().get(path, headers={"Cookie": "review_session=forged"}).status_code == 403
    assert world.browser().get(path, headers={"Cookie": "review_session=" + "x" * 5000}).status_code == 403


@pytest.mark.parametrize("token", ["forged", "x" * 400, "%00", "%F0%9F%98%80", "a%0d%0aSet-Cookie:b", "../static"])
def test_a_forged_token_gets_403_and_a_plain_page(world: World, token: str) -> None:
    page = world.browser().get(f"/enter/{token}")
    assert page.status_code in (403, 404)
    assert "<h1>" in page.text
    assert "Traceback" not in page.text


def test_forged_expired_replaced_and_revoked_tokens_do_not_enter(world: World) -> None:
    ann, bo, cy = (world.browser(name, enter=False) for name in ("Ann", "Bo", "Cy"))
    world.store.revoke("Bo")
    world.store.reinvite("Cy")
    for browser in (bo, cy):
        assert browser.get(f"/enter/{browser.token}").status_code == 403
    world.clock.forward(days=31)
    assert ann.get(f"/enter/{ann.token}").status_code == 403
    dee = world.browser("Dee", enter=False)
    slip = hidden(dee.get(f"/enter/{dee.token}").text, "csrf")
    for token in (ann.token, bo.token, cy.token, "forged", ""):
        answer = dee.client.post("/enter", data={"csrf": slip, "token": token})
        assert answer.status_code == 403
        assert "session" not in answer.headers.get("set-cookie", "")
    assert dee.client.post("/enter", data={"csrf": slip, "token": dee.token}).status_code == 303


def test_a_link_must_be_opened_in_the_browser_that_enters(world: World) -> None:
    ann, other = world.browser("Ann", enter=False), world.browser()
    slip = hidden(ann.get(f"/enter/{ann.token}").text, "csrf")
    assert other.client.post("/enter", data={"csrf": slip, "token": ann.token}).status_code == 403
    assert ann.client.post("/enter", data={"csrf": "", "token": ann.token}).status_code == 403
    assert ann.client.post("/enter", data={"csrf": slip, "token": ann.token}).status_code == 303


def test_revoking_ends_a_session_at_once(world: World) -> None:
    ann = world.browser("Ann")
    assert ann.get("/p/claims/1").status_code == 200
    world.store.revoke("Ann")
    assert ann.get("/p/claims/1").status_code == 403


def test_sessions_end_by_themselves(world: World) -> None:
    ann = world.browser("Ann")
    world.clock.forward(hours=13)
    assert ann.get("/").status_code == 403


def test_leaving_ends_the_session_and_says_so(world: World) -> None:
    ann = world.browser("Ann")
    cookie = ann.client.cookies["review_session"]
    left = ann.post("/leave")
    assert left.status_code == 200
    assert "You have signed out" in left.text
    assert ann.get("/").status_code == 403
    assert world.browser().get("/", headers={"Cookie": f"review_session={cookie}"}).status_code == 403


def test_roles_see_their_own_pages(world: World) -> None:
    ann, cy, dee = world.browser("Ann"), world.browser("Cy", "adjudicator"), world.browser("Dee", "lead")
    assert ann.get("/lead").status_code == ann.get("/adjudicate/claims").status_code == 403
    assert cy.get("/p/claims").status_code == cy.get("/lead").status_code == 403
    assert dee.get("/p/claims/1").status_code == 403
    assert dee.get("/").headers["location"] == "/lead"
    assert "/adjudicate/claims" in cy.get("/").text
    assert "/adjudicate/ratings" not in cy.get("/").text, "nobody adjudicates where the mean decides"


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What is logged during a test."""
    handler, root = BufferingHandler(10_000), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    yield handler.buffer
    root.removeHandler(handler)
    root.setLevel(level)


def test_too_many_wrong_tokens_are_refused_and_lock_nobody_out(world: World, logged: list[logging.LogRecord]) -> None:
    answers = [world.browser().get(f"/enter/wrong{n}") for n in range(30)]
    assert [answer.status_code for answer in answers] == [403] * 20 + [429] * 10
    assert answers[-1].headers["retry-after"]
    assert "five minutes" in answers[-1].text
    assert [record.getMessage() for record in logged] == ["20 wrong links in 300 s from 'testclient'"]
    assert world.browser("Ann").get("/").status_code == 200, "a valid link always works"


def test_another_address_of_the_same_network_does_not_evade_the_limit() -> None:
    attempts = LoginThrottle(per_address=2)
    for address in ("2001:db8:1:2::1", "2001:db8:1:3::9"):
        attempts.record_failure(address)
    assert attempts.is_exhausted("2001:db8:1:ffff::1")
    assert not attempts.is_exhausted("2001:db8:2::1")


def test_attempts_are_counted_by_address_and_in_all() -> None:
    now = [0.0]
    attempts = LoginThrottle(per_address=2, overall=5, window_s=10, clock=lambda: now[0])
    for address in "aab":
        attempts.record_failure(address)
    assert [attempts.is_exhausted(address) for address in "abc"] == [True, False, False]
    attempts.record_failure("d")
    attempts.record_failure("e")
    assert attempts.is_exhausted("never seen")
    now[0] = 11
    assert not attempts.is_exhausted("a")


def test_no_token_in_a_log(world: World, logged: list[logging.LogRecord]) -> None:
    logging.getLogger().setLevel(logging.DEBUG)
    ann = world.browser("Ann")
    ann.get(f"/enter/{ann.token}?again=1")
    ann.get("/p/claims?secret=query")
    assert any("/enter/..." in record.getMessage() for record in logged)
    served = [record.getMessage() for record in logged if not record.name.startswith("http")]  # the client's
    assert ann.token not in "".join(served)
    assert "secret=query" not in "".join(served)


def test_secure_cookies_are_for_this_host_alone(tmp_path: Path) -> None:
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}", secure=True)
    _, token = world.store.invite("Ann", "annotator")
    client = TestClient(world.app, base_url="https://testserver", follow_redirects=False)
    page = client.get(f"/enter/{token}")
    entered = client.post("/enter", data={"token": token, "csrf": hidden(page.text, "csrf")})
    for cookie in entered.headers.get_list("set-cookie"):
        assert cookie.startswith("__Host-")
        assert "Secure" in cookie
        assert "Path=/" in cookie
        assert "Domain" not in cookie
    assert client.get("/").status_code == 200
    assert "max-age" in client.get("/").headers["strict-transport-security"]
    world.store.close()


def test_the_language_is_the_browsers_until_one_is_chosen(world: World, tmp_path: Path) -> None:
    ann = world.browser("Ann")
    chinese: dict[str, Any] = {"headers": {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}}
    assert '<html lang="zh"' in ann.get("/", **chinese).text
    assert '<html lang="en"' in ann.get("/").text
    chosen = ann.post("/language", {"language": "zh", "back": "/p/claims/list"})
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/p/claims/list")
    page = ann.get("/p/claims/list").text
    assert '<html lang="zh"' in page
    assert "我的题目" in page
    assert world.browser("Ann").get("/").text.count("我的任务") >= 1, "kept for the next session"
    for back in ("//evil.example", "https://evil.example", "/\\evil", "/a b", "/p/claims?x=//e", "", "/\n/evil"):
        assert ann.post("/language", {"language": "en", "back": back}).headers["location"] == "/"
    assert ann.post("/language", {"language": "xx"}).status_code == 400


def test_a_recipe_brings_a_language(tmp_path: Path) -> None:
    zulu = tmp_path / "zu.yaml"
    zulu.write_text("meta: {name: isiZulu}\nhome: {title: Umsebenzi wakho}\n", encoding="utf-8")
    world = make_world(f"sqlite:///{tmp_path / 'v.db'}", strings={"zu": zulu})
    ann = world.browser("Ann")
    ann.post("/language", {"language": "zu"})
    page = ann.get("/").text
    assert "Umsebenzi wakho" in page
    assert "Begin" in page, "what is missing is English"
    assert '<html lang="zu"' in page
    world.store.close()


@pytest.mark.parametrize("secure", [False, True])
def test_sites_at_two_ports_of_a_host_do_not_share_sessions(tmp_path: Path, secure: bool) -> None:
    """Browsers send the cookies of a host to all of its ports."""
    names: list[set[str]] = []
    for port in (8000, 8001):
        with AnnotationStore.open(f"sqlite:///{tmp_path / str(port)}.db") as store:
            _, token = store.invite("Ann", "annotator")
            app = create_app(store, {}, secure=secure, hosts=["testserver"], site_name=f"http://testserver:{port}")
            client = TestClient(app, base_url="https://testserver" if secure else "http://testserver")
            slip = hidden(client.get(f"/enter/{token}").text, "csrf")
            answer = client.post("/enter", data={"token": token, "csrf": slip}, follow_redirects=False)
            assert answer.status_code == 303
            names.append(set(client.cookies))
            assert client.get("/").status_code == 200
    assert all(len(found) == 1 for found in names)
    assert not names[0] & names[1]
    assert all(name.startswith("__Host-review_session_") for found in names for name in found) == secure
