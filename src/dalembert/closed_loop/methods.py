"""The methods that simulate, by name; their controller and references from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dalembert.closed_loop.cloe import Cloe
from dalembert.closed_loop.didim import Didim
from dalembert.closed_loop.instruments import SimulatedIv
from dalembert.errors import UsageError
from dalembert.identification.methods import METHODS, estimator_named
from dalembert.identification.problem import Estimator
from dalembert.model import Model
from dalembert.simulation import Trajectory, read_controller, read_trajectory

__all__ = ["ALL_METHODS", "CLOSED_LOOP", "needs_positions", "simulating_named"]

_KINDS = (Didim, Cloe, SimulatedIv)
CLOSED_LOOP: Mapping[str, Callable[..., Estimator]] = MappingProxyType({kind.method: kind for kind in _KINDS})
ALL_METHODS: Mapping[str, Callable[..., Estimator]] = MappingProxyType({**METHODS, **CLOSED_LOOP})
_NEEDS_POSITIONS: Mapping[str, bool] = MappingProxyType({kind.method: kind.positions for kind in _KINDS})


def needs_positions(method: str) -> bool:
    """True unless the method reads torques alone."""
    return _NEEDS_POSITIONS.get(method, True)


def simulating_named(
    name: str, settings: Mapping[str, str], controller: str | None, references: Sequence[str], model: Model
) -> Estimator:
    """An estimator that simulates: controller and reference from files; ``LOG=FILE`` is the reference of one log."""
    missing = [option for option, given in (("--controller", controller), ("--reference", references)) if not given]
    if missing or controller is None:
        raise UsageError(f"method {name!r} simulates the logged experiment, expected {' and '.join(missing)} FILE")
    return estimator_named(
        name, settings, CLOSED_LOOP,
        controller=read_controller(controller, model.robot), reference=_references(references, model),
    )  # fmt: skip


def _references(given: Sequence[str], model: Model) -> Trajectory | dict[str, Trajectory]:
    """One trajectory for all logs, or each log's own."""
    pairs = [text.partition("=") for text in given]
    own = [pair for pair in pairs if pair[1]]
    if not own:
        if len(given) > 1:
            raise UsageError(f"--reference {given[1]!r}: a second one for all logs, expected LOG=FILE for each log")
        return read_trajectory(given[0], model)
    if len(own) < len(pairs):
        alone = next(pair[0] for pair in pairs if not pair[1])
        raise UsageError(f"--reference {alone!r}: for all logs beside ones for single logs, expected LOG=FILE")
    return {log.strip(): read_trajectory(file.strip(), model) for log, _, file in own}
