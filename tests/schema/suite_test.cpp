#include "suite.hpp"

#include "support/test_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <string>
#include <string_view>

using namespace keel;

namespace {

struct suite_part {
    std::string folder;
    std::string dialect;       // for schemas without "$schema"
    std::size_t required;      // The copy of the suite. Another number means another copy: look what has changed.
    std::size_t formats;       // optional/format, of the supported formats
    std::size_t optional;      // optional
    std::string_view omitted;  // the file of optional/ whose tests need not pass

    std::string data() const { return std::string(suite::data) + "/tests/" + folder; }
    std::filesystem::path path() const { return suite::folder() / "tests" / folder; }
};

// "dependencies" is replaced by "dependentRequired" and "dependentSchemas".
const suite_part suite_2020_12{"draft2020-12", "", 1299, 517, 162, "dependencies-compatibility: "};
const suite_part suite_2019_09{"draft2019-09", "", 1259, 510, 158, "dependencies-compatibility: "};
// The suite for draft-07 validates the content of strings; in Keel it is an annotation, as in later drafts.
const suite_part suite_draft_07{"draft7", "http://json-schema.org/draft-07/schema#", 927, 430, 118, "content: "};

void print(const suite_part& part, std::string_view what, const suite::score& score) {
    std::cout << "JSON-Schema-Test-Suite " << part.folder << what << ": " << score.passed << " of " << score.all
              << "\n";
}

void check_required(const suite_part& part) {
    if (test::test_data_missing(part.data())) return;
    const schema_options options{.documents = suite::remotes()};
    suite::score score;
    for (const auto& file : suite::files_in(part.path())) suite::run(file, options, score, part.dialect);
    print(part, "", score);
    for (const std::string& line : score.failed) MESSAGE(line);
    CHECK(score.failed.empty());
    CHECK(score.all == part.required);
}

void check_formats(const suite_part& part) {
    if (test::test_data_missing(part.data())) return;
    // Our rule: a host name has letters, digits and hyphens (RFC 1123). The suite's tests of names with xn-- need the
    // IDNA tables, which Keel does not have.
    const schema_options options{.check_formats = true};
    const auto folder = part.path() / "optional/format";
    suite::score all;
    suite::score hostnames;
    for (const char* name : {"date-time", "date", "time", "duration", "email", "ipv4", "ipv6", "uri", "uri-reference",
                             "uuid", "json-pointer", "relative-json-pointer", "regex", "ecmascript-regex", "unknown"}) {
        const auto file = folder / (std::string(name) + ".json");
        if (exists(file)) suite::run(file, options, all, part.dialect);  // the later formats are not in draft-07
    }
    suite::run(folder / "hostname.json", options, hostnames, part.dialect);
    print(part, " optional/format", all);
    print(part, " hostname", hostnames);
    for (const std::string& line : all.failed) MESSAGE(line);
    CHECK(all.failed.empty());
    CHECK(all.all == part.formats);
    for (const std::string& line : hostnames.failed) {
        const bool about_idna = line.find("\"xn--") != line.npos || line.find("\"XN--") != line.npos;
        CHECK_MESSAGE(about_idna, line);
    }
}

void check_optional(const suite_part& part) {
    if (test::test_data_missing(part.data())) return;
    const schema_options options{.documents = suite::remotes()};
    suite::score score;
    for (const auto& file : suite::files_in(part.path() / "optional")) suite::run(file, options, score, part.dialect);
    print(part, " optional", score);
    for (const std::string& line : score.failed) CHECK_MESSAGE(line.starts_with(part.omitted), line);
    CHECK(score.all == part.optional);
}

}  // namespace

TEST_CASE("SCH-01: every required test of the official suite for 2020-12 passes") { check_required(suite_2020_12); }
TEST_CASE("SCH-02: every required test of the official suite for 2019-09 passes") { check_required(suite_2019_09); }
TEST_CASE("SCH-02: every required test of the official suite for draft-07 passes") { check_required(suite_draft_07); }

TEST_CASE("the suite's tests of formats for 2020-12 pass for the supported formats") { check_formats(suite_2020_12); }
TEST_CASE("the suite's tests of formats for 2019-09 pass for the supported formats") { check_formats(suite_2019_09); }
TEST_CASE("the suite's tests of formats for draft-07 pass for the supported formats") { check_formats(suite_draft_07); }

TEST_CASE("the optional tests of the suite for 2020-12 pass, except for deprecated keywords") {
    check_optional(suite_2020_12);
}
TEST_CASE("the optional tests of the suite for 2019-09 pass, except for deprecated keywords") {
    check_optional(suite_2019_09);
}
TEST_CASE("the optional tests of the suite for draft-07 pass, except for the content of strings") {
    check_optional(suite_draft_07);
}
