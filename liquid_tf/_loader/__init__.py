"""Epochs of a dataset as NumPy arrays, without a framework."""
