"""The plan of a dataset: what is drawn, kept in memory and decoded."""
