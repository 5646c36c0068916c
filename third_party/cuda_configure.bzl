"""@local_cuda: the CUDA compiler, where there is one.

NVCC names the compiler; without it, `nvcc` of the path, then the one under
/usr/local/cuda. NVCC=none leaves it out. CUDA 12 and 13 do. Without a compiler the
library carries the kernels' source, and the machine that runs it compiles it.

  @local_cuda//:config.bzl  NVCC, the compiler's path, or ""
"""

_VERSIONS = (12, 13)

def _find(ctx):
    named = ctx.os.environ.get("NVCC", "")
    if named == "none":
        return ""
    if named:
        if not ctx.path(named).exists:
            fail("NVCC (\"%s\") must be the path of nvcc, or \"none\"." % named)
        return named
    found = ctx.which("nvcc")
    if found:
        return str(found)
    usual = ctx.path("/usr/local/cuda/bin/nvcc")
    return str(usual) if usual.exists else ""

def _version(ctx, nvcc):
    result = ctx.execute([nvcc, "--version"])
    marker = "release "
    at = result.stdout.find(marker)
    if result.return_code or at < 0:
        fail("%s --version does not work; set NVCC to another one or to \"none\":\n%s" %
             (nvcc, result.stderr[-2000:]))
    return int(result.stdout[at + len(marker):].split(".")[0])

def _cuda_configure_impl(ctx):
    nvcc = _find(ctx)
    if nvcc:
        version = _version(ctx, nvcc)
        if version not in _VERSIONS:
            fail(("%s is of CUDA %d, and must be of CUDA 12 or 13; set NVCC to such a " +
                  "one or to \"none\".") % (nvcc, version))
    ctx.file("BUILD", "")
    ctx.file("config.bzl", "NVCC = %r\n" % nvcc)

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = ["NVCC", "PATH"],
    local = True,
)
