"""Trajectory files: YAML that names a family and its numbers, or a table of samples (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError
from dalembert.excitation.fourier import Fourier, FourierPath
from dalembert.model import Model
from dalembert.robot.quantity import ANGLE, POSITION, PURE, TIME, Quantity, motion_of
from dalembert.robot.yaml_source import Located, parse_file
from dalembert.simulation.trajectories.moves import Law, Moves, move_times, moves
from dalembert.simulation.trajectories.random_points import random_points
from dalembert.simulation.trajectories.sampled import read_sampled
from dalembert.simulation.trajectories.shapes import corners, outlines
from dalembert.simulation.trajectories.trajectory import MOTORS, Trajectory, follower_of, home_of, limit_of, names_of

__all__ = ["read_trajectory"]

Array = NDArray[np.float64]

_TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet")


def read_trajectory(path: str | Path, model: Model) -> Trajectory:
    """The trajectory of a file for a robot; an error names file, line, what was found and what was expected."""
    path = Path(path)
    if path.suffix.lower() in _TABLES:
        return read_sampled(path, model)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(
            f"{path}: unknown suffix {path.suffix!r}; expected a .yaml trajectory or samples in .csv or .parquet"
        )
    root = parse_file(path)
    entries = root.entries("a trajectory")
    if "family" not in entries:
        root.fail(f"the key 'family' is missing; choose from {', '.join(_FAMILIES)}")
    family = entries["family"].choice_of(_FAMILIES)
    keys, read = _FAMILIES[family]
    found = root.mapping(("family", "coordinates", *keys), ("family",), f"a {family} trajectory")
    try:
        return read(root, found, model, _coordinates(found, model))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _coordinates(found: Mapping[str, Located], model: Model) -> tuple[str, ...] | str:
    """What moves: the model's independent coordinates unless the file says otherwise."""
    item = found.get("coordinates")
    if item is None:
        return model.independent
    if item.is_text:
        item.choice_of([MOTORS])
        if len(model.position_map()) > model.r:
            item.fail(
                f"{len(model.position_map())} positions of motors and sensors for {model.r} mobilities cannot move one "
                f"by one; expected {model.r} coordinates, for example {', '.join(model.independent)}"
            )
        return MOTORS
    names = tuple(entry.choice_of(model.coordinates) for entry in item.items("a list of coordinates, or motors"))
    if len(names) != model.r or len(set(names)) != model.r:
        item.fail(f"{len(names)} coordinates, expected {model.r} different ones, as many as mobilities")
    return names


def _positions(model: Model, names: tuple[str, ...]) -> tuple[Quantity, ...]:
    """What a position is of each coordinate or motor."""
    return tuple(motion_of(model.robot.bodies, name)["lower"] for name in names)


def _each(item: Located, of: tuple[Quantity, ...], what: str) -> list[float]:
    """A list of one number of each quantity."""
    return [entry.number(kind) for entry, kind in zip(item.exactly(len(of), what), of, strict=True)]


def _per_coordinate(item: Located, model: Model, names: tuple[str, ...]) -> Array:
    """One number for all, or a list of one per coordinate."""
    of = _positions(model, names)
    if item.is_text:
        return np.array([item.number(kind) for kind in of])
    return np.array(_each(item, of, f"one number, or one each for {', '.join(names)}"))


def _rows(item: Located, of: tuple[Quantity, ...], what: str) -> Array:
    return np.array([_each(entry, of, what) for entry in item.items(f"a list of {what}")])


def _fourier(root: Located, found: Mapping[str, Located], model: Model, where: tuple[str, ...] | str) -> Trajectory:
    names, home = names_of(model, where), home_of(model, where)
    if "duration" not in found:
        root.fail("the key 'duration' is missing, the period in s")
    duration = found["duration"].positive(TIME, "a duration in s")
    centre = _per_coordinate(found["centre"], model, names) if "centre" in found else home
    if "sine" in found or "cosine" in found:
        if "amplitude" in found:
            found["amplitude"].fail("beside sines and cosines, expected either")
        some = next(found[key] for key in ("sine", "cosine") if key in found)
        each = f"a row of harmonics each for {', '.join(names)}"
        harmonics = len(some.exactly(len(names), each)[0].items())
        both = [np.zeros((len(names), harmonics)) for _ in range(2)]
        for rows, key in zip(both, ("sine", "cosine"), strict=True):
            if key in found:
                given = zip(found[key].exactly(len(names), each), _positions(model, names), strict=True)
                rows[:] = [row.numbers(of, harmonics, f"{harmonics} harmonics") for row, of in given]
        return Trajectory(FourierPath(Fourier(harmonics, duration), centre, *both), where, duration, periodic=True)
    if "amplitude" not in found:
        root.fail("neither 'amplitude' nor 'sine' and 'cosine' are given, expected one of them")
    harmonics = _whole(found.get("harmonics"), 5, "a number of harmonics")
    rng = np.random.default_rng(_whole(found.get("seed"), 0, "a seed", least=0))
    family = Fourier(harmonics, duration)
    draw = FourierPath(family, centre, *rng.standard_normal((2, len(names), harmonics)))
    reach = np.abs(draw(np.linspace(0.0, duration, 100 * harmonics, endpoint=False))[0] - centre).max(axis=0)
    scale = (_per_coordinate(found["amplitude"], model, names) / reach)[:, None]
    path = FourierPath(family, centre, scale * draw.sine, scale * draw.cosine)
    return Trajectory(path, where, duration, periodic=True)


