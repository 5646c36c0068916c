"""@local_cuda: the CUDA compiler, where there is one.

NVCC names the compiler, which must be of CUDA 12 or 13. Without it, `nvcc` of the path is
taken, then the one under /usr/local/cuda; one that does not do is passed over, since who
did not ask for a GPU has to be able to build. NVCC=none leaves it out. Without a compiler
the library carries the kernels' source, and the machine that runs it compiles it.

  @local_cuda//:config.bzl  NVCC, the compiler's path, or ""
"""

_VERSIONS = (12, 13)

def _problem(ctx, nvcc):
    """Why a compiler does not do; None where it does."""
    result = ctx.execute([nvcc, "--version"])
    marker = "release "
    at = result.stdout.find(marker)
    if result.return_code or at < 0:
        return "%s --version does not work:\n%s" % (nvcc, result.stderr[-2000:])
    version = int(result.stdout[at + len(marker):].split(".")[0])
    if version not in _VERSIONS:
        return "%s is of CUDA %d, and must be of CUDA 12 or 13" % (nvcc, version)
    return None

def _named(ctx, nvcc):
    if nvcc == "none":
        return ""
    if not ctx.path(nvcc).exists:
        fail("NVCC (\"%s\") must be the path of nvcc, or \"none\"." % nvcc)
    problem = _problem(ctx, nvcc)
    if problem:
        fail("%s; set NVCC to another one or to \"none\"." % problem)
    return nvcc

def _found(ctx):
    for candidate in (ctx.which("nvcc"), ctx.path("/usr/local/cuda/bin/nvcc")):
        if not candidate or not candidate.exists:
            continue
        problem = _problem(ctx, str(candidate))
        if not problem:
            return str(candidate)
        print("%s: it is not taken; NVCC names another one." % problem)  # buildifier: disable=print
    return ""

def _cuda_configure_impl(ctx):
    named = ctx.os.environ.get("NVCC", "")
    nvcc = _named(ctx, named) if named else _found(ctx)
    ctx.file("BUILD", "")
    ctx.file("config.bzl", "NVCC = %r\n" % nvcc)

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = ["NVCC", "PATH"],
    local = True,
)
