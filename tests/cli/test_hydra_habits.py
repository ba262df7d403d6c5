"""Words of Hydra's users."""

from __future__ import annotations

import pytest

from benchbuilder.authoring import sweep_runs
from benchbuilder.cli.dispatch import main
from benchbuilder.cli.hydra_habits import translate_habits


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("-m recipe=care_mi seed=1,2", "sweep recipe=care_mi seed=1,2"),
        ("recipe=care_mi --multirun seed=1,2", "sweep recipe=care_mi seed=1,2"),
        ("-cn care_mi", "recipe=care_mi"),
        ("--config-name=care_mi", "recipe=care_mi"),
        ("--cfg job recipe=care_mi", "show --plain recipe=care_mi"),
        ("--cfg job --package steps recipe=care_mi", "show --plain steps recipe=care_mi"),
        ("--info recipe=care_mi", "show recipe=care_mi"),
        ("recipe=care_mi --info defaults-tree", "show recipe=care_mi"),
        ("--config-dir mine recipe=care_mi", "--recipes mine recipe=care_mi"),
        ("recipe=care_mi --refresh items", "recipe=care_mi --refresh items"),
    ],
)
def test_a_habit_means_a_command_of_this_program(given: str, meant: str) -> None:
    assert translate_habits(given.split()) == meant.split()


@pytest.mark.push
@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("--cfg hydra recipe=care_mi", "--cfg job"),
        ("--shell-completion install=bash", "benchbuild completion"),
        ("-cn", "recipe=care_mi"),
        ("--info plugins", "benchbuild ls --kinds"),
        ("recipe=care_mi hydra.run.dir=x", "run.dir=FOLDER"),
        ("recipe=care_mi retriever.top_k=1,2", "benchbuild sweep"),
        ("recipe=care_mi retriever.top_k=range(1,3)", "benchbuild sweep"),
        ("recipe=care_mi +experiment=x", "variant=NAME"),
    ],
)
def test_what_has_no_counterpart_names_the_word_to_use(
    given: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given.split()) == 2
    assert word in capsys.readouterr().err


def test_a_range_is_swept() -> None:
    assert [run.own_overrides for run in sweep_runs(["recipe=care_mi", "retriever.top_k=range(1,3)"])] == [
        ("retriever.top_k=1",),
        ("retriever.top_k=2",),
    ]
