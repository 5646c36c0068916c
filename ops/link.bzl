"""What the engine and the op library are linked from.

The engine is everything that needs no framework, whole, since any library may call any of
it. An op library has the adapters alone: what registers itself with TensorFlow
(alwayslink).
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _is_own(part):
    return not part.owner.workspace_name

def _linked(parts):
    """A CcInfo of linker inputs without headers, in their order."""
    return CcInfo(linking_context = cc_common.create_linking_context(
        linker_inputs = depset(parts, order = "topological"),
    ))

def _parts(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    return merged.linking_context.linker_inputs.to_list()

def _archive(library):
    return library.pic_static_library or library.static_library

def _engine_parts_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    parts, archives = [], []
    for part in _parts(ctx):
        libraries = part.libraries
        archives += [_archive(library) for library in libraries]
        if _is_own(part):
            libraries = [
                cc_common.create_library_to_link(
                    actions = ctx.actions,
                    feature_configuration = features,
                    cc_toolchain = toolchain,
                    pic_static_library = _archive(library),
                    alwayslink = True,
                )
                for library in libraries
            ]
        parts.append(cc_common.create_linker_input(
            owner = part.owner,
            libraries = depset(libraries),
            user_link_flags = depset(part.user_link_flags),
        ))

    # The same objects give the same id, whichever TensorFlow they are built beside.
    ctx.actions.run_shell(
        command = 'set -e -o pipefail; template=$1 exports=$2; shift 2; ' +
                  'id=$(cat "$@" | sha256sum | cut -c -16); ' +
                  'sed "s/@ID@/$id/" "$template" > "$exports"',
        arguments = [ctx.file.template.path, ctx.outputs.exports.path] +
                    [archive.path for archive in archives],
        inputs = archives + [ctx.file.template],
        outputs = [ctx.outputs.exports],
        mnemonic = "EngineId",
        progress_message = "Taking the id of the engine",
    )
    return [DefaultInfo(files = depset()), _linked(parts)]

engine_parts = rule(
    doc = "All of `deps`, to be linked whole; `exports`, a linker's script, has its id.",
    implementation = _engine_parts_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "exports": attr.output(),
        "template": attr.label(allow_single_file = True),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _adapters_impl(ctx):
    parts = []
    for part in _parts(ctx):
        libraries = [library for library in part.libraries if library.alwayslink]
        if libraries:
            parts.append(cc_common.create_linker_input(
                owner = part.owner,
                libraries = depset(libraries),
            ))
    return [_linked(parts)]

adapters = rule(
    doc = "Of `deps`, what faces TensorFlow.",
    implementation = _adapters_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)
