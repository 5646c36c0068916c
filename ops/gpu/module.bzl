"""Device code as bytes inside a library."""

load("@local_cuda//:config.bzl", "NVCC")
load("@local_tf//:config.bzl", "PYTHON")

# Machine code runs on later devices of the same generation; PTX is for those that
# come after the last one.
_ARCHITECTURES = [75, 80, 86, 89, 90]

# Bazel forgets what no #include names: the digest makes other bytes another assembly.
_ASSEMBLY = """
    /* $$digest */
    .section .rodata
    .balign 64
    .hidden {name}, {name}_end, {name}_is_source
    .global {name}, {name}_end, {name}_is_source
{name}:
    .incbin \\"$(location {blob})\\"
{name}_end:
    .byte 0
    .balign 4
{name}_is_source:
    .long {is_source}
    .section .note.GNU-stack,\\"\\",%progbits
"""

def device_module(name, src, hdrs, **kwargs):
    """A library whose symbols `name`, `name`_end and `name`_is_source are a module.

    With a CUDA compiler the module is a fatbin, else the source in one piece.

    Args:
      name: of the library and its symbols, a C identifier.
      src: the .cu file with the kernels.
      hdrs: every header of this project that it includes.
      **kwargs: passed to cc_library.
    """
    source = name + ".cu"
    flags = ["-std=c++17", "-O3", "-fatbin", "-Xfatbin=-compress-all"]
    for number in _ARCHITECTURES:
        flags.append("-gencode=arch=compute_%d,code=sm_%d" % (number, number))
    last = _ARCHITECTURES[-1]
    flags.append("-gencode=arch=compute_%d,code=compute_%d" % (last, last))
    native.genrule(
        name = name + "_source",
        srcs = [src] + hdrs,
        outs = [source],
        cmd = "%s $(location //ops/gpu:flatten.py) $@ $(location %s) %s" %
              (PYTHON, src, " ".join(["$(locations %s)" % hdr for hdr in hdrs])),
        tools = ["//ops/gpu:flatten.py"],
    )
    blob = ":" + source
    if NVCC:
        native.genrule(
            name = name + "_nvcc",
            srcs = [":" + source],
            outs = [name + ".fatbin"],
            tags = ["manual"],
            cmd = "%s %s -o $@ $(location :%s)" % (NVCC, " ".join(flags), source),
        )

        # Compiling takes minutes, and as a tool it is done once, not with each sanitizer;
        # //... would make it for the target besides.
        blob = ":" + name + "_fatbin.inc"
        native.genrule(
            name = name + "_fatbin",
            outs = [name + "_fatbin.inc"],
            cmd = "cp $(location :%s.fatbin) $@" % name,
            tools = [":" + name + ".fatbin"],
        )
    native.genrule(
        name = name + "_assembly",
        srcs = [blob],
        outs = [name + ".S"],
        cmd = "digest=$$(sha256sum < $(location %s)); printf '%%s' \"%s\" > $@" % (
            blob,
            _ASSEMBLY.format(
                name = name,
                blob = blob,
                is_source = "0" if NVCC else "1",
            ),
        ),
    )
    native.cc_library(
        name = name,
        srcs = [":" + name + "_assembly"],
        textual_hdrs = [blob],
        **kwargs
    )
