"""Identification by simulating the controlled robot: DIDIM, output error on positions, simulated instruments."""
