"""A spool is the sequence that a list would be, whether it is held or in a file."""

import errno
import io
import os
import pickle
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.annotation import spool
from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.spool import MappedSequence, Spool


@pytest.fixture(params=[0, 10, 2**20], autouse=True, scope="module")
def held(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_HELD_BYTES", request.param or 1)
        patch.setattr(spool, "_HELD_ITEMS", 6)
        yield


@given(st.lists(st.text() | st.tuples(st.integers(), st.text())), st.lists(st.integers(0, 30)))
def test_items_come_back_while_others_are_added(items, reads):
    found = Spool(items[:2], block=3)
    for number, item in enumerate(items[2:], start=2):
        found.append(item)
        for place in reads:
            if place <= number:
                assert found[place] == items[place]
    assert list(found) == items
    assert len(found) == len(items)
    assert found[1:-1] == items[1:-1]
    assert list(MappedSequence(found, repr)) == [repr(item) for item in items]
    if items:
        assert found[-1] == items[-1]
        assert MappedSequence(found, repr)[0] == repr(items[0])
    with pytest.raises(IndexError):
        found[len(items)]


def test_two_readers_do_not_disturb_each_other():
    found = Spool(range(20), block=3)
    assert list(zip(found, found, strict=True)) == [(number, number) for number in range(20)]
    assert [found[19 - number] for number in found] == list(reversed(range(20)))


class CountedItem:
    """An item that counts how often one is made from its pickle."""

    made = 0

    def __setstate__(self, state):
        CountedItem.made += 1


def test_a_read_makes_the_items_of_one_block():
    items = [CountedItem() for _ in range(40)]
    for number, item in enumerate(items):
        item.number = number
    found = Spool(items, block=4)
    CountedItem.made = 0
    assert isinstance(found[17], CountedItem)
    assert isinstance(found[18], CountedItem)
    assert CountedItem.made == 4


def test_a_subject_is_pickled_without_the_slow_code_of_its_data_class(monkeypatch):
    subject = Subject("c1", "w1", "text")
    monkeypatch.setattr(Subject, "__getstate__", None)
    again = pickle.loads(pickle.dumps(subject, pickle.HIGHEST_PROTOCOL))
    assert (again, again.text) == (subject, "text")


class FullDisk(io.BytesIO):
    """A file on a full disk."""

    def write(self, data, /):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda max_size: FullDisk())
    with pytest.raises(OSError, match="No space left") as caught:
        Spool(range(6), block=3)
    assert caught.value.filename == tempfile.gettempdir()
