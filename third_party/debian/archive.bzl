"""The repository rule behind debian_repository (debian.bzl): fetches, verifies and unpacks Debian artifacts.

The bytes may come from anywhere (Bazel's repository cache, distdir/, the APT mirror this machine is
configured with, $DEBIAN_MIRROR, $DEBIAN_SNAPSHOT): the SHA-256 alone decides whether they are accepted.
"""

_APT_HELPER = "/usr/lib/apt/apt-helper"

def _archive_roots(ctx):
    """Candidate archive roots ("http://host/debian"), best first. No host name is written in this repository."""
    roots = [r for r in ctx.os.environ.get("DEBIAN_MIRROR", "").replace(",", " ").split(" ") if r]
    apt_get = ctx.which("apt-get")
    if apt_get:
        # Needs neither root, nor the network, nor downloaded package lists.
        res = ctx.execute([apt_get, "--print-uris", "update"], environment = {"LC_ALL": "C"})
        for line in res.stdout.splitlines():
            if line.startswith("'") and "/dists/" in line:
                roots.append(line[1:].split("/dists/")[0])
    out = []
    for root in roots:
        root = root.rstrip("/")

        # A mirror has the security archive beside the main one.
        if root.endswith("/debian-security"):
            candidates = [root, root[:-len("-security")]]
        else:
            candidates = [root, root + "-security"]
        out += [c for c in candidates if c not in out]

    # Third-party APT sources (no "debian" in their address) cannot have the file: ask them last.
    return [r for r in out if "debian" in r] + [r for r in out if "debian" not in r and not r.endswith("-security")]

def _urls(ctx, artifact):
    """Where the artifact may be on the network, best first."""
    security = artifact.archive == "debian-security"
    roots = _archive_roots(ctx)
    same = [r for r in roots if r.endswith("-security") == security]
    other = [r for r in roots if r.endswith("-security") != security]
    return ["%s/%s" % (r, artifact.filename) for r in same + other]

def _download(ctx, url, out, artifact):
    if url and url.startswith("http"):
        url = url.replace("+", "%2b")  # some servers read "+" in a path as a blank
    return ctx.download(
        [url] if url else [],
        out,
        sha256 = artifact.sha256,
        allow_fail = True,
    ).success

def _apt_download(ctx, url, out, artifact):
    """APT's own downloader: it honours APT's proxies, credentials and certificates."""
    part = str(ctx.path(out)) + ".part"
    ctx.execute(["mkdir", "-p", str(ctx.path(out).dirname)])
    res = ctx.execute([
        _APT_HELPER,
        "-qq",
        "-o",
        "APT::Sandbox::User=root",
        "download-file",
        url,
        part,
        "SHA256:" + artifact.sha256,
    ])
    if res.return_code:
        return False

    # Puts the file into Bazel's repository cache too.
    ok = _download(ctx, "file://" + part, out, artifact)
    ctx.delete(part)
    return ok

def _fetch(ctx, artifact):
    """Returns the path of the verified artifact inside the repository."""
    base_name = artifact.filename.split("/")[-1]
    out = "_debian/" + base_name

    # Bazel's repository cache: a download without an address is a look-up.
    if _download(ctx, None, out, artifact):
        return out

    kept = ctx.path(Label("//third_party/debian:packages.txt")).dirname.get_child("distdir").get_child(base_name)
    if kept.exists and _download(ctx, "file://" + str(kept), out, artifact):
        return out

    urls = _urls(ctx, artifact)
    fetch = _apt_download if ctx.path(_APT_HELPER).exists else _download
    for url in urls:
        if fetch(ctx, url, out, artifact):
            return out

    # A snapshot archive keeps every version ever published.
    snapshot = ctx.os.environ.get("DEBIAN_SNAPSHOT", "").rstrip("/")
    if snapshot:
        url = "%s/archive/%s/%s/%s" % (snapshot, artifact.archive, artifact.timestamp, artifact.filename)
        urls.append(url)
        if _download(ctx, url, out, artifact):
            return out

    # The caller's own --distdir is asked by file name; the address never exists.
    if _download(ctx, "file:///nonexistent/" + base_name, out, artifact):
        return out

    fail("""%s %s (Debian, sha256 %s) is on none of the mirrors tried:
  %s
Is the network there? Then it was replaced by a newer version:
  - refresh the pins:  ./bazelw run //third_party/debian:update
  - or use a snapshot: DEBIAN_SNAPSHOT=<root of a Debian snapshot archive> ./bazelw build ...
  - or put the file %s into a folder and pass --distdir=<folder>.""" %
         (artifact.name, artifact.version, artifact.sha256, "\n  ".join(urls), base_name))

