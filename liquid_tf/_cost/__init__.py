"""What formats cost, what a machine has to spend, and the mix that fits."""
