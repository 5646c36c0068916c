"""What `tools/demo.py` shows."""
