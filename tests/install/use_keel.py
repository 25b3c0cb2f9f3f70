#!/usr/bin/env python3
"""Builds the ten-line server in one of the ways a user may take, then calls it once over stdio."""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(*command, **more):
    command = [str(word) for word in command]
    print("$", shlex.join(command), flush=True)
    subprocess.run(command, check=True, **more)


def build_with_cmake(way, args, build, *settings):
    # Unoptimised: what is tested is that it builds and links, and the whole library may be part of that.
    run(args.cmake, "-S", HERE / way, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
        f"-DCMAKE_CXX_COMPILER={args.compiler}", *settings)
    run(args.cmake, "--build", build)
    return build / "consumer"


def find_package(args, build):
    return build_with_cmake("find_package", args, build, f"-DCMAKE_PREFIX_PATH={args.stage / 'prefix'}")


def add_subdirectory(args, build):
    launcher = shutil.which("ccache")
    settings = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []
    return build_with_cmake("add_subdirectory", args, build, f"-DKEEL_SOURCE={HERE.parents[1]}", *settings)


def pkg_config(args, build):
    [pc] = (args.stage / "prefix").rglob("keel.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    answer = subprocess.run(["pkg-config", "--cflags", "--libs", "keel"], env=environment, check=True,
                            capture_output=True, text=True)
    build.mkdir(parents=True)
    run(args.compiler, "-std=c++20", HERE / "consumer" / "main.cpp", "-o", build / "consumer",
        *shlex.split(answer.stdout))
    return build / "consumer"


def call(program):
    """One conversation, as a client holds it; then end of input, to which a server answers by leaving with 0."""
    conversation = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "consumer", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "add", "arguments": {"a": 2, "b": 40.5}}},
    ]
    server = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    answers = {}
    for message in conversation:
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        while message.get("id", 0) not in [0, *answers]:
            line = server.stdout.readline()
            if not line:
                sys.exit(f"the server left with {server.wait()} before it answered {message}")
            answer = json.loads(line)
            answers[answer.get("id")] = answer
    server.stdin.close()
    status = server.wait(timeout=30)
    assert answers[1]["result"]["serverInfo"]["name"] == "calculator", answers[1]
    result = answers[2]["result"]
    assert not result.get("isError"), result
    assert result["content"][0]["text"] == "42.5", result
    assert status == 0, f"the server left with {status}"
    print("2 + 40.5 =", result["content"][0]["text"])


def main():
    ways = {way.__name__: way for way in (find_package, add_subdirectory, pkg_config)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=ways)
    parser.add_argument("--stage", type=pathlib.Path, required=True, help="a folder for the builds, with prefix/ in it")
    parser.add_argument("--compiler", default="clang++-19")
    parser.add_argument("--cmake", default="cmake")
    args = parser.parse_args()

    build = args.stage / args.way
    shutil.rmtree(build, ignore_errors=True)
    program = ways[args.way](args, build)
    call(program)
    if args.way == "find_package":
        call(program.parent / "consumer_of_core")
        with_asio = program.parent / "consumer_of_asio"
        if with_asio.exists():
            run(with_asio)


main()
