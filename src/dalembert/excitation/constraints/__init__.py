"""Limits as inequalities over a grid of times, each with an exact derivative."""
