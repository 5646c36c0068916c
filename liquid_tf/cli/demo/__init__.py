"""What `liquid-tf demo` shows."""
