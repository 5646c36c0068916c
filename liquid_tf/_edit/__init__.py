"""New versions of datasets; see docs/versions.md."""
