"""A small world for the review app: three projects, people, and browsers of theirs."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from starlette.testclient import TestClient

from benchbuilder.annotation.app.app import create_app
from benchbuilder.annotation.base import ShownParagraph, Task
from benchbuilder.annotation.database.models import Person, Project
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.annotation.tasks import paragraph_key, task_key
from benchbuilder.config.spec.annotation import ProjectSpec

RECIPES = Path(__file__).parents[2] / "recipes"
BOOTSTRAP = {"samples": 100, "level": 0.95, "seed": 1}
GUIDELINE = """## 判断原则

1. 以**现行教材和指南**为准，见[示例](https://example.org/guide)。
2. 只看所示段落，不要凭记忆补充。

| 情形 | 填写 |
| --- | --- |
| 直接写明 | 1 |
| 只是话题相近 | 0 |

<script>alert(1)</script> ![x](https://example.org/x.png)
"""

CLAIMS = (
    ("子痫前期最主要的病理生理变化是什么？", "全身小动脉痉挛", "全身小静脉扩张"),
    ("妊娠期高血压的血压升高首次出现于什么时候？", "妊娠20周以后", "妊娠12周以前"),
    ("控制子痫抽搐的药物首选什么？", "硫酸镁", "地西泮"),
    ("妊娠期糖尿病的筛查一般在什么时候进行？", "妊娠24～28周", "妊娠34～36周"),
)
PARAGRAPHS = (
    ("产科学讲义：子痫前期的病理生理", "子痫前期最主要的病理生理变化是全身小动脉痉挛，同时有血管内皮损伤。"
     "小动脉管腔变窄后外周阻力增加、血压上升，脑、肾、肝等器官缺血；胎盘灌注不足则影响胎儿发育，"
     "造成胎儿生长受限。"
     "妊娠期高血压与子痫前期的血压升高均首次出现于妊娠20周以后；"
     "子痫前期的发病机制与子宫螺旋动脉重铸不足有关。"),
    ("", "在子痫前期的发病机制中，胎盘形成异常是起点：滋养细胞侵入过浅，子宫螺旋动脉重铸不足，"
     "胎盘长期缺血缺氧，释放出的多种因子进入母体血液，损伤血管内皮，继而出现高血压和蛋白尿。流行病学上，初产妇是子痫前期的多发群体。"),
    ("妇产科护理要点：子痫的护理", "子痫发作时应专人守护，保持气道通畅，避免声光刺激，防止坠床和舌咬伤。"
     "控制子痫抽搐的药物首选硫酸镁。"),
    ("妊娠期高血压的界定", "妊娠期高血压的血压升高首次出现于妊娠20周以后，不伴蛋白尿和器官损害，产后逐渐恢复正常。"),
)  # fmt: skip


def task(fields: dict[str, str], paragraphs: tuple[tuple[str, str], ...] = (), **more: Any) -> Task:
    key = task_key(fields.items())
    shown = tuple(ShownParagraph(paragraph_key(key, text), "textbook", title, text) for title, text in paragraphs)
    return Task(key, tuple(fields.items()), shown, **more)


@cache
def _claim_questions() -> Any:
    return yaml.safe_load((RECIPES / "questions" / "zh_claims.yaml").read_text(encoding="utf-8"))["questions"]


def claims_spec(**changes: Any) -> ProjectSpec:
    data: dict[str, Any] = {
        "kind": "app", "title": "标注：母婴健康陈述", "questions": _claim_questions(), "bootstrap": BOOTSTRAP,
        "per_task": 2, "heading": "问题", "paragraph": "段落", "suggested_seconds": 300, "min_evidence": 3,
        "fields": {"text": "问题", "right": "正确答案", "wrong": "错误答案"},
    }  # fmt: skip
    return ProjectSpec.model_validate(data | changes)


def ratings_spec(**changes: Any) -> ProjectSpec:
    bands = {
        "full": {"low": 0.8, "high": 1.0, "text": "Right throughout; nothing important is missing."},
        "most": {"low": 0.6, "high": 0.8, "text": "Mostly right; small gaps or slips that mislead nobody."},
        "half": {"low": 0.4, "high": 0.6, "text": "Right and wrong in about equal parts."},
        "some": {"low": 0.2, "high": 0.4, "text": "Mostly wrong, with something right in it."},
        "none": {"low": 0.0, "high": 0.2, "text": "Wrong, harmful, or no answer at all."},
    }
    scalar = {"subject": "claim", "answer": "scalar", "bands": bands}
    data: dict[str, Any] = {
        "kind": "review", "title": "Rating of answers", "per_task": 3, "rule": "mean", "heading": "Answer",
        "paragraph": "Paragraph", "suggested_seconds": 120, "bootstrap": BOOTSTRAP,
        "fields": {"question": "Question", "answer": "Answer to rate", "model": None},
        "questions": {
            "correctness": {**scalar, "order": 1, "label": "Correctness", "text": "How far is the answer right?"},
            "interpretability": {
                **scalar, "order": 2, "label": "Interpretability", "text": "Does it explain itself?",
            },
            "tone": {
                "order": 3, "subject": "claim", "label": "Tone", "text": "How does it speak to a patient?",
                "answer": "scale", "options": {1: "curt", 2: "neutral", 3: "kind"}, "required": False,
            },
        },
    }  # fmt: skip
    return ProjectSpec.model_validate(data | changes)


def forms_spec(**changes: Any) -> ProjectSpec:
    text = {"subject": "claim", "answer": "text"}
    data: dict[str, Any] = {
        "kind": "review", "title": "Free answers", "per_task": 1, "rule": "mean", "heading": "Dialogue",
        "paragraph": "Paragraph", "bootstrap": BOOTSTRAP, "fields": {"dialogue": "Dialogue"},
        "questions": {
            "complaint": {**text, "order": 1, "label": "Complaint", "text": "What is it about?", "lines": 1,
                          "max_chars": 80},
            "advice": {**text, "order": 2, "label": "Advice", "text": "What was advised?", "lines": 5},
            "drugs": {**text, "order": 3, "label": "Drugs", "text": "Which drugs were named?", "required": False},
        },
    }  # fmt: skip
    return ProjectSpec.model_validate(data | changes)


def claim_tasks(count: int = 4) -> list[Task]:
    tasks: list[Task] = []
    for n in range(count):
        question, right, wrong = CLAIMS[n % len(CLAIMS)]
        text = question if n < len(CLAIMS) else f"{question}（{n}）"
        fields = {"text": text, "right": right, "wrong": wrong}
        tasks.append(task(fields, PARAGRAPHS, about=(("partition", "secret-partition"),)))
    return tasks


def rating_tasks() -> list[Task]:
    return [
        task(
            {"question": f"Is magnesium sulphate the first choice in eclampsia? ({n})", "answer": f"Yes. {n}"},
            about=(("model", "hidden-model-name"),),
        )
        for n in range(3)
    ]


def form_tasks() -> list[Task]:
    return [task({"dialogue": f"Patient: my head hurts ({n}).\nDoctor: rest, and drink water."}) for n in range(3)]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class Browser:
    """A client that keeps cookies, reads the forms of pages, and sends them."""

    client: TestClient
    token: str = ""
    person: Person | None = None

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(path, **options)

    def enter(self) -> Any:
        page = self.client.get(f"/enter/{self.token}")
        assert page.status_code == 200, page.text
        return self.client.post("/enter", data={"token": self.token, "csrf": hidden(page.text, "csrf")})

    @property
    def csrf(self) -> str:
        return hidden(self.client.get("/help").text, "csrf")

    def post(self, path: str, data: dict[str, Any] | None = None, **options: Any) -> Any:
        return self.client.post(path, data={"csrf": self.csrf, **(data or {})}, **options)

    def undo(self, page: str) -> Any:
        """Press the undo button of `page`, which may redirect."""
        shown = self.client.get(page, follow_redirects=True).text
        return self.post("/".join([*page.split("/")[:3], "undo"]), {"last": hidden(shown, "last")})

    def form(self, path: str) -> dict[str, str]:
        """The answer fields of the task at `path`, empty or as filled in, and what has to go with them."""
        return fields_of(self.client.get(path).text)

    def submit(self, path: str, fill: Any = "1", action: str = "submit", **changes: str) -> Any:
        data = self.form(path)
        data |= {name: fill for name in data if name.startswith("v.")} if fill is not None else {}
        return self.client.post(path, data=data | {"action": action} | changes)


def hidden(html: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found, f"no field {name}"
    return found[1]


def fields_of(html: str) -> dict[str, str]:
    form = html.partition('<form id="work"')[2].partition("</form>")[0]
    data = {name: hidden(form, name) for name in ("csrf", "shown", "active", "base", "draft")}
    data["page"] = hashlib.sha256(html.encode()).hexdigest()[:12]  # the script of the page draws it
    if 'name="task"' in form:
        data["task"] = hidden(form, "task")
    data["note"] = ""
    for name in re.findall(r'name="(v\.[^"]+)"', form):
        data.setdefault(name, "")
    for name, value in re.findall(r'name="(v\.[^"]+)" value="([^"]*)"(?: id="[^"]*")? checked', form):
        data[name] = value
    for name, value in re.findall(r'type="text"[^>]*? name="(v\.[^"]+)" value="([^"]*)"', form):
        data[name] = value
    for name, value in re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?([^<]*)</textarea>', form):
        data[name] = value
    return data


@dataclass
class World:
    store: AnnotationStore
    clock: Clock
    app: Any
    links: dict[str, str] = field(default_factory=dict)

    def browser(self, name: str = "", role: Any = "annotator", *, enter: bool = True) -> Browser:
        """A fresh browser of the person called `name`, who is invited if need be."""
        client = TestClient(
            self.app, base_url="http://testserver", follow_redirects=False, headers={"Accept-Language": "en"}
        )
        person = None
        if name and name not in self.links:
            person, self.links[name] = self.store.invite(name, role)
        browser = Browser(client, self.links.get(name, ""), person)
        if name and enter:
            assert browser.enter().status_code == 303
        return browser


def copy_world(world: World, folder: Path) -> World:
    """A world of its own that begins as the closed `world` ended; nobody is signed in."""
    clock = Clock()
    clock.now = world.clock.now
    path = shutil.copy(world.store._transactions.url.database or "", folder)
    store = AnnotationStore.open(f"sqlite:///{path}", clock)
    app = create_app(store, {}, secure=False, hosts=["testserver", "127.0.0.1"])
    return World(store, clock, app, dict(world.links))


def make_world(url: str, projects: list[tuple[Project, list[Task]]] | None = None, **app: Any) -> World:
    clock = Clock()
    store = AnnotationStore.open(url, clock)
    default = [
        (Project("claims", claims_spec(), GUIDELINE, "zh", 7), claim_tasks()),
        (Project("ratings", ratings_spec(), "Rate *independently*.", "en", 7), rating_tasks()),
        (Project("forms", forms_spec(), "", "en", 7), form_tasks()),
    ]
    for project, tasks in projects or default:
        store.sync_project(project, tasks)
    made = create_app(store, app.pop("strings", {}), secure=app.pop("secure", False), hosts=["testserver", "127.0.0.1"])
    return World(store, clock, made)
