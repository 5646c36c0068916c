"""What `tools/bench.py` measures, and how."""
