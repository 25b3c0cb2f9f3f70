#include "suite.hpp"

#include "support/test_data.hpp"

#include <doctest/doctest.h>

#include <iostream>
#include <string>

using namespace keel;

TEST_CASE("SCH-01: every required test of the official suite for 2020-12 passes") {
    if (test::test_data_missing(suite::data)) return;
    const schema_options options{.documents = suite::remotes()};
    suite::score score;
    for (const auto& file : suite::files_in(suite::folder() / "tests/draft2020-12")) suite::run(file, options, score);
    std::cout << "JSON-Schema-Test-Suite draft 2020-12: " << score.passed << " of " << score.all << "\n";
    for (const std::string& line : score.failed) MESSAGE(line);
    CHECK(score.failed.empty());
    // The suite of which this is a copy. Another number means another copy: look what has changed.
    CHECK(score.all == 1299);
}

TEST_CASE("the suite's tests of formats pass for the supported formats") {
    if (test::test_data_missing(suite::data)) return;
    // Our rule: a host name has letters, digits and hyphens (RFC 1123). The suite's tests of names with xn-- need the
    // IDNA tables, which Keel does not have.
    const schema_options options{.check_formats = true};
    const auto folder = suite::folder() / "tests/draft2020-12/optional/format";
    suite::score all;
    suite::score hostnames;
    for (const char* name : {"date-time", "date", "time", "duration", "email", "ipv4", "ipv6", "uri", "uri-reference",
                             "uuid", "json-pointer", "relative-json-pointer", "regex", "ecmascript-regex", "unknown"}) {
        suite::run(folder / (std::string(name) + ".json"), options, all);
    }
    suite::run(folder / "hostname.json", options, hostnames);
    std::cout << "optional/format: " << all.passed << " of " << all.all << ", hostname: " << hostnames.passed << " of "
              << hostnames.all << "\n";
    for (const std::string& line : all.failed) MESSAGE(line);
    CHECK(all.failed.empty());
    CHECK(all.all > 300);
    for (const std::string& line : hostnames.failed) {
        const bool about_idna = line.find("\"xn--") != line.npos || line.find("\"XN--") != line.npos;
        CHECK_MESSAGE(about_idna, line);
    }
}

TEST_CASE("the optional parts of the suite pass, except for other drafts and deprecated keywords") {
    if (test::test_data_missing(suite::data)) return;
    const schema_options options{.documents = suite::remotes()};
    suite::score score;
    for (const auto& file : suite::files_in(suite::folder() / "tests/draft2020-12/optional")) {
        suite::run(file, options, score);
    }
    std::cout << "optional: " << score.passed << " of " << score.all << "\n";
    for (const std::string& line : score.failed) {
        const bool expected = line.starts_with("cross-draft: ") || line.starts_with("dependencies-compatibility: ");
        CHECK_MESSAGE(expected, line);
    }
}
