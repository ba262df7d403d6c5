"""The progress that the project owner sees and the step of a build decide alike."""

import random

import pytest
from judged_world import World

from benchbuilder.annotation.progress.project import project_progress
from benchbuilder.annotation.tasks import judgement_requests, make_candidate_tasks
from benchbuilder.config.spec.annotation import ProjectSpec

pytestmark = pytest.mark.push


def project(spec):
    """The settings of the app that correspond to the `spec` of sheets."""
    data = spec.model_dump()
    shared = {name: data[name] for name in data if name in ProjectSpec.model_fields}
    return ProjectSpec.model_validate(
        {**shared, "kind": "claims", "title": "t", "fields": {"text": "a", "right": "b", "wrong": "c"}, "heading": "h",
         "paragraph": "p", "per_task": 2}
    )  # fmt: skip


@pytest.mark.push
@pytest.mark.parametrize("seed", range(4))
def test_progress_and_step_decide_alike(tmp_path, seed):
    world = World(tmp_path, count=30, min_evidence=2)
    draw = random.Random(seed)
    world.waiting()
    world.votes(lambda person, row, paragraph, question: int(draw.random() < (0.8 if paragraph else 0.93)))
    items, outcomes, notes = world.run()
    shown = make_candidate_tasks(world.candidates, world.evidence)
    asked = judgement_requests(shown.tasks, world.spec)
    ballot = world.stage().backend.collect(asked.keys(), tmp_path / "annotation")

    found = project_progress(project(world.spec), shown.tasks, ballot)

    rows = {row.key: row for row in found.tasks}
    kept = {item.candidate for item in items}
    for candidate in world.candidates:
        row = rows[shown.task_key_of[candidate.id]]
        assert (row.outcome == "kept") == (candidate.id in kept)
        if row.outcome == "dropped":
            reason = {"min_evidence": "too_little_evidence"}.get(row.gate, f"not_{row.gate}")
            assert outcomes[candidate.id]["reason"] == reason
            if row.gate == "min_evidence":
                assert outcomes[candidate.id]["detail"].startswith(f"{row.decision:g} supporting")
    assert found.count("open") == 0
    assert list(found.gates) == notes["gates"]
    assert list(found.thresholds) == notes["thresholds"]
    for question in found.questions:
        agreed = notes["agreement"][question.name]
        assert question.shared_count == agreed["n"]
        for name, figure in question.measures.items():
            assert (figure.value, figure.low, figure.high) == tuple(
                agreed[name].get(part) for part in ("value", "low", "high")
            )
    assert sum(question.settled_count for question in found.questions) == notes["votes"]["adjudicated"]
