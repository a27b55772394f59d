"""A table of modified Denavit-Hartenberg rows [Khalil04] as text separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dalembert.errors import RobotError, choices
from dalembert.robot.description import BASE, Robot
from dalembert.robot.expression import CONSTANTS, evaluate, parse
from dalembert.robot.yaml_builder import Document, build_robot
from dalembert.robot.yaml_source import Located, Node, Scope

__all__ = ["MdhTable", "read_mdh_csv"]

_ANGLES, _LENGTHS = ("gamma", "alpha", "theta"), ("b", "d", "r")
_COLUMNS = ("joint", "antecedent", "sigma", *_ANGLES[:1], "b", "alpha", "d", "theta", "r", "body", "mu")
_ALSO: Mapping[str, str] = {
    "j": "joint", "name": "joint", "a(j)": "antecedent", "ant": "antecedent", "parent": "antecedent",
    "σ": "sigma", "γ": "gamma", "α": "alpha", "θ": "theta", "µ": "mu", "μ": "mu",
}  # fmt: skip
_FOREIGN = ("a", "a_i", "ai", "a(i)")  # the lengths of other conventions
_HEADER = re.compile(r"\s*(?P<name>.*?)\s*(?:[\[(/]\s*(?P<unit>rad|deg|m|cm|mm)\s*[\])]?|_(?P<tail>rad|deg|cm|mm))?\s*")
_OWN = re.compile(r"(?P<first>[A-Za-z_]\w*)\s*(?P<after>[-+].*)?|(?P<before>.*\S)\s*\+\s*(?P<last>[A-Za-z_]\w*)")
_TURN = 2.0 * math.pi


@dataclass(frozen=True, slots=True)
class MdhTable:
    """A robot of bodies on the joints of a table, and that table as the lines of a robot file."""

    robot: Robot
    lines: tuple[str, ...]
    notes: tuple[str, ...]


def read_mdh_csv(path: str | Path) -> MdhTable:
    """The robot of a table: a header with any of ``joint antecedent sigma gamma b alpha d theta r body mu``, then rows.

    Lengths in m and angles in rad unless the header says ``d [mm]``, ``alpha [deg]``. Without ``antecedent`` every row
    follows the one before it, without ``joint`` they are called j1, j2, ...; ``mu`` 0 marks a joint without motor. The
    joint's own variable may stand in its cell, ``theta1 + pi/2``. RobotError with the line of what is wrong.
    """
    return _Reader(Path(path)).table()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise RobotError(f"{path}: not text in UTF-8, expected a table of rows") from None
        except OSError as error:
            raise RobotError(f"{path}: cannot be read ({error.strerror or error})") from None
        lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip(" ,;\t") and line[:1] != "#"]
        if len(lines) < 2:
            raise RobotError(f"{path}: found {len(lines)} lines, expected a header and a row per joint")
        delimiter = max((",", ";", "\t"), key=lines[0][1].count)
        self.cells = [[c.strip() for c in row] for row in csv.reader((line for _, line in lines), delimiter=delimiter)]
        self.numbers = [k for k, _ in lines]
        self.columns, self.units = self._header(self.cells[0])

    def _fail(self, row: int, message: str) -> RobotError:
        return RobotError(f"{self.path}:{self.numbers[row]}: {message}")

    def _header(self, cells: list[str]) -> tuple[list[str], list[str]]:
        names, units = [], []
        for cell in cells:
            match = _HEADER.fullmatch(cell)
            said = (match["name"] if match else cell).lower()
            name = _ALSO.get(said, said)
            if name in _FOREIGN:
                raise self._fail(0, (
                    f"column {cell!r} belongs to another convention; expected Khalil and Kleinfinger's "
                    "alpha, d, theta, r: of Craig's modified table a is d and d is r; "
                    "a classical Denavit-Hartenberg table has other frames, take a URDF"
                ))  # fmt: skip
            if name not in _COLUMNS:
                raise self._fail(0, f"column {cell!r}; {choices(name, _COLUMNS)}")
            if name in names:
                raise self._fail(0, f"column {name!r} is there twice, expected different columns")
            names.append(name)
            units.append((match["unit"] or match["tail"] or "") if match else "")
        for name, unit in zip(names, units, strict=True):
            fitting = {"": ("",), "rad": _ANGLES, "deg": _ANGLES}.get(unit, _LENGTHS)
            if unit and name not in fitting:
                raise self._fail(
                    0, f"column {name!r} in {unit}, expected {'an angle' if name in _ANGLES else 'a length'}"
                )
        if not set(names) & {*_ANGLES, *_LENGTHS}:
            raise self._fail(0, f"no column of the geometry, expected some of {', '.join((*_ANGLES, *_LENGTHS))}")
        return names, units

    def table(self) -> MdhTable:
        rows = [self._row(k) for k in range(1, len(self.cells))]
        kept = [c for c in _COLUMNS if c in ("joint", "antecedent") or c in self.columns]
        kept = [c for c in kept if c != "mu"]
        notes = []
        if "antecedent" not in self.columns:
            notes.append("every row follows the one before it (there is no column 'antecedent')")
        if "sigma" not in self.columns:
            notes.append("all joints are revolute (there is no column 'sigma': 0 revolute, 1 prismatic, 2 fixed)")
        if not any(unit in ("deg", "rad") for unit in self.units):
            notes.append("angles are in rad and lengths in m (the header names no units)")
        robot = self._robot(rows, kept)
        still = {row["joint"] for row in rows if row.get("mu", "1") in ("0", "0.0")}
        motors = tuple(m for m in robot.motors if not any(name in still for name, _ in m.turns))
        return MdhTable(replace(robot, motors=motors), tuple(_lines(rows, kept)), tuple(notes))

    def _row(self, k: int) -> dict[str, str]:
        cells = self.cells[k]
        if len(cells) != len(self.columns):
            raise self._fail(k, f"{len(cells)} cells, expected {len(self.columns)} as in the header")
        row = {"joint": f"j{k}", "antecedent": BASE if k == 1 else "", **dict(zip(self.columns, cells, strict=True))}
        row["joint"] = _label(row["joint"])
        if "antecedent" in self.columns:
            row["antecedent"] = BASE if row["antecedent"] in ("", "0", BASE) else _label(row["antecedent"])
        elif k > 1:
            row["antecedent"] = _label(
                dict(zip(self.columns, self.cells[k - 1], strict=True)).get("joint", f"j{k - 1}")
            )
        for name, unit in zip(self.columns, self.units, strict=True):
            if name in (*_ANGLES, *_LENGTHS):
                row[name] = self._value(k, name, row[name], unit)
        return row

    def _value(self, k: int, name: str, cell: str, unit: str) -> str:
        """A cell of the geometry as a robot file has it, the joint's own variable taken out of it."""
        text = _constant(cell.replace("π", "pi").replace("θ", "theta"))
        if unit not in ("", "rad", "m"):
            if re.search("[A-Za-z]", text.replace("pi", "")):
                raise self._fail(k, f"column {name!r}: found {cell!r}, expected a number in {unit} as the header says")
            text = f"({text}) {unit}" if re.search(r"\d\s*[-+*/]|pi", text) else f"{text} {unit}"
        try:
            value = evaluate(parse(text), {})
        except RobotError as error:
            raise self._fail(k, f"column {name!r}: {error}") from None
        if name in _ANGLES and abs(value) > _TURN:
            hint = f"; for degrees write {name + ' [deg]'!r} in the header"
            raise self._fail(k, f"column {name!r}: {text} is {value:g} rad, more than a turn{hint if not unit else ''}")
        return "0" if value == 0.0 else text

    def _robot(self, rows: list[dict[str, str]], kept: list[str]) -> Robot:
        """The robot of the rows, read as those of a robot file; messages name lines of this one."""
        table = [
            Node(n, pairs=tuple((Node(n, name), Node(n, row[name])) for name in kept))
            for n, row in zip(self.numbers[1:], rows, strict=True)
        ]
        top, file = self.numbers[0], str(self.path)
        name = Located(Node(top, self.path.stem, quoted=True), file, "name")
        layers = {
            "name": (name,),
            "source": (Located(Node(top, file, quoted=True), file, "source"),),
            "mdh": (Located(Node(top, items=tuple(table)), file, "rows"),),
        }
        return build_robot(Document(name, layers), Scope())


def _label(text: str) -> str:
    """Joints that are called by their number get a letter before it."""
    return f"j{text}" if text.isdigit() else text


def _constant(cell: str) -> str:
    """What is added to the joint's variable: ``theta1 - pi/2``, ``pi/2 + q1``, ``q1`` or a cell without it."""
    match = _OWN.fullmatch(cell)
    if match is None or (match["first"] or match["last"]) in CONSTANTS:
        return cell or "0"
    # no space after a sign: "- pi/2" in a list is another list to YAML
    return re.sub(r"^([-+])\s*", lambda sign: sign[1].strip("+"), match["after"] or match["before"] or "0")


def _lines(rows: list[dict[str, str]], kept: list[str]) -> list[str]:
    """The table as aligned lines of a robot file."""
    cells = [[row[c] for c in kept] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(kept))]
    out = ["mdh:", f"  columns: [{', '.join(kept)}]", "  rows:"]
    for row in cells:
        padded = [cell + ("," if i < len(kept) - 1 else "") for i, cell in enumerate(row)]
        line = " ".join(cell.ljust(w + 1) for cell, w in zip(padded, widths, strict=True)).rstrip()
        out.append(f"    - [{line}]")
    return out
