"""Runs of pipelines, and the evidence of how they were measured."""
