"""Motions that make the parameters visible."""

from dalembert.excitation.fourier import Fourier, FourierPath, random_fourier

__all__ = ["Fourier", "FourierPath", "random_fourier"]
