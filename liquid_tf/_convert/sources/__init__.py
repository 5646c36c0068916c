"""Sources of a conversion."""
