"""The instructions per request counted by callgrind: the difference of two runs with different numbers of requests, so that
the startup cost cancels out."""

import re
import subprocess

from run import print_table

COUNTS = (2_000, 8_000)
LINE = re.compile(r"^\s*([\d,]+)\s+(\S.*)$")
SHORTER = (
    (re.compile(r"std::basic_string_view<char, std::char_traits<char> ?>"), "std::string_view"),
    (re.compile(r"std::(__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>"), "std::string"),
    (re.compile(r" \[[^\]]*\]$"), ""),  # the object file
    (re.compile(r"'\d+$"), ""),  # recursion depth
)


def _total(out):
    for line in out.read_text().splitlines():
        if line.startswith(("totals:", "summary:")):
            return int(line.split()[1])
    raise SystemExit("bench: callgrind printed no totals")


def instructions_per_request(fewer, more):
    return (_total(more) - _total(fewer)) / (COUNTS[1] - COUNTS[0])


def _functions(out, inclusive):
    how = f"--inclusive={'yes' if inclusive else 'no'}"
    command = ["callgrind_annotate", how, "--auto=no", "--threshold=100", "--show-percs=no", str(out)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    counted = {}
    for line in text.splitlines():
        found = LINE.match(line)
        if found and ":" in found[2]:  # file:function [object]
            name = found[2].partition(":")[2]
            for pattern, short in SHORTER:
                name = pattern.sub(short, name)
            counted[name] = counted.get(name, 0) + int(found[1].replace(",", ""))
    return counted


def print_top(fewer, more, count):
    everything = instructions_per_request(fewer, more)
    for inclusive in (False, True):
        before = _functions(fewer, inclusive)
        each = {
            name: (total - before.get(name, 0)) / (COUNTS[1] - COUNTS[0])
            for name, total in _functions(more, inclusive).items()
        }
        if inclusive:  # main and its callers are not interesting
            each = {name: value for name, value in each.items() if value < 0.97 * everything}
        most = sorted(each.items(), key=lambda item: -item[1])[:count]
        title = "with what they call" if inclusive else "by themselves"
        print_table(f"instructions per request, {title}", ("function", "here"), [(n[:160], f"{v:,.0f}") for n, v in most])
