"""What a conversion reads."""
