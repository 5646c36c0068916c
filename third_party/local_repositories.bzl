"""Repositories that keep a build off the network."""

_BAZEL_4_STAND_INS = ["remote_coverage_tools", "rules_cc", "rules_java"]

def local_repositories():
    """Names stand-ins for what Bazel 4 downloads.

    Bazel 4 loads small rule packages from archives although it has the rules
    built in. Debian's build of it has an empty version. Later versions need the
    real archives and fetch them as usual.
    """
    if not native.bazel_version or native.bazel_version.startswith("4."):
        for name in _BAZEL_4_STAND_INS:
            native.local_repository(
                name = name,
                path = "third_party/" + name,
            )
