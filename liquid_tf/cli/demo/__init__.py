"""The command `liquid-tf demo`."""
