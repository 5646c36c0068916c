"""Command-line tools: flags and main; the work is done in liquid_tf."""
