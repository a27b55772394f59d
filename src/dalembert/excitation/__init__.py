"""Motions that make the parameters visible."""

from dalembert.excitation.fourier import Fourier, FourierPath, fourier_within_limits, random_fourier

__all__ = ["Fourier", "FourierPath", "fourier_within_limits", "random_fourier"]
