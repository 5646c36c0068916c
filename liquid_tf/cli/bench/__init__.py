"""What `liquid-tf bench` measures, and how."""
