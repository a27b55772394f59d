"""A controller written in Python on the simulated Orthoglide: what its tracking errors are, with and without a model.

uv run python examples/own_controller.py
"""

import numpy as np

import dalembert as da
from dalembert.excitation import fourier_within_limits
from dalembert.simulation import Target


class ModelPlusPd:
    """Torque of a model along the reference, and a PD on what is left."""

    def __init__(self, kp: float, kd: float, share: float, period: float) -> None:
        self.kp, self.kd, self.share, self.period = kp, kd, share, period
        self.reset()

    def reset(self) -> None:
        self.last: np.ndarray | None = None

    def torque(self, t: float, q: np.ndarray, target: Target) -> np.ndarray:
        error = target.q - q
        rate = np.zeros_like(error) if self.last is None else (error - self.last) / self.period
        self.last = error
        return self.share * target.ff + self.kp * error + self.kd * rate


model = da.build_model(da.load_robot("orthoglide"))
motion = fourier_within_limits(model, da.Fourier(harmonics=4, duration=4.0), np.random.default_rng(3), 0.5)
for share in (0.0, 0.9):
    run = da.simulate(model, motion, ModelPlusPd(2e4, 400.0, share, 1e-3), duration=4.0)
    print(
        f"{share:.0%} of the model's torque: largest error {1e3 * np.abs(run.truth.error).max():.3f} mm, {run.status}"
    )
