"""A dataset as a page of pictures; `inspect --html` calls it."""
