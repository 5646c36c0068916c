"""The engine and the op library: loading them, and thin wrappers of ops."""
