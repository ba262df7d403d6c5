"""What an annotator gets to see does not depend on what anybody else does: same pages, whatever the secrets are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from live_app import Answer, Browser, serving
from reading import FoundForm, Page
from vote_worlds import check_consistent, spec, task

from benchbuilder.annotation.app.app import create_app
from benchbuilder.annotation.app.forms import make_task_form
from benchbuilder.annotation.database.models import Person, Project, Submission
from benchbuilder.annotation.database.store import AnnotationStore

NOW = datetime.now(UTC)
TASKS = 4
PROJECTS = ("calm", "trials")
TIMES = re.compile(r'data-now="[^"]*"')


@dataclass(frozen=True)
class Secrets:
    """All that annotators may not know. `mark` is in every text, `turn` changes every vote."""

    mark: str
    turn: int

    def say(self, what: str) -> str:
        return f"{what}-{self.mark}"

    def texts(self) -> list[str]:
        """What no annotator may read anywhere."""
        return [self.mark, "secret-partition"]

    def submission(self, task_id: int, of: AnnotationStore, person: Person, project: str, number: int) -> Submission:
        held = of.assignment(person, project, number)
        assert held is not None
        assert held.task_id == task_id
        project_ = of.project(project)
        assert project_ is not None
        values = {"sound": (self.turn + task_id) % 2, "supports": self.turn % 2, "grade": 0.1 + 0.2 * self.turn}
        values["why"] = self.say("vote")
        entries = make_task_form(held.task, project_.spec).fields()
        return Submission({entry.subject: values[entry.name] for entry in entries}, self.say("note"), 5.0)


@dataclass(frozen=True)
class BlindWorld:
    """A database in which all have worked, and the links of the annotator, the adjudicator and the project owner."""

    url: str
    annotator: str
    judge: str
    lead: str


def build(url: str, secrets: Secrets) -> BlindWorld:
    """What annotator A sees is the same whatever the `secrets`; the others did what the secrets say."""
    with AnnotationStore.open(url, lambda: NOW) as store:
        first, token = store.invite("Anna Offen", "annotator")
        other, _ = store.invite(secrets.say("Berta"), "annotator")
        judge, judge_token = store.invite(secrets.say("Judith"), "adjudicator")
        _, lead_token = store.invite(secrets.say("Lena"), "lead")
        for name in PROJECTS:
            made = [task(number, about=secrets.say("model")) for number in range(TASKS)]
            expected = [("sound", secrets.turn % 2), ("why", secrets.say("gold"))]
            made.append(task(100, about=secrets.say("gold"), expected=expected))
            rule = "mean" if name == "calm" else "adjudicate"
            store.sync_project(Project(name, spec(rule=rule), "Read *carefully*.", "zh", 7), made)
            _first_works(store, first, name)
            _others_work(store, other, judge, name, secrets)
        return BlindWorld(url, token, judge_token, lead_token)


def _first_works(store: AnnotationStore, person: Person, project: str) -> None:
    """A is done with three tasks, in the same way in every world."""
    same = Secrets("open", 3)
    for number in range(1, 4):
        held = store.assignment(person, project, number)
        assert held is not None
        given = same.submission(held.task_id, store, person, project, number)
        assert store.submit(person, held.task_id, given) == "kept"


def _others_work(store: AnnotationStore, other: Person, judge: Person, project: str, secrets: Secrets) -> None:
    """B submits, takes back, keeps drafts, puts off and flags; J decides what is in dispute, or keeps a draft."""
    for number in range(1, TASKS + 2):
        held = store.assignment(other, project, number)
        assert held is not None
        if number == 2 + secrets.turn:
            store.skip(other, held.task_id)
            store.save_draft(other, held.task_id, {"note": secrets.say("draft")})
            continue
        given = secrets.submission(held.task_id, store, other, project, number)
        assert store.submit(other, held.task_id, given) == "kept"
        if number % 3 == secrets.turn:
            store.flag(other, held.task_id, True, secrets.say("flag"))
        if number == TASKS + secrets.turn:
            store.undo_last(other, project)
    for place in itertools.count():
        task_id = store.next_dispute(judge, project)
        dispute = None if task_id is None or place > secrets.turn else store.dispute(judge, project, task_id)
        if task_id is None or dispute is None:
            break
        values = {subject: 1 if name != "grade" else 0.9 for subject, name in dispute.subjects}
        if place == secrets.turn:
            store.save_draft(judge, task_id, {"reason": secrets.say("draft")})
        else:
            given = Submission(values, reason=secrets.say("reason"), confidence="high")
            assert store.submit_decisions(judge, task_id, given) == "kept"


@dataclass
class Explorer:
    """Somebody who asks for everything. `seen` is what came back, without what differs from session to session."""

    browser: Browser
    routes: list[tuple[str, str]]
    seen: list[str]

    def note(self, method: str, path: str, answer: Answer) -> Answer:
        headers = {
            name: value
            for name, value in answer.headers.items()
            if name not in ("date", "set-cookie", "content-length")
        }
        text = f"{method} {path} {answer.status} {sorted(headers.items())}\n{answer.text}"
        text = text.replace(self.browser.csrf, "CSRF").replace(NOW.isoformat(), "NOW")
        self.seen.append(TIMES.sub("", text))
        assert answer.status < 500, text
        return answer

    def get(self, path: str) -> Answer:
        return self.note("GET", path, self.browser.get(path))

    def follow(self, start: str) -> set[str]:
        """Every page that can be reached by links and redirects from `start`."""
        waiting, known = [start], {start}
        while waiting:
            path = waiting.pop(0)
            answer = self.get(path)
            found = [answer.location] if answer.location else []
            if answer.headers.get("content-type", "").startswith("text/html"):
                found += Page(answer.text).links
            for link in found:
                parts = urlsplit(urljoin(path, link))
                assert not parts.netloc, f"{path} leads away to {link}"
                target = parts.path + (f"?{parts.query}" if parts.query else "")
                if target not in known:
                    known.add(target)
                    waiting.append(target)
        return known

    def ask_all(self, numbers: range) -> None:
        """Every route with every value of its parameters, also those that no page names."""
        for method, route in self.routes:
            for path in _paths(route, numbers):
                if method == "GET":
                    self.get(path + "?state=skipped&start=2&saved=1&undone=1&again=1&outcome=open&gate=sound")
                elif path not in ("/leave", "/enter"):
                    data = {"csrf": self.browser.csrf, "action": "submit", "shown": "0", "language": "xx"}
                    self.note("POST", path, self.browser.post(path, data))

    def send_all_forms(self, path: str) -> None:
        """Every form of the page at `path` with each of its buttons, as it is and filled in."""
        for place, form in enumerate(Page(self.get(path).text).forms):
            for name, value in form.buttons:
                for filled in ("", "1") if value in ("submit", "draft") else ("1",):
                    again = Page(self.browser.get(path).text).forms[place]
                    self._send(again, name, value, filled)

    def _send(self, form: FoundForm, name: str, value: str, filled: str) -> None:
        if form.action == "/leave":
            return
        data = {field: filled or old if field.startswith("v.") else old for field, old in form.fields.items()}
        answer = self.note("POST", form.action, self.browser.post(form.action, data | ({name: value} if name else {})))
        if answer.location:
            self.get(answer.location)


def _paths(route: str, numbers: range) -> Iterator[str]:
    """`route` with all that its parameters can be."""
    values = {
        "{project}": [*PROJECTS, "..%2F"], "{name}": [*PROJECTS], "{seconds}": ["7", "x"],
        "{number}": [*map(str, numbers), "0", "1%00"], "{task_id}": list(map(str, numbers)),
        "{token}": ["forged"],
    }  # fmt: skip
    names = re.findall(r"\{\w+\}", route)
    for chosen in itertools.product(*(values[name] for name in names)):
        path = route
        for name, value in zip(names, chosen, strict=True):
            path = path.replace(name, value)
        yield path


def routes_of(url: str) -> list[tuple[str, str]]:
    """Method and path of every route of the app."""
    with AnnotationStore.open(url) as store:
        app = create_app(store, {}, secure=False, hosts=["127.0.0.1"])
    found = [(method.upper(), path) for path, route in app.openapi()["paths"].items() for method in route]
    assert len(found) > 15
    return found


def explore(world: BlindWorld, folder: Path) -> list[str]:
    """What A gets from everything that A can ask for and do."""
    folder.mkdir()
    everything = range(1, 2 * (TASKS + 1) + 1)
    with serving(world.url, folder, "--at", NOW.isoformat()) as server, Browser(server) as browser:
        assert browser.enter(world.annotator).status == 303
        annotator = Explorer(browser, routes_of(world.url), [])
        found = annotator.follow("/")
        tasks = sorted(path for path in found if re.fullmatch(r"/p/\w+/\d+", path))
        assert len(tasks) == len(PROJECTS) * (TASKS + 1)
        annotator.ask_all(everything)
        for path in tasks:
            if PROJECTS[0] not in path:
                annotator.send_all_forms(path)
        annotator.send_all_forms("/")
        annotator.follow("/")
        assert server.said == ""
    return annotator.seen


@pytest.mark.full
def test_an_annotator_sees_the_same_whatever_the_others_do(tmp_path: Path) -> None:
    one, two = Secrets("ibis", 0), Secrets("lynx", 1)
    worlds = [build(f"sqlite:///{tmp_path / secrets.mark}.sqlite", secrets) for secrets in (one, two)]
    seen = [explore(world, tmp_path / f"{place}") for place, world in enumerate(worlds)]
    assert len(seen[0]) > 250
    for first, second in zip(*seen, strict=True):
        assert first == second
    whole = "\n".join(seen[0])
    assert "vote-open" in whole, "their own votes are there"
    for text in (one.mark, two.mark, "expected", "Berta", "Judith", "Lena"):
        assert text.lower() not in whole.lower(), text
    assert not re.search(r"\b(A2|J1|L1)\b", whole)
    for line in seen[0]:
        method, path, status = line.split(" ", 3)[:3]
        if path.startswith(("/adjudicate", "/lead")) and "%2F" not in path:
            assert status == "403", (method, path, status)
    for world in worlds:
        check_consistent(world.url)


@pytest.mark.full
def test_an_adjudicator_learns_no_names_and_the_lead_sees_all(tmp_path: Path) -> None:
    """That the secrets can be found where they may be shows that the test above looks for the right ones."""
    secrets = Secrets("ibis", 1)
    world = build(f"sqlite:///{tmp_path / 'votes.sqlite'}", secrets)
    pages: dict[str, str] = {}
    with serving(world.url, tmp_path, "--at", NOW.isoformat()) as server:
        for token in (world.judge, world.lead):
            with Browser(server) as browser:
                assert browser.enter(token).status == 303
                explorer = Explorer(browser, [], [])
                explorer.follow("/")
                for number in range(1, 2 * (TASKS + 1) + 1):
                    explorer.get(f"/adjudicate/trials/{number}")
                pages[token] = "\n".join(explorer.seen)
    judge, lead = pages[world.judge], pages[world.lead]
    assert secrets.say("note") in judge
    for secret in ("Berta", "Anna", "model", "gold", "flag"):
        assert not re.search(rf"{secret}-{secrets.mark}|Anna Offen", judge), secret
    assert not re.search(r"\b(A1|A2|L1)\b", judge)
    assert "Anna Offen" in lead
    assert secrets.say("Berta") in lead
    assert secrets.say("flag") in lead
