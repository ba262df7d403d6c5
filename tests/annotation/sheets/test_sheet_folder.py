import pytest

from benchbuilder.annotation.sheets.folder import sync_sheet_folder


def put(folder, packets):
    return sync_sheet_folder(folder, {name: lambda content=content: content for name, content in packets.items()})


def names(folder):
    return sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))


def test_packets_of_before_go_unless_people_changed_them(tmp_path):
    folder = tmp_path / "to_fill"
    assert put(folder, {"a-1.csv": b"one", "b-1.csv": b"two"}) == []
    (folder / "b-1.csv").write_bytes(b"two, filled in")
    (folder / "mine.xlsx").write_bytes(b"something else")
    assert put(folder, {"a-2.csv": b"three"}) == ["b-1.csv", "mine.xlsx"]
    assert names(folder) == ["a-2.csv", "b-1.csv", "mine.xlsx"]
    assert (folder / "b-1.csv").read_bytes() == b"two, filled in"


def test_a_current_packet_that_people_fill_in_in_place_is_not_written_over(tmp_path):
    folder = tmp_path / "to_fill"
    put(folder, {"a-1.csv": b"one"})
    (folder / "a-1.csv").write_bytes(b"one, filled in")
    assert put(folder, {"a-1.csv": b"one"}) == ["a-1.csv"]
    assert (folder / "a-1.csv").read_bytes() == b"one, filled in"


def test_nothing_to_ask_leaves_no_folder(tmp_path):
    folder = tmp_path / "to_fill"
    assert put(folder, {}) == []
    assert not folder.exists()
    put(folder, {"a-1.csv": b"one"})
    assert put(folder, {}) == []
    assert not folder.exists()


def test_an_interrupted_call_is_made_good(tmp_path):
    folder = tmp_path / "to_fill"
    put(folder, {"a-1.csv": b"one", "b-1.csv": b"two"})
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    (folder / "b-1.csv").unlink()
    assert put(folder, {"a-1.csv": b"one", "b-1.csv": b"two"}) == []
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole


def test_what_lies_there_is_not_made_again(tmp_path):
    def never():
        raise AssertionError("it lies there")

    put(tmp_path, {"a-1.csv": b"one"})
    assert sync_sheet_folder(tmp_path, {"a-1.csv": never}) == []
    assert names(tmp_path) == ["a-1.csv"]


def test_killed_while_writing(tmp_path):
    def killed():
        raise KeyboardInterrupt

    put(tmp_path, {"a-1.csv": b"one"})
    with pytest.raises(KeyboardInterrupt):
        sync_sheet_folder(tmp_path, {"a-2.csv": lambda: b"two", "b-2.csv": killed})
    assert put(tmp_path, {"a-2.csv": b"two", "b-2.csv": b"three"}) == []
    assert names(tmp_path) == ["a-2.csv", "b-2.csv"]
