"""Views: which samples of a dataset are meant, before anything is read."""
