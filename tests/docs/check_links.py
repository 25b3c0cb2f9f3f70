#!/usr/bin/env python3
"""Checks the documentation: links, anchors, the table of contents, and the form of the guides. Needs no network.

- A link to a file names an existing file of this repository; a link to a section names an existing heading or HTML id.
- A link to the web is a well-formed https or http URL.
- Every page of docs/ is in the table of contents (docs/site/mkdocs.yml), and every entry there is a page.
- Every guide starts with an example and ends with the section "Common mistakes".
- Every message that troubleshooting.md quotes exists in the sources.
"""

import os
import pathlib
import re
import sys
import unittest
from urllib.parse import unquote, urlsplit

SOURCE = pathlib.Path(os.environ.get("KEEL_SOURCE", pathlib.Path(__file__).resolve().parents[2])).resolve()
SKIPPED_FOLDERS = {"build", "node_modules", ".git", ".cache"}

# Pages that are not guides: they are looked up, not read from start to end.
NOT_GUIDES = {"architecture.md", "lifecycle.md", "rough-edges.md", "troubleshooting.md", "dependencies.md"}

# Symptoms that are not messages of Keel: texts of CMake, compilers and the system, and names.
FOREIGN_TEXTS = {
    "Could NOT find OpenSSL", "Package 're2' not found", 'Could not find a package configuration file provided by "keel',
    "array used as initializer", "reference to 'server' is ambiguous", "Address already in use",
    "No such file or directory", "keel::v0_1::main(...)", "keel::url", "v0_2", "keel:", "std::invalid_argument",
    "std::logic_error", "data.reason", "stop()", "keel", "Accept", "Mcp-Session-Id", "identify", "timed_out",
}

FENCE = re.compile(r"^\s*(```+|~~~+)")
INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s<>()]+(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+\"[^\"]*\")?\s*$")
AUTOLINK = re.compile(r"<(https?://[^>\s]*)>")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
HTML_ID = re.compile(r"<[a-zA-Z][^>]*\b(?:id|name)=[\"']([^\"']+)[\"']")


def documents():
    found = []
    for folder, folders, files in os.walk(SOURCE):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        found += [pathlib.Path(folder) / f for f in sorted(files) if f.endswith(".md")]
    return found


def prose(text):
    """(line number, line) of everything outside of code blocks."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark.group(1)
        elif fence is not None:
            if mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
                fence = None
        else:
            yield number, line


def slug(heading):
    """The anchor of a heading, the same on the site and in common Git hosting services."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # the text of a link
    text = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return re.sub(r"\s+", "-", text)


def anchors(text):
    found = set()
    for _, line in prose(text):
        heading = HEADING.match(line)
        if heading:
            found.add(slug(heading.group(2)))
        found.update(HTML_ID.findall(line))
    return found


def links(text):
    """(line number, target) of every link outside of code."""
    for number, line in prose(text):
        bare = INLINE_CODE.sub("``", line)
        for pattern in (LINK, REFERENCE, AUTOLINK):
            for target in pattern.findall(bare):
                yield number, target


def web_problem(url):
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as e:
        return str(e)
    if parts.scheme not in ("https", "http"):
        return f"unsupported scheme {parts.scheme!r}"
    host = parts.hostname or ""
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", host) or ".." in url:
        return f"invalid host {host!r}"
    if "@" in parts.netloc or (port is not None and not 0 < port < 65536):
        return f"invalid authority {parts.netloc!r}"
    if not re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*", url):
        return "characters that are not allowed in a URL"
    return None


class Checker:
    def __init__(self):
        self.anchors_of = {}

    def problem(self, page, target):
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target):
            return web_problem(target)
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        if path.startswith("/") or not file.is_relative_to(SOURCE):
            return "leaves the repository"
        if not exists_exactly(file):
            return "no such file"
        if not anchor:
            return None
        if file.suffix != ".md":
            return "an anchor in a file that is not a page"
        if file not in self.anchors_of:
            self.anchors_of[file] = anchors(file.read_text(encoding="utf-8"))
        return None if unquote(anchor) in self.anchors_of[file] else "no such section"


def exists_exactly(file):
    """Also on file systems that ignore case."""
    return file == SOURCE or (file.exists() and file.name in os.listdir(file.parent))


