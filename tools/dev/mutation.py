"""Finds small changes (mutants) in C++ source text. Works on tokens, without a parser: a change that does not compile is reported
as such by tools/dev/mutate and does not count."""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<text>R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark_>->\*|<=>|<<=|>>=|\.\.\.|::|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|.)
""", re.X | re.S)

NOT_A_CALL = set("if for while switch return co_return throw else do case default break continue using typedef namespace "
                 "template class struct enum union public private protected static constexpr const auto static_assert "
                 "try catch delete new goto friend extern inline virtual explicit operator".split())

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=",
}
KINDS = {"<": "comparison", "<=": "comparison", ">": "comparison", ">=": "comparison", "==": "comparison", "!=": "comparison",
         "&&": "logic", "||": "logic"}


@dataclass(frozen=True)
class Token:
    kind: str  # text, number, word or mark
    text: str
    begin: int

    @property
    def end(self):
        return self.begin + len(self.text)


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    kind: str
    begin: int
    end: int
    replacement: str
    before: str  # the changed lines, without indentation
    after: str
    occurrence: int = 0  # the same change of the same text may be possible several times in a file

    @property
    def key(self):
        """Identifies the mutant although lines move."""
        return "\n".join((self.path, self.before, self.after, str(self.occurrence)))

    def apply(self, source):
        return source[:self.begin] + self.replacement + source[self.end:]


def tokens_of(source):
    """The tokens, without comments and preprocessor lines."""
    # Preprocessor lines become spaces, so that positions stay the same.
    blank = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: " " * len(m[0]), source, flags=re.M)
    out = []
    for m in TOKEN.finditer(blank):
        if m.lastgroup == "skip":
            continue
        kind = {"mark_": "mark", "mark": "text"}.get(m.lastgroup, m.lastgroup)
        out.append(Token(kind, m[0], m.start()))
    return out


def matching(tokens, i):
    """The index of the bracket that closes tokens[i], or None."""
    depth = 0
    for j in range(i, len(tokens)):
        if tokens[j].text in ("(", "[", "{"):
            depth += 1
        elif tokens[j].text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return j
    return None


def bodies(tokens):
    """For each token: is it inside the body of a function?"""
    inside = [False] * len(tokens)
    i = 0
    while i < len(tokens):
        if tokens[i].text == "{":
            # A body follows a parameter list or its qualifiers; a class or namespace follows a name.
            j = i - 1
            while j >= 0 and tokens[j].kind == "word" and tokens[j].text in ("const", "noexcept", "override", "final", "mutable"):
                j -= 1
            if j >= 0 and (tokens[j].text == ")" or tokens[j].text == "}"):  # "}" ends the initializer of a member
                end = matching(tokens, i) or len(tokens) - 1
                for k in range(i, end):
                    inside[k] = True
                i = end
        i += 1
    return inside


def spaced(source, token):
    """Binary operators have spaces around them; template brackets and references do not."""
    return source[token.begin - 1:token.begin].isspace() and source[token.end:token.end + 1].isspace()


def condition_of(tokens, i):
    """The range of the condition of the `if` or `while` at tokens[i], without an init statement. None if there is no condition that
    can be negated: it declares a variable, or this is not an `if`."""
    found = None
    close = matching(tokens, i + 1) if tokens[i].text in ("if", "while") and tokens[i + 1].text == "(" else None
    if close is None:
        return None
    first, depth = i + 2, 0
    for j in range(i + 2, close):
        text = tokens[j].text
        if text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
        elif depth == 0 and text == ";":
            first, found = j + 1, None
        elif depth == 0 and text == "=":
            found = "declaration"
    if found or first >= close:
        return None
    return tokens[first].begin, tokens[close - 1].end


def statement_at(tokens, i):
    """The index of the ";" that ends the expression statement at tokens[i], or None if there is no such statement."""
    if i == 0 or tokens[i - 1].text not in (";", "{", "}", ")", "else", ":"):
        return None
    if tokens[i - 1].text == ")" and not closes_control(tokens, i - 1):
        return None
    t = tokens[i]
    if t.text not in ("++", "--", "*") and (t.kind != "word" or t.text in NOT_A_CALL):
        return None
    depth, acts = 0, t.text in ("++", "--", "co_await")
    for j in range(i, len(tokens)):
        text = tokens[j].text
        if depth == 0 and j > i:
            if text == ";":
                return j if acts else None
            # Two words in a row declare something, as do `> name`, `& name` and `* name` before an effect.
            if not acts and tokens[j].kind == "word" and (tokens[j - 1].kind == "word" or tokens[j - 1].text in (">", "&", "*")):
                return None
            if text in ("=", "+=", "-=", "|=", "&=", "++", "--"):
                acts = True
        if text in ("(", "[", "{"):
            acts = acts or text == "("
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                return None
    return None


def closes_control(tokens, i):
    """Does this ")" end the head of an if, for or while?"""
    depth = 0
    for j in range(i, -1, -1):
        if tokens[j].text == ")":
            depth += 1
        elif tokens[j].text == "(":
            depth -= 1
            if depth == 0:
                return j > 0 and tokens[j - 1].text in ("if", "for", "while")
    return False


def joins_text(tokens, i):
    """Is this the + of two strings? Its mutants do not compile."""
    return tokens[i].text == "+" and "text" in (tokens[i - 1].kind, tokens[i + 1].kind)


def edits(source, tokens):
    """Yields (kind, begin, end, replacement)."""
    inside = bodies(tokens)
    for i, t in enumerate(tokens[:-2]):
        if not inside[i]:
            continue
        if condition := condition_of(tokens, i):
            begin, end = condition
            yield "negated condition", begin, end, f"!({source[begin:end]})"
            if t.text == "if":
                yield "condition false", begin, end, f"false && ({source[begin:end]})"
        if t.kind == "mark" and t.text in SWAPS and spaced(source, t) and not joins_text(tokens, i):
            yield KINDS.get(t.text, "arithmetic"), t.begin, t.end, SWAPS[t.text]
        if t.text in ("++", "--") and tokens[i + 1].kind == "word":
            yield "arithmetic", t.begin, t.end, "--" if t.text == "++" else "++"
        if t.text in ("true", "false"):
            yield "constant", t.begin, t.end, "false" if t.text == "true" else "true"
        if t.kind == "number" and re.fullmatch(r"\d+", t.text):
            value = int(t.text)
            yield "constant", t.begin, t.end, str(0 if value == 1 else value + 1)
        if t.text in ("return", "break", "continue") and tokens[i + 1].text == ";":
            yield f"removed {t.text}", t.begin, t.end, ""
        if (end := statement_at(tokens, i)) is not None:
            yield "removed statement", t.begin, tokens[end].begin, ""


def lines_around(source, begin, end):
    first = source.rfind("\n", 0, begin) + 1
    last = source.find("\n", end)
    return first, len(source) if last < 0 else last


def one_line(text):
    return " ".join(text.split())


def find(path, source):
    """All mutants of a file, in the order of its text."""
    seen, out = {}, []
    for kind, begin, end, replacement in edits(source, tokens_of(source)):
        first, last = lines_around(source, begin, end)
        before = one_line(source[first:last])
        after = one_line(source[first:begin] + replacement + source[end:last])
        occurrence = seen[before, after] = seen.get((before, after), -1) + 1
        out.append(Mutant(path, source.count("\n", 0, begin) + 1, kind, begin, end, replacement, before, after, occurrence))
    return out
