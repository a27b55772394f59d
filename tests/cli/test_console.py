"""What is printed is what was said."""

from __future__ import annotations

import pytest

from dalembert.cli.console import bold, emit, note, table


def test_brackets_are_units_and_paths_not_styles(capsys: pytest.CaptureFixture[str]) -> None:
    said = ["nearest limit: velocity of m1 [rad/s]", "written: runs[red]/fit.json", "source: [briot15], table [/bold]"]
    emit(False, {}, *said, bold("record [s]"), table("motors [m]", ["error [rad or m]"], [["[b]m1"]]))
    note("samples [dim] masked")
    printed = capsys.readouterr()
    for text in (*said, "record [s]", "motors [m]", "error [rad or m]", "[b]m1"):
        assert text in printed.out
    assert printed.err == "samples [dim] masked\n"
