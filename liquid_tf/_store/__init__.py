"""What lies in a dataset directory, and how it is read and written."""