def _run(ctx, what, arguments):
    res = ctx.execute(arguments)
    if res.return_code:
        fail("%s: %s: %s%s" % (ctx.name, what, res.stdout, res.stderr))

# Without dpkg: a .deb is an ar archive with one data.tar in it.
_UNPACK_WITH_AR = """
member=$(ar t "$0" | grep '^data.tar')
ar p "$0" "$member" > "_debian/$member"
case $member in
  *.zst) zstd -dc "_debian/$member" | tar -x ;;
  *) tar -xf "_debian/$member" ;;
esac
rm "_debian/$member"
"""

def _unpack(ctx, file):
    path = str(ctx.path(file))
    if not file.endswith(".deb"):
        # Like dpkg-source: the archive's only top-level folder is dropped, whatever its name.
        _run(ctx, "unpack", ["tar", "-x", "--strip-components=1", "--no-same-owner", "-f", path])

        # Upstream's own Bazel packages would hide their folders from our globs.
        _run(ctx, "clean", ["find", ".", "-type", "f", "(", "-name", "BUILD", "-o", "-name", "BUILD.bazel", "-o", "-name", "WORKSPACE*", "-o", "-name", "MODULE.bazel", ")", "-delete"])

        # A Bazel whose Java was started with LANG=C cannot even delete such a name again.
        _run(ctx, "clean", ["env", "LC_ALL=C", "find", ".", "-depth", "-name", "*[! -~]*", "-exec", "rm", "-rf", "{}", "+"])
    elif ctx.which("dpkg-deb"):
        _run(ctx, "unpack", ["dpkg-deb", "-x", path, "."])
    elif ctx.which("ar"):
        _run(ctx, "unpack", ["sh", "-ec", _UNPACK_WITH_AR, path])
    else:
        fail("needs dpkg-deb or ar to unpack " + file)

def _debian_archive_impl(ctx):
    for entry in ctx.attr.artifacts:
        name, version, filename, sha256, archive, timestamp = entry.split("|")
        _unpack(ctx, _fetch(ctx, struct(
            name = name,
            version = version,
            filename = filename,
            sha256 = sha256,
            archive = archive,
            timestamp = timestamp,
        )))
    ctx.delete("_debian")
    if ctx.attr.cmds:
        _run(ctx, "cmds", ["sh", "-ec", "\n".join(ctx.attr.cmds)])
    for patch in ctx.attr.patches:
        ctx.patch(patch, strip = 1)
    if ctx.attr.flatten:
        _run(ctx, "flatten", ["sh", "-ec", "mkdir _new; mv \"$0\"/* _new/; rm -rf usr etc; mv _new/* .; rmdir _new", ctx.attr.flatten])
    if ctx.attr.build_file:
        ctx.symlink(ctx.attr.build_file, "BUILD.bazel")
    for folder, targets in ctx.attr.aliases.items():
        lines = ["package(default_visibility = [\"//visibility:public\"])\n"] + [
            "alias(name = \"%s\", actual = \"%s\")\n" % (target, ctx.attr.alias_target)
            for target in targets
        ]
        ctx.file(folder + "/BUILD.bazel", "\n".join(lines), executable = False)
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name, executable = False)

debian_archive = repository_rule(
    implementation = _debian_archive_impl,
    attrs = {
        "artifacts": attr.string_list(
            mandatory = True,
            doc = "name|version|filename|sha256|archive|timestamp of each artifact; unpacked over each other in this order",
        ),
        "build_file": attr.label(allow_single_file = True),
        "flatten": attr.string(doc = "folder whose content becomes the top of the repository"),
        "cmds": attr.string_list(doc = "shell commands run after unpacking"),
        "patches": attr.label_list(allow_files = True, doc = "applied with -p1 after cmds"),
        "aliases": attr.string_list_dict(doc = "package -> names of aliases to alias_target"),
        "alias_target": attr.string(),
    },
    environ = ["DEBIAN_MIRROR", "DEBIAN_SNAPSHOT"],
)
