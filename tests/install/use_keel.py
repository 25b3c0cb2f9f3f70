#!/usr/bin/env python3
"""Builds servers with Keel in one of the ways a user may choose, then calls them.

A way is `find_package` or `pkg_config` (with the libraries installed below --stage), or one of BUILDS below, each of which
builds the library itself with CMake's own defaults. `two_plugins` loads the plugins of two of them into one process.
"""

import argparse
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


@dataclasses.dataclass
class Build:
    how: str
    compiler: str
    build_type: str
    settings: list = dataclasses.field(default_factory=list)
    user_flags: str = ""


# Each value of each dimension at least once: how Keel is found, compiler, build type, visibility, LTO, shared library, RTTI. Each
# entry costs a complete build of the library; two of the three are unity builds, which take less than half of the time.
BUILDS = {
    "subdirectory": Build("add_subdirectory", "clang++-19", "Debug",
                          ["-DCMAKE_CXX_FLAGS=-fvisibility=hidden", "-DCMAKE_UNITY_BUILD=ON"]),
    # Another version of Keel than the others have, for two_plugins.
    "fetch_content": Build("fetch_content", "g++", "Release",
                           ["-DCMAKE_CXX_VISIBILITY_PRESET=hidden", "-DCMAKE_VISIBILITY_INLINES_HIDDEN=ON"],
                           user_flags="-fno-rtti"),
    # Installed, then used through find_package (RelWithDebInfo) and through pkg-config.
    "shared": Build("install", "g++", "MinSizeRel",
                    ["-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON", "-DCMAKE_UNITY_BUILD=ON"],
                    user_flags="-fno-rtti"),
}


def run(*command, **more):
    command = [str(word) for word in command]
    print("$", shlex.join(command), flush=True)
    subprocess.run(command, check=True, **more)


def output_of(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **more).stdout


def cmake_build(args, source, build, compiler, build_type, *settings):
    launcher = shutil.which("ccache")
    run(args.cmake, "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_BUILD_TYPE={build_type}",
        f"-DCMAKE_CXX_COMPILER={compiler}", *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []), *settings)
    run(args.cmake, "--build", build, "--parallel", os.cpu_count())


# ---- ways to find Keel ----


def find_package(args, build, prefix, compiler, build_type="None", user_flags=""):
    cmake_build(args, HERE / "find_package", build, compiler, build_type, f"-DCMAKE_PREFIX_PATH={prefix}",
                f"-DUSER_FLAGS={user_flags}")


def pkg_config(build, prefix, compiler, user_flags="", rpath=False):
    [pc] = prefix.rglob("keel.pc")
    flags = shlex.split(output_of("pkg-config", "--cflags", "--libs", "keel",
                                  env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}))
    build.mkdir(parents=True)
    if rpath:
        flags.append(f"-Wl,-rpath,{pc.parents[1]}")
    for source, program in (("main", "consumer"), ("features_main", "consumer_of_features")):
        run(compiler, "-std=c++20", *shlex.split(user_flags), HERE / "consumer" / f"{source}.cpp", "-o", build / program,
            *flags)


def make_repository(folder):
    """A git repository with the sources of Keel as version 0.2.0."""
    folder.mkdir(parents=True)
    for name in ("CMakeLists.txt", "cmake", "include", "src"):
        copy = shutil.copytree if (SOURCE / name).is_dir() else shutil.copy
        copy(SOURCE / name, folder / name)
    for name, old, new in (("CMakeLists.txt", "VERSION 0.1.0", "VERSION 0.2.0"),
                           ("include/keel/version.hpp", '"0.1.0"', '"0.2.0"'),
                           ("include/keel/version.hpp", "KEEL_ABI v0_1", "KEEL_ABI v0_2")):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} must contain {old!r} once"
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    run(*git, "init", "--quiet", "--initial-branch", "main")
    run(*git, "add", ".")
    run(*git, "commit", "--quiet", "--message", "Version 0.2.0")
    return f"file://{folder}"


def build_all(args, name, build):
    b = BUILDS[name]
    user_flags = f"-DUSER_FLAGS={b.user_flags}"
    if b.how == "add_subdirectory":
        cmake_build(args, HERE / b.how, build, b.compiler, b.build_type, f"-DKEEL_SOURCE={SOURCE}", user_flags, *b.settings)
        return [build]
    if b.how == "fetch_content":
        repository = make_repository(args.stage / "repository")
        cmake_build(args, HERE / b.how, build, b.compiler, b.build_type, f"-DKEEL_REPOSITORY={repository}", user_flags,
                    *b.settings)
        return [build]
    library, prefix = build / "library", build / "prefix"
    cmake_build(args, SOURCE, library, b.compiler, b.build_type, "-DKEEL_DEVELOPER=OFF", *b.settings)
    run(args.cmake, "--install", library, "--prefix", prefix)
    find_package(args, build / "find_package", prefix, b.compiler, "RelWithDebInfo", b.user_flags)
    pkg_config(build / "pkg_config", prefix, b.compiler, b.user_flags, rpath=True)
    check_exports_of_shared_library(prefix)
    return [build / "find_package", build / "pkg_config"]


# ---- symbols ----


def exported_symbols(library):
    return [line.split()[-1] for line in output_of("nm", "--dynamic", "--defined-only", library).splitlines()]


