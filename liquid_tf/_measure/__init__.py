"""Runs of pipelines and what shows how they were measured."""
