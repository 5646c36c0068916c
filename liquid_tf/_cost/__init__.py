"""Costs of formats, a machine's resources, and the mix that fits."""