def nav_entries():
    text = (SOURCE / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    nav = text[text.index("\nnav:"):]
    return re.findall(r"^\s+- (?:[^:\n]*: )?([\w/.-]+\.md)\s*$", nav, re.MULTILINE)


class DocLinks(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        checker = Checker()
        count, wrong = 0, []
        for page in documents():
            for number, target in links(page.read_text(encoding="utf-8")):
                count += 1
                problem = checker.problem(page, target)
                if problem:
                    wrong.append(f"{page.relative_to(SOURCE)}:{number}: {target}: {problem}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(count, 100)

    def test_the_table_of_contents_has_every_page_once(self):
        entries = nav_entries()
        pages = {str(p.relative_to(SOURCE / "docs")) for p in documents() if p.is_relative_to(SOURCE / "docs")}
        # Pages that ./dev docs makes: the README, two files of the top folder, and the API reference.
        made = {"index.md", "CONTRIBUTING.md", "CHANGELOG.md", "api.md"}
        self.assertEqual(sorted(entries), sorted(pages | made))

    def test_every_guide_ends_with_common_mistakes(self):
        for page in sorted((SOURCE / "docs").glob("*.md")):
            if page.name in NOT_GUIDES:
                continue
            sections = [h.group(2) for _, line in prose(page.read_text(encoding="utf-8"))
                        if (h := HEADING.match(line)) and len(h.group(1)) == 2]
            self.assertEqual(sections[-1:], ["Common mistakes"], page.name)

    def test_every_guide_starts_with_an_example(self):
        for page in sorted((SOURCE / "docs").glob("*.md")):
            if page.name in NOT_GUIDES - {"troubleshooting.md"}:
                continue
            text = page.read_text(encoding="utf-8")
            first_section = text.find("\n## ")
            self.assertIn("\n```", text[:first_section], f"{page.name}: no code before the first section")


def string_literals(text):
    """The string literals of a C++ file, adjacent ones joined."""
    found, end = [], None
    for literal in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text):
        value = re.sub(r"\\(.)", r"\1", literal.group(1))
        if end is not None and not text[end:literal.start()].strip():
            found[-1] += value
        else:
            found.append(value)
        end = literal.end()
    return found


def quoted_messages():
    """(line number, fixed part of a message) of the symptoms in the tables of troubleshooting.md."""
    for number, line in prose((SOURCE / "docs/troubleshooting.md").read_text(encoding="utf-8")):
        if not line.startswith("| "):
            continue
        columns = line.split(" | ")
        quotes = columns[0] if not re.match(r"\| \d", columns[0]) else " ".join(columns[:2])
        for quote in re.findall(r"`([^`]+)`", quotes):
            for part in quote.split("…"):
                part = part.strip(' :"')
                if part and part not in FOREIGN_TEXTS and re.search(r"[a-z]{3}", part):
                    yield number, part


class Messages(unittest.TestCase):
    def test_every_quoted_message_exists(self):
        literals = []
        for folder in ("src", "include", "tools/keel"):
            for file in sorted((SOURCE / folder).rglob("*.[ch]pp")):
                literals += string_literals(file.read_text(encoding="utf-8"))
        quoted = list(quoted_messages())
        wrong = [f"docs/troubleshooting.md:{number}: no message of Keel contains: {part}"
                 for number, part in quoted if not any(part in literal for literal in literals)]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(len(quoted), 20)

    def test_literals_are_joined(self):
        self.assertEqual(string_literals('f("a \\"b\\" " \n "c", "d")'), ['a "b" c', "d"])


class TheCheckItself(unittest.TestCase):
    def test_links_are_found_outside_of_code_only(self):
        text = "[a](x.md) `[b](y.md)` [`c`](z.md#s)\n```\n[d](w.md)\n```\n<https://example.com/>\n[r]: v.md\n"
        self.assertEqual([t for _, t in links(text)], ["x.md", "z.md#s", "https://example.com/", "v.md"])

    def test_anchors_are_those_of_the_site(self):
        self.assertEqual(slug("g++ 12 destroys some temporaries twice"), "g-12-destroys-some-temporaries-twice")
        self.assertEqual(slug("`keep_alive` does nothing over HTTP"), "keep_alive-does-nothing-over-http")
        self.assertEqual(anchors('# A b\n<a id="b4"></a>\n```\n# no\n```\n'), {"a-b", "b4"})

    def test_problems_are_seen(self):
        checker, page = Checker(), SOURCE / "docs" / "guide.md"
        self.assertIsNone(checker.problem(page, "tools.md#threads"))
        self.assertEqual(checker.problem(page, "tools.md#thread"), "no such section")
        self.assertEqual(checker.problem(page, "tool.md"), "no such file")
        self.assertEqual(checker.problem(page, "Tools.md"), "no such file")
        self.assertEqual(checker.problem(page, "../../x"), "leaves the repository")
        self.assertEqual(checker.problem(page, "../examples/tools.cpp#L1"), "an anchor in a file that is not a page")
        self.assertIsNone(checker.problem(page, "https://example.com/a#b"))
        for bad in ("https://", "https://exa mple.com", "https:/example.com", "ftp://example.com/", "javascript:x",
                    "https://u@example.com/", "https://example.com:99999/", "https://example..com/"):
            self.assertIsNotNone(checker.problem(page, bad), bad)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad else 0)
