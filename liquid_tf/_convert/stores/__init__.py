"""Stores that datasets are sent to while they are made."""
