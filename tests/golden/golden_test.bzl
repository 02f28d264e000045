"""One test target per golden model, all running one binary."""

def _golden_test_impl(ctx):
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = executable, target_file = ctx.executable.binary, is_executable = True)
    runfiles = ctx.runfiles(files = ctx.files.data).merge(ctx.attr.binary[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = executable, runfiles = runfiles)]

# Runs `binary` with `args`, `data` being in the runfiles. A binary is linked once, however many tests run it.
golden_test = rule(
    implementation = _golden_test_impl,
    test = True,
    attrs = {
        "binary": attr.label(executable = True, cfg = "target", mandatory = True),
        "data": attr.label_list(allow_files = True),
    },
)
