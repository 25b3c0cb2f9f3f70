#!/usr/bin/env python3
"""Builds the documentation site into build/docs: the pages of docs/ with mkdocs, the API reference with doxygen.

    tools/dev/build_docs.py                    build/docs/index.html is the start page
    tools/dev/build_docs.py --output FOLDER

The pages are copied to a folder of their own first. README.md becomes the start page, and links to files outside of docs/ (examples,
tests) lead to copies of these files on the site, so the site is complete without the repository and without a network. Any
warning of mkdocs, such as a link to a missing page, is an error.
"""

import argparse
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs/site"
SKIPPED = {"__pycache__", "node_modules"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".c": "c", ".py": "python", ".sh": "sh", ".json": "json", ".yaml": "yaml",
             ".mjs": "javascript", ".ts": "typescript"}
FENCE = re.compile(r"^\s*(```+|~~~+)")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def title_of(page):
    return re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE).group(1)


class Pages:
    """The pages of the site, with links adjusted to the site."""

    def __init__(self, folder):
        self.folder = folder
        self.wanted = {}  # a file or folder of the repository -> its page
        # The paths of repository files on the site.
        self.places = {ROOT / "README.md": "index.md", ROOT / "CONTRIBUTING.md": "CONTRIBUTING.md",
                       ROOT / "CHANGELOG.md": "CHANGELOG.md"}
        for page in sorted((ROOT / "docs").rglob("*.md")):
            self.places[page] = str(page.relative_to(ROOT / "docs"))

    def add_all(self):
        for source, place in self.places.items():
            self.write(place, self.with_links(source.read_text(encoding="utf-8"), source.parent, place))
        done = set()
        while todo := [source for source in self.wanted if source not in done]:
            for source in todo:
                done.add(source)
                self.write(self.wanted[source], self.source_page(source))

    def write(self, place, text):
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def place_of(self, file):
        """The page of a file or folder of the repository; created if it does not exist."""
        if file in self.places:
            return self.places[file]
        if file not in self.wanted:
            name = str(file.relative_to(ROOT))
            # A file becomes a page with its name, a folder the index page of its folder.
            self.wanted[file] = f"source/{name}/index.md" if file.is_dir() else f"source/{name}.md"
        return self.wanted[file]

    def with_links(self, text, folder, place):
        """The text of a page in `folder` of the repository, with links adjusted to the site."""
        def change(link):
            label, (target, mark, anchor) = link.group(1), link.group(2).partition("#")
            if not target or re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target):
                return link.group(0)
            file = (folder / target).resolve()
            if not file.exists():
                sys.exit(f"build_docs: {place}: no such file: {target}")
            if re.fullmatch(r"[\w./-]+\.md", label):  # on the site pages have titles, not file names
                label = title_of(file)
            to = os.path.relpath(self.place_of(file), os.path.dirname(place) or ".")
            return f"[{label}]({to}{mark}{anchor})"

        lines, fence = [], None
        for line in text.splitlines():
            mark = FENCE.match(line)
            if mark and fence is None:
                fence = mark.group(1)
            elif mark and line.strip() == fence:
                fence = None
            elif fence is None:
                line = LINK.sub(change, line)
            lines.append(line)
        return "\n".join(lines) + "\n"

    def source_page(self, source):
        name = source.relative_to(ROOT)
        place = self.wanted[source]
        if source.is_dir():
            inside = sorted(f for f in source.iterdir() if f.name not in SKIPPED and not f.name.startswith("."))
            entries = [f"- [{f.name}{'/' if f.is_dir() else ''}]"
                       f"({os.path.relpath(self.place_of(f), os.path.dirname(place))})" for f in inside]
            return f"# {name}/\n\n" + "\n".join(entries) + "\n"
        try:
            text = source.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            text = f"({source.stat().st_size} bytes of binary data)"
        fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
        return f"# {name}\n\n{fence}{LANGUAGES.get(source.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def brief(header):
    """The first sentence of the comment at the top of a header."""
    comment = []
    for line in header.read_text(encoding="utf-8").splitlines():
        if line.startswith("// "):
            comment.append(line[3:].strip())
        elif comment:
            break
    return re.split(r"(?<=[a-z)])\.(?:\s|$)", " ".join(comment))[0].rstrip(":")


def api_page(pages, reference):
    """The table of the public headers, each with a link to its page of the reference."""
    rows = []
    for header in sorted((ROOT / "include/keel").glob("*.hpp")):
        # The naming scheme of doxygen for pages of files.
        page = header.name.replace("_", "__").replace(".", "_8") + ".html"
        if not (reference / page).exists():
            sys.exit(f"build_docs: doxygen made no page for {header.name}")
        rows.append(f"| [`<keel/{header.name}>`](api/{page}) | {html.escape(brief(header), quote=False)} |")
    pages.write("api.md", "# API reference\n\n"
                "The reference is made from the public headers. Start with [all classes](api/annotated.html) or "
                "[everything in namespace keel](api/namespacekeel.html), or choose a header:\n\n"
                "| header | contents |\n|---|---|\n" + "\n".join(rows) + "\n")


def run(*command, **more):
    status = subprocess.run([str(word) for word in command], **more).returncode
    if status:
        sys.exit(f"build_docs: {command[0]} failed with status {status}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/docs")
    output = parser.parse_args().output.resolve()
    stage = output.with_name(output.name + "-stage")
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "pages").mkdir(parents=True)

    run("doxygen", "-q", SITE / "Doxyfile", cwd=ROOT, env={**os.environ, "KEEL_API_OUTPUT": str(stage / "pages")})
    pages = Pages(stage / "pages")
    pages.add_all()
    api_page(pages, stage / "pages/api")
    shutil.copy(SITE / "style.css", stage / "pages")
    shutil.copy(SITE / "mkdocs.yml", stage)
    run("mkdocs", "build", "--strict", "--quiet", "--config-file", stage / "mkdocs.yml", cwd=stage)

    shutil.rmtree(output, ignore_errors=True)
    (stage / "site").rename(output)
    shutil.rmtree(stage)
    print(f"{output}/index.html")


main()