def _whole(item: Located | None, default: int, what: str, least: int = 1) -> int:
    if item is None:
        return default
    value = item.number(PURE, what)
    if value != round(value) or value < least:
        item.fail(f"found {value:g}, expected {what}, a whole number of at least {least}")
    return round(value)


def _points(root: Located, found: Mapping[str, Located], model: Model, where: tuple[str, ...] | str) -> Trajectory:
    names = names_of(model, where)
    if ("points" in found) == ("random" in found):
        root.fail("expected either 'points' or 'random'")
    if "points" in found:
        points = _rows(found["points"], _positions(model, names), f"positions of {', '.join(names)}")
    else:
        keys = found["random"].mapping(("count", "seed", "amplitude"), ("count",), "random points")
        rng = np.random.default_rng(_whole(keys.get("seed"), 0, "a seed", least=0))
        amplitude = keys["amplitude"].positive(POSITION, "an amplitude") if "amplitude" in keys else None
        follower = follower_of(model, where)
        count = _whole(keys["count"], 1, "a count")
        points = random_points(model, count, rng, coordinates=where, follower=follower, amplitude=amplitude)
    return _moved(found, points, model, names, where)


def _moved(
    found: Mapping[str, Located], points: Array, model: Model, names: tuple[str, ...], where: tuple[str, ...] | str
) -> Trajectory:
    law, pause = _law(found), _pause(found)
    if len(points) < 2:
        raise UsageError(f"trajectory: {len(points)} points, expected at least two")
    if "move" in found:
        item = found["move"]
        if item.is_text:
            times = np.full(len(points) - 1, item.positive(TIME, "a time in s"))
        else:
            times = np.array(
                [entry.positive(TIME, "a time in s") for entry in item.exactly(len(points) - 1, "one time each")]
            )
    else:
        limits = [limit_of(model.robot, name) for name in names]
        times = move_times(points, [k.velocity for k in limits], [k.acceleration for k in limits], law)
    path: Moves = moves(points, times, pause, law)
    return Trajectory(path, where, float(path.end[-1] + pause), rests=True)


def _law(found: Mapping[str, Located]) -> Law:
    return found["law"].choice(Law) if "law" in found else Law.QUINTIC


def _pause(found: Mapping[str, Located]) -> float:
    value = found["pause"].number(TIME, "a time in s") if "pause" in found else 0.0
    if value < 0.0:
        found["pause"].fail(f"found {value:g}, expected a time in s, not negative")
    return value


_SHAPE = ("square", "triangle", "vertices", "centre", "turn")


def _outline(root: Located, found: Mapping[str, Located], model: Model, where: tuple[str, ...] | str) -> Trajectory:
    if where == MOTORS:
        found["coordinates"].fail("outlines are drawn in two of the robot's coordinates, expected their names")
    assert not isinstance(where, str)
    for key in ("plane", "shapes"):
        if key not in found:
            root.fail(f"the key {key!r} is missing, found {', '.join(found)}")
    first, second = (_moving(item, model, where) for item in found["plane"].exactly(2, "two coordinates"))
    if first == second:
        found["plane"].fail(f"found {first} twice, expected two different coordinates")
    plane = _positions(model, (first, second))
    shapes = [_shape(item, plane) for item in found["shapes"].items("a list of shapes")]
    if not shapes:
        found["shapes"].expected("at least one shape")
    hold = {}
    if "hold" in found:
        others = [name for name in where if name not in (first, second)]
        held = found["hold"].mapping(others, (), "coordinates to hold")
        hold = {
            name: item.number(of) for (name, item), of in zip(held.items(), _positions(model, tuple(held)), strict=True)
        }
    move = found["move"].positive(TIME, "a time in s") if "move" in found else 0.5
    laps = _whole(found.get("laps"), 1, "a number of laps")
    return outlines(
        model, shapes, (first, second), coordinates=where, hold=hold, move=move, pause=_pause(found), laps=laps,
        law=_law(found),
    )  # fmt: skip


def _moving(item: Located, model: Model, where: tuple[str, ...]) -> str:
    name = item.choice_of(model.coordinates)
    if name not in where:
        item.fail(
            f"{name} is not among what moves, {', '.join(where)}; name it under 'coordinates' with {model.r - 1} others"
        )
    return name


def _shape(item: Located, plane: tuple[Quantity, ...]) -> Array:
    keys = item.mapping(_SHAPE, (), "a shape")
    kinds = [kind for kind in _SHAPE[:3] if kind in keys]
    if len(kinds) != 1:
        item.fail(f"found {', '.join(keys) or 'no key'}, expected one of square, triangle, vertices")
    (kind,) = kinds
    if kind == "vertices":
        for other in ("centre", "turn"):
            if other in keys:
                keys[other].fail("beside vertices, expected their own coordinates only")
        return _rows(keys[kind], plane, "two coordinates")
    centre = _each(keys["centre"], plane, "two coordinates") if "centre" in keys else (0.0, 0.0)
    turn = keys["turn"].number(ANGLE) if "turn" in keys else 0.0
    return corners(4 if kind == "square" else 3, keys[kind].positive(plane[0], "the length of a side"), centre, turn)


_Reader = Callable[[Located, Mapping[str, Located], Model, tuple[str, ...] | str], Trajectory]
_FAMILIES: Mapping[str, tuple[tuple[str, ...], _Reader]] = {
    "fourier": (("duration", "harmonics", "centre", "sine", "cosine", "amplitude", "seed"), _fourier),
    "points": (("points", "random", "move", "pause", "law"), _points),
    "outline": (("plane", "shapes", "hold", "move", "pause", "laps", "law"), _outline),
}
