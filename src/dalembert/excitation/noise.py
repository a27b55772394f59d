"""The torque noise a design is weighed by: sigma of each motor and the rate it is sampled at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import UsageError, choices
from dalembert.model import Model
from dalembert.robot.quantity import EFFORT, RATE
from dalembert.robot.yaml_source import Located, parse_file

__all__ = ["Noise", "read_noise"]

Array = NDArray[np.float64]

# what else a noise file of a simulation may say
_UNUSED = ("seed", "encoder_counts", "encoder_step", "position_noise", "delay", "torque_offset", "ripple")


@dataclass(frozen=True, slots=True)
class Noise:
    """White noise of standard deviation ``sigma`` (n,) [N m or N] on torques sampled at ``rate`` [Hz]."""

    sigma: tuple[float, ...]
    rate: float = 1000.0
    source: str = "given"

    def __post_init__(self) -> None:
        if not all(0.0 < s < np.inf for s in self.sigma) or not 0.0 < self.rate < np.inf:
            raise UsageError(
                f"torque noise: sigma {', '.join(f'{s:g}' for s in self.sigma)} at {self.rate:g} Hz, expected positive "
                f"numbers [N m or N] and a positive rate"
            )

    @property
    def values(self) -> Array:
        """Sigma (n,)."""
        return np.array(self.sigma)

    @classmethod
    def of(cls, model: Model, sigma: float | Sequence[float] | Mapping[str, float], rate: float = 1000.0) -> Noise:
        """One number for all motors, one for each in their order, or by name."""
        names = model.robot.motor_names
        if isinstance(sigma, Mapping):
            for name in sigma:
                if name not in names:
                    raise UsageError(f"torque noise: no motor {name!r}; {choices(name, names)}")
            missing = [name for name in names if name not in sigma]
            if missing:
                raise UsageError(f"torque noise: nothing given for {', '.join(missing)}, expected every motor")
            return cls(tuple(float(sigma[name]) for name in names), rate)
        values = np.atleast_1d(np.asarray(sigma, dtype=float))
        if values.shape not in ((1,), (model.n,)):
            raise UsageError(f"torque noise: found {len(values)} numbers, expected one or {model.n}, one per motor")
        return cls(tuple(np.broadcast_to(values, model.n).tolist()), rate)


def read_noise(path: str | Path, model: Model) -> Noise:
    """Noise from ``{rate: 1 kHz, torque_noise: {j1: 0.5, ...}}`` (one number for all, a list, or by name), or from a
    ``fit.json``, whose residuals at its decimated rate it then is. A noise file of ``simulate`` will do; what it says
    of positions a design does not consider, and says so.
    """
    path = Path(path)
    if path.suffix == ".json":
        return _of_fit(path, model)
    keys = parse_file(path).mapping(("rate", "torque_noise", *_UNUSED), ("torque_noise",), "torque noise")
    rate = keys["rate"].positive(RATE) if "rate" in keys else 1000.0
    unused = [name for name in _UNUSED if name in keys and name != "seed"]
    said = f"{path}" + (f" (of which {', '.join(unused)} is not considered)" if unused else "")
    noise = Noise.of(model, _per_motor(keys["torque_noise"], model.robot.motor_names), rate)
    return Noise(noise.sigma, rate, said)


def _per_motor(item: Located, names: Sequence[str]) -> Mapping[str, float]:
    if item.is_mapping:
        given = item.mapping(names, names, "a noise for each motor")
    else:
        listed = [item] * len(names) if item.is_text else item.exactly(len(names), f"one each for {', '.join(names)}")
        given = dict(zip(names, listed, strict=True))
    return {name: value.positive(EFFORT, "torque noise [N m or N]") for name, value in given.items()}


def _of_fit(path: Path, model: Model) -> Noise:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        rows = {str(row["name"]): float(row["rms"]) for row in data["rows"]}
        log = data["provenance"]["logs"][0]
        rate = float(log["rate"]) / float(log["decimate"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(f"{path}: not a fit.json with rows and logs ({error}), expected one of identify") from None
    missing = [name for name in model.robot.motor_names if name not in rows]
    if missing:
        raise UsageError(f"{path}: no residual of {', '.join(missing)}; expected the rows to be the motors'")
    return Noise(tuple(rows[name] for name in model.robot.motor_names), rate, f"residuals of {path}")
