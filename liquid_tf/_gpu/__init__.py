"""Batches decoded on a GPU."""
