"""Benchmarks, the papers' figures, and their results; in no wheel."""
