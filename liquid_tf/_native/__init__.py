"""The op library: loading it, and thin wrappers of its ops."""
