"""A table in a file gives the rows and the products that it gives in memory, and leaves no file behind."""

import errno

import numpy as np
import pytest

from benchbuilder.core.stats import stored_matrix
from benchbuilder.core.stats.stored_matrix import StoredMatrix


def pieces(rows=1_000, width=7, size=130):
    numbers = np.random.default_rng(1).standard_normal((rows, width)).astype(np.float32)
    return numbers, (numbers[start : start + size] for start in range(0, rows, size))


@pytest.mark.parametrize("columns", [1, 3, 70])
@pytest.mark.parametrize("window", [64, 999, 1_000])
def test_a_file_gives_what_memory_gives(tmp_path, monkeypatch, window, columns):
    monkeypatch.setattr(stored_matrix, "_HELD", 0)
    monkeypatch.setattr(stored_matrix, "_WINDOW", window)
    numbers, some = pieces()
    table = StoredMatrix(some, *numbers.shape, tmp_path / "scratch")
    assert len(list(table.windows())) == -(-1_000 // window)
    np.testing.assert_array_equal(np.concatenate([part for _, part in table.windows()]), numbers)
    chosen = np.flatnonzero(np.random.default_rng(2).random(1_000) < 0.3)
    np.testing.assert_array_equal(table.take(chosen), numbers[chosen])
    weights = np.random.default_rng(3).standard_normal((1_000, columns)).astype(np.float32)
    np.testing.assert_allclose(table.transposed_times(weights), numbers.T @ weights, rtol=1e-3, atol=1e-3)
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize("rows", [0, 5])
def test_a_small_table_and_one_without_a_folder_stay_in_memory(tmp_path, monkeypatch, rows):
    numbers, some = pieces(rows)
    assert len(list(StoredMatrix(some, *numbers.shape, tmp_path / "scratch").windows())) == 1
    monkeypatch.setattr(stored_matrix, "_HELD", -1)
    table = StoredMatrix([numbers], *numbers.shape, None)
    assert not (tmp_path / "scratch").exists()
    np.testing.assert_array_equal(table.take(np.arange(rows)), numbers)
    weights = np.ones((rows, 1), np.float32)
    np.testing.assert_allclose(table.transposed_times(weights), numbers.T @ weights, rtol=1e-5)


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_matrix, "_HELD", 0)
    numbers, some = pieces()

    def fill_up():
        yield next(some)
        raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(OSError, match="no space left") as raised:
        StoredMatrix(fill_up(), *numbers.shape, tmp_path / "scratch")
    assert raised.value.filename == str(tmp_path / "scratch")