def check_plugin_exports_nothing(plugin):
    # Functions, variables, virtual tables and type information in namespace keel. (Clang exports friend functions of the standard
    # library's templates even if an argument of the template is hidden: those are not ours.)
    keel = re.compile(r"_Z(T[VTIS]|GV|Th?n?[0-9]*_|TH|TW)?(N[rVKRO]*)?4keel")
    ours = [symbol for symbol in exported_symbols(plugin) if keel.match(symbol)]
    assert not ours, f"{plugin} exports {len(ours)} symbols of Keel, such as {ours[0]}"
    assert "plugin_start" in exported_symbols(plugin)


def check_exports_of_shared_library(prefix):
    [library] = prefix.rglob("libkeel.so.0.1")
    dynamic = output_of("readelf", "--dynamic", library)
    assert "[libkeel.so.0.1]" in dynamic, f"the SONAME carries no version:\n{dynamic}"
    for folder in ("rpc", "http", "server_side", "client_side", "validation"):
        internal = [s for s in exported_symbols(library) if s.startswith(f"_ZN4keel4v0_1{len(folder)}{folder}")]
        assert not internal, f"{library} exports internals, such as {internal[0]}"


# ---- conversations ----


class Session:
    """An MCP client of one connection: `send` takes one line, `lines` gives the answers."""

    def __init__(self, send, lines):
        self.send, self.lines, self.last_id = send, lines, 0
        self.server = self.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "consumer", "version": "1"}},
        )["result"]["serverInfo"]
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")

    def request(self, method, params):
        self.last_id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}) + "\n")
        for line in self.lines:
            answer = json.loads(line)
            if answer.get("id") == self.last_id:
                return answer
        sys.exit(f"the server closed the connection before it answered {method}")

    def call(self, tool, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool, **arguments):
        result = self.call(tool, **arguments)["result"]
        assert not result.get("isError"), result
        return result["content"][0]["text"]


def expect(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


def check_features(session):
    expect(session.text("add", a=2, b=40.5), "42.5")
    expect(session.text("states"), "1 101")
    expect(session.text("states"), "2 102")
    expect(session.text("missing_state"), "std::logic_error")
    expect(session.call("reject")["error"]["code"], 1234)
    expect(session.call("fail")["result"]["isError"], True)
    expect(session.text("catch"), "keel::json::error")
    expect(session.text("catch_in_task"), "keel::error: unavailable")


def call(program, check):
    """One conversation over stdio, then end of input, after which the server must exit with 0."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                          bufsize=1) as server:
        session = Session(server.stdin.write, server.stdout)
        expect(session.server["name"], "calculator")
        check(session)
        server.stdin.close()
        expect(server.wait(timeout=30), 0)
    print(f"{program}: passed", flush=True)


def call_all(build):
    for program in ("consumer", "consumer_of_core"):
        if (build / program).exists():
            call(build / program, lambda session: expect(session.text("add", a=2, b=40.5), "42.5"))
    call(build / "consumer_of_features", check_features)


# ---- two versions in one process ----


def load_and_call(plugins, mode):
    """Loads all plugins into this process, starts all their servers, and then calls them in turn."""
    loaded = [ctypes.CDLL(str(plugin), mode=getattr(os, mode)) for plugin in plugins]
    for plugin in loaded:
        plugin.plugin_start.restype = plugin.plugin_keel_abi.restype = ctypes.c_char_p
    versions = [plugin.plugin_keel_abi().decode() for plugin in loaded]
    assert len(set(versions)) == len(loaded), f"the plugins contain the same version of Keel: {versions}"
    sessions = []
    for plugin, version in zip(loaded, versions):
        kind, address = plugin.plugin_start().decode().split()
        expect(kind, "tcp")
        host, port = address.rsplit(":", 1)
        stream = socket.create_connection((host, int(port))).makefile("rw", encoding="utf-8", buffering=1)
        sessions.append(Session(stream.write, stream))
        expect(sessions[-1].server["version"], version)
    for session in sessions:
        check_features(session)
    for plugin in loaded:
        plugin.plugin_stop()
    print(f"{mode}: {' and '.join(versions)} served in one process", flush=True)


def two_plugins(args):
    plugins = [args.stage / name / "libplugin.so" for name in ("subdirectory", "fetch_content")]
    for plugin in plugins:
        check_plugin_exports_nothing(plugin)
    for order in (plugins, plugins[::-1]):
        for mode in ("RTLD_LOCAL", "RTLD_GLOBAL"):
            run(sys.executable, __file__, "load", "--mode", mode, *order)


def main():
    if sys.argv[1:2] == ["load"]:
        load_and_call(sys.argv[4:], sys.argv[3])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["find_package", "pkg_config", *BUILDS, "two_plugins"])
    parser.add_argument("--stage", type=pathlib.Path, required=True, help="a folder for the builds, with prefix/ in it")
    parser.add_argument("--compiler", default="clang++-19", help="for find_package and pkg_config")
    parser.add_argument("--cmake", default="cmake")
    args = parser.parse_args()
    args.stage = args.stage.resolve()

    if args.way == "two_plugins":
        two_plugins(args)
        return
    build = args.stage / args.way
    shutil.rmtree(build, ignore_errors=True)
    if args.way == "find_package":
        find_package(args, build, args.stage / "prefix", args.compiler)
        call_all(build)
        if (build / "consumer_of_asio").exists():
            run(build / "consumer_of_asio")
    elif args.way == "pkg_config":
        pkg_config(build, args.stage / "prefix", args.compiler)
        call_all(build)
    else:
        if BUILDS[args.way].how == "fetch_content":
            shutil.rmtree(args.stage / "repository", ignore_errors=True)
        for consumer in build_all(args, args.way, build):
            call_all(consumer)


main()
