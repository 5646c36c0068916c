"""What `liquid-tf build-ops` needs to build the op library for another TensorFlow."""

load("@local_tf//:config.bzl", "PYTHON")
load("//ops:liquid.bzl", "KERNEL_COPTS")

_OpFilesInfo = provider(
    doc = "Files of the op library's own targets.",
    fields = {
        "headers": "depset: what the sources include, of this project",
        "kernels": "depset: sources that the library links whole",
    },
)

def _files(ctx, attribute):
    files = []
    for target in getattr(ctx.rule.attr, attribute, []):
        files += target.files.to_list()
    return files

def _op_files_impl(target, ctx):
    deps = [
        dep[_OpFilesInfo]
        for dep in getattr(ctx.rule.attr, "deps", [])
        if _OpFilesInfo in dep
    ]
    headers, kernels = [], []
    if not target.label.workspace_name and CcInfo in target:
        sources = _files(ctx, "srcs")
        headers = _files(ctx, "hdrs") + _files(ctx, "textual_hdrs")
        headers += [f for f in sources if f.extension == "h"]

        # What registers itself faces TensorFlow.
        if ctx.rule.attr.alwayslink:
            kernels = [f for f in sources if f.extension == "cc"]
    return [_OpFilesInfo(
        headers = depset(headers, transitive = [d.headers for d in deps]),
        kernels = depset(kernels, transitive = [d.kernels for d in deps]),
    )]

_op_files = aspect(
    implementation = _op_files_impl,
    attr_aspects = ["deps"],
)

def _op_kit_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    headers = depset(transitive = [d[_OpFilesInfo].headers for d in ctx.attr.deps])
    kernels = depset(transitive = [d[_OpFilesInfo].kernels for d in ctx.attr.deps])
    sources = sorted([f.short_path for f in kernels.to_list()])
    recipe = ctx.actions.declare_file(ctx.label.name + "_recipe.json")
    ctx.actions.write(recipe, json.encode({
        "copts": KERNEL_COPTS,
        "sources": sources,
    }) + "\n")
    args = ctx.actions.args()
    args.add("--folder", folder.path)
    args.add("--made", ctx.bin_dir.path)
    args.add("--recipe", recipe)
    args.add("--exports", ctx.file.exports)
    args.add("--engine", ctx.file.engine)
    args.add("--parts", ctx.file.parts)
    args.add_all("--sources", depset(transitive = [headers, kernels]))
    ctx.actions.run(
        executable = PYTHON,
        arguments = [ctx.file._assemble.path, args],
        inputs = depset(
            [ctx.file._assemble, recipe, ctx.file.exports, ctx.file.engine, ctx.file.parts],
            transitive = [headers, kernels],
        ),
        outputs = [folder],
        mnemonic = "OpKit",
        progress_message = "Collecting what builds the op library",
    )
    return [DefaultInfo(
        files = depset([folder]),
        runfiles = ctx.runfiles([folder]),
    )]

op_kit = rule(
    doc = "A folder with the sources that face TensorFlow, for one engine.",
    implementation = _op_kit_impl,
    attrs = {
        "deps": attr.label_list(aspects = [_op_files], providers = [CcInfo]),
        "engine": attr.label(allow_single_file = True),
        "exports": attr.label(allow_single_file = True),
        "parts": attr.label(allow_single_file = True),
        "_assemble": attr.label(
            allow_single_file = True,
            default = "//ops:assemble_kit.py",
        ),
    },
)
