"""Files of a dataset directory, and how they are read and written."""
