"""Filter, differentiate, decimate, mask, estimate noise."""

from dalembert.signals.border import border_samples
from dalembert.signals.choice import Choice, choose
from dalembert.signals.decimation import DecimationFilter, Decimator, Shares, decimate, decimation_filter, shares
from dalembert.signals.derivative import Differences
from dalembert.signals.filter import Butterworth, low_pass
from dalembert.signals.mask import SlowMask, usable
from dalembert.signals.noise import noise_sigma, quantisation_step, unresolved_speed, velocity_noise
from dalembert.signals.preparation import Motion, SignalPlan, SignalSettings, plan, prepare, prepared
from dalembert.signals.spectrum import Spectrum, power_spectrum

__all__ = [
    "Butterworth",
    "Choice",
    "DecimationFilter",
    "Decimator",
    "Differences",
    "Motion",
    "Shares",
    "SignalPlan",
    "SignalSettings",
    "SlowMask",
    "Spectrum",
    "border_samples",
    "choose",
    "decimate",
    "decimation_filter",
    "low_pass",
    "noise_sigma",
    "plan",
    "prepare",
    "prepared",
    "quantisation_step",
    "shares",
    "power_spectrum",
    "unresolved_speed",
    "usable",
    "velocity_noise",
]
