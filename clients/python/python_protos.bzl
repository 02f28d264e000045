"""Python's messages and gRPC stubs, for the test of the example."""

def _python_protos_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    args = ctx.actions.args()
    args.add("--plugin=protoc-gen-grpc_python=" + ctx.executable._plugin.path)
    args.add("--python_out=" + out.path)
    args.add("--grpc_python_out=" + out.path)
    infos = [proto[ProtoInfo] for proto in ctx.attr.protos]
    descriptors = depset(transitive = [info.transitive_descriptor_sets for info in infos])
    args.add_joined("--descriptor_set_in", descriptors, join_with = ":")
    for info in infos:
        for src in info.direct_sources:
            args.add(src.path[len(info.proto_source_root) + 1:])
    ctx.actions.run(
        executable = ctx.executable._protoc,
        tools = [ctx.executable._plugin],
        inputs = descriptors,
        outputs = [out],
        arguments = [args],
        mnemonic = "PythonProtos",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

python_protos = rule(
    implementation = _python_protos_impl,
    doc = "A folder of Python's code for the files of some proto_library targets.",
    attrs = {
        "protos": attr.label_list(mandatory = True, providers = [ProtoInfo]),
        "_plugin": attr.label(default = "@com_github_grpc_grpc//:grpc_python_plugin", executable = True, cfg = "exec"),
        "_protoc": attr.label(default = "@com_google_protobuf//:protoc", executable = True, cfg = "exec"),
    },
)
