"""Whatever is sent in whatever field of a form: never an error of the server, and votes as the history says."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from live_app import Answer, Browser, Server, serving
from vote_worlds import PROJECT, Annotator, check_consistent, lay_out

from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.store import AnnotationStore

URLENCODED = "application/x-www-form-urlencoded"
ACTIONS = ("submit", "draft", "skip", "flag", "unflag")
ADJUDICATION = ("reason", "confidence", "error_kinds", "guideline_gap")
NASTY = (
    "", "\0", "1\0", "\ud800", "\udfff0", "\u202e1", "\ufeff1", "１", "٣", "²", "½", "−1", "-0", "1e0", "1e999", "nan",
    "inf", "-inf", "0x1", "1_0", "١", " 1 ", "1\r\n", "0.1\t", "0,5", "0.", ".5", "true", "None", "[]", "{}", "9" * 400,
    "0" * 400 + "1", "1" + "0" * 5000, "a" * 4001, "医" * 4001, "😀" * 70_000, "'; DROP TABLE votes; --",
    "<script>alert(1)</script>", "{{7*7}}", "%s%n", "../../etc/passwd",
    "a\u0301" * 100, "\u0000\u0001\u001f\u007f\u0085", "\n" * 5000, "\r", "v.", "\\", '"',
)  # fmt: skip


class Fuzzed:
    """A running app with an annotator, an adjudicator and a lead who are signed in, and disputes that wait."""

    def __init__(self, server: Server, browsers: dict[str, Browser], annotator: Annotator, disputed: list[int]) -> None:
        self.server, self.browsers, self.disputed = server, browsers, disputed
        self.fields = sorted({entry.field_name for sheet in annotator.sheets.values() for entry in sheet.fields()})
        self.keys = annotator.keys
        self.shown = [sheet.shown_hash for sheet in annotator.sheets.values()]
        for task_id in disputed:
            page = browsers["adjudicator"].get(f"/adjudicate/{PROJECT}/{task_id}").text
            self.shown.append(re.findall(r'name="shown" value="([^"]*)"', page)[0])

    def check(self, answer: Answer) -> None:
        assert answer.status < 500, answer.text
        assert "Traceback" not in answer.text


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = tmp_path_factory.mktemp("fuzz")
    url = f"sqlite:///{folder / 'votes.sqlite'}"
    one, two = lay_out(url, 6, 2)
    with AnnotationStore.open(url) as store:
        for place, each in enumerate((one, two)):
            for number, sheet in each.sheets.items():
                if each.task_ids[number] <= 4:
                    values: dict[str, Any] = {"sound": place, "supports": place, "grade": 0.9 * place, "why": "x"}
                    given_ = Submission({entry.subject: values[entry.name] for entry in sheet.fields()})
                    assert store.submit(each.person, each.task_ids[number], given_) == "kept"
        tokens = {"annotator": one.token}
        tokens |= {role: store.invite(role, role)[1] for role in ("adjudicator", "lead")}
    with serving(url, folder) as server:
        browsers = {role: Browser(server) for role in tokens}
        try:
            for role, token in tokens.items():
                assert browsers[role].enter(token).status == 303
            yield Fuzzed(server, browsers, one, [1, 2, 3, 4])
        finally:
            for browser in browsers.values():
                browser.close()
        assert server.said == ""
    check_consistent(url)


def some(strategy: st.SearchStrategy[Any], *usual: Any) -> st.SearchStrategy[Any]:
    """Usually one of `usual`, so that what is sent gets further than the first check."""
    return st.one_of(st.sampled_from(usual), st.sampled_from(usual), st.sampled_from(usual), strategy)


TEXT = st.one_of(st.sampled_from(NASTY), st.text(max_size=30), st.sampled_from(["0", "1", "0.5", "yes"]))
QUIET = settings(
    max_examples=120, derandomize=True, phases=[Phase.generate], database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


def encoded(pairs: list[tuple[str, str]]) -> bytes:
    """As a browser would send it, but also what no browser could: halves of surrogate pairs."""
    return urlencode(pairs, errors="surrogatepass").encode()


@given(data=st.data())
@QUIET
def test_fields_of_every_form(fuzzed: Fuzzed, data: st.DataObject) -> None:
    role = data.draw(st.sampled_from(["annotator", "annotator", "adjudicator", "adjudicator", "lead"]))
    browser = fuzzed.browsers[role]
    number = data.draw(some(TEXT.map(lambda text: quote(text[:300], errors="surrogatepass")), *"123456"))
    targets = {
        "annotator": (f"/p/{PROJECT}/{number}",) * 6 + (f"/p/{PROJECT}/undo", "/language"),
        "adjudicator": (f"/adjudicate/{PROJECT}/{number}",) * 6 + (f"/adjudicate/{PROJECT}/undo", "/language"),
        "lead": ("/language", f"/p/{PROJECT}/{number}", "/enter"),
    }
    path = data.draw(st.sampled_from(targets[role]))
    fields: dict[str, Any] = {"csrf": some(TEXT, *[browser.csrf] * 5), "action": some(TEXT, *ACTIONS, *["submit"] * 5)}
    fields |= {"shown": some(TEXT, *fuzzed.shown * 3), "active": TEXT, "note": TEXT, "language": some(TEXT, "en", "zh")}
    fields |= {"task": some(TEXT, *[fuzzed.keys.get(int(number) if number in "123456" and number else 0, "")] * 6)}
    fields |= {"back": some(TEXT, "/", "//evil.example", "/\\evil.example", "/p/trials/1"), "token": TEXT}
    fields |= dict.fromkeys(ADJUDICATION, TEXT) | dict.fromkeys(fuzzed.fields, some(TEXT, "0", "1"))
    always = ("csrf", "action", "shown", "task")
    pairs = [(name, data.draw(strategy)) for name, strategy in fields.items() if name in always]
    rest = [(name, strategy) for name, strategy in fields.items() if name not in always]
    keep = data.draw(st.sets(st.integers(0, len(rest) - 1), min_size=0, max_size=3))
    everything = data.draw(st.booleans())
    for place, (name, strategy) in enumerate(rest):
        if everything or place in keep:
            pairs.append((name, data.draw(strategy)))
    pairs += data.draw(st.lists(st.tuples(some(TEXT, "v.", "v.x.y", "csrf"), TEXT), max_size=3))
    json = data.draw(st.booleans())
    answer = browser.ask(
        "POST", path, encoded(pairs), Content_Type=URLENCODED, Accept="application/json" if json else "text/html"
    )
    fuzzed.check(answer)
    assert not answer.location.startswith(("//", "/\\", "http")), answer.location
    if answer.headers.get("content-type", "").startswith("text/html"):
        for _, value in pairs:
            if "<script>alert" in value:
                assert value not in answer.text


CONTENT_TYPES = (
    URLENCODED, f"{URLENCODED}; charset=utf-16", f"{URLENCODED}; charset=", "multipart/form-data; boundary=b",
    "multipart/form-data", "application/json", "text/plain", "", "\xff", "*/*",
)  # fmt: skip
MULTIPART = b'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n1\r\n--b--\r\n'
BODIES = (
    b"",
    b"&&&===",
    b"%",
    b"%zz=%f",
    b"\xff\xfe=\x00",
    b"a=1" * 1000,
    b"a&" * 5000,
    b'{"csrf": 1}',
    MULTIPART,
    b"csrf=\xed\xa0\x80",
)
ROUTES = (
    "/enter", "/language", "/leave", f"/p/{PROJECT}/1", f"/p/{PROJECT}/undo", f"/adjudicate/{PROJECT}/1",
    f"/adjudicate/{PROJECT}/undo",
)  # fmt: skip


@given(
    route=st.sampled_from(ROUTES), role=st.sampled_from(["annotator", "adjudicator"]),
    kind=st.sampled_from(CONTENT_TYPES), body=st.one_of(st.sampled_from(BODIES), st.binary(max_size=200)),
    site=st.sampled_from(["", "same-origin", "cross-site", "\xe9"]),
)  # fmt: skip
@QUIET
def test_bodies_that_are_no_forms(fuzzed: Fuzzed, route: str, role: str, kind: str, body: bytes, site: str) -> None:
    browser = fuzzed.browsers[role]
    headers = {"Content-Type": kind, "Sec-Fetch-Site": site, "Origin": "http://[" if site == "\xe9" else ""}
    fuzzed.check(browser.ask("POST", route, body, **{name: value for name, value in headers.items() if value}))


GETS = (
    "/{0}", "/p/{0}", "/p/{0}/list", f"/p/{PROJECT}/{{0}}", f"/p/{PROJECT}/list?state={{0}}&start={{1}}",
    "/late/{0}.css", f"/p/{PROJECT}?saved={{0}}", "/adjudicate/{0}", f"/adjudicate/{PROJECT}/{{0}}",
    f"/adjudicate/{PROJECT}?again={{0}}", "/lead/{0}",
    f"/lead/{PROJECT}/tasks?outcome={{0}}&gate={{1}}&start={{0}}", "/lead/{0}/tasks.csv", "/static/{0}",
    f"/p/{PROJECT}/1?saved={{0}}&undone={{1}}",
)  # fmt: skip


@given(
    route=st.sampled_from(GETS), role=st.sampled_from(["annotator", "adjudicator", "lead"]),
    texts=st.tuples(TEXT, TEXT),
    method=st.sampled_from(["GET", "GET", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]),
    language=st.sampled_from(["", "zh", "*", ";q=", "en;q=nan", "zh-" * 400, "\xff"]),
)  # fmt: skip
@QUIET
def test_addresses(fuzzed: Fuzzed, route: str, role: str, texts: tuple[str, str], method: str, language: str) -> None:
    path = route.format(*(quote(text[:500], safe="", errors="surrogatepass") for text in texts))
    fuzzed.check(fuzzed.browsers[role].ask(method, path, Accept_Language=language))


@pytest.mark.parametrize(
    "fields", [{"shown": "x" * 1_200_000}, {f"v.{n}.x": "1" for n in range(5000)}, {"note": "医" * 150_000}]
)
def test_too_much(fuzzed: Fuzzed, fields: dict[str, str]) -> None:
    browser = fuzzed.browsers["annotator"]
    try:
        answer = browser.post(
            f"/p/{PROJECT}/5", {"csrf": browser.csrf, "action": "draft", "task": fuzzed.keys[5], **fields}
        )
    except (OSError, http.client.HTTPException):
        browser.close()  # refused before all of it was sent
    else:
        assert answer.status in (400, 403, 413, 422)
    assert browser.get(f"/p/{PROJECT}/5").status == 200


def test_a_field_that_comes_twice_counts_once(fuzzed: Fuzzed) -> None:
    browser = fuzzed.browsers["annotator"]
    page = browser.get(f"/p/{PROJECT}/6").text
    shown = re.findall(r'name="shown" value="([^"]*)"', page)[0]
    fields = sorted(set(re.findall(r'name="(v\.[^"]*)"', page)))
    pairs = [("csrf", browser.csrf), ("csrf", browser.csrf), ("action", "skip"), ("action", "submit"), ("shown", shown)]
    pairs += [("task", "another"), ("task", fuzzed.keys[6])]
    pairs += [(name, value) for name in fields for value in ("nonsense", "1")]
    answer = browser.ask("POST", f"/p/{PROJECT}/6", encoded(pairs), Content_Type=URLENCODED)
    assert answer.status == 303
    assert answer.location.endswith("saved=6")
