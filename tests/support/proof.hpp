#pragma once

// Records which rules the tests of a program have proved, for tools/dev/rule_table.
//
// The name of a test lists its rules. The revisions are observed: message_check reports each revision in which a server
// has answered. A test that passes is recorded with the revisions that were used while it ran; with subcases, those of
// each run of the test.
//
// The record is <build>/proved/<program>.txt, one line for each test: its name, a tab, the revisions. A test that was
// not run because its test data is missing has "not run" in place of the revisions. The record is written only if all
// tests of the program have run.

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace keel::test {

/// A server has answered in this revision during the current test. Safe to call from any thread.
void spoke(std::string_view revision);

/// Records a named part of the current test, such as a conversation, under this revision.
void proved(std::string_view name, std::string_view revision);

/// The current test cannot be run because its test data is missing. Must be called from the test's own thread.
void not_run();

/// A doctest listener that writes the record.
class proof_writer final : public doctest::IReporter {
public:
    explicit proof_writer(const doctest::ContextOptions&) {}

    void test_case_start(const doctest::TestCaseData& test) override;
    void test_case_reenter(const doctest::TestCaseData& test) override;
    void subcase_start(const doctest::SubcaseSignature& subcase) override;
    void test_case_end(const doctest::CurrentTestCaseStats& stats) override;
    void test_run_end(const doctest::TestRunStats& stats) override;

    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}

private:
    using record = std::map<std::string, std::set<std::string>>;  // a name, its revisions

    void begin_run(const doctest::TestCaseData& test);
    void end_run();

    std::vector<std::string> names_;  // of the current run of a test: its own and those of its subcases
    record current_;                  // of the current test, over all its runs
    record all_;
    std::set<std::string> not_run_;  // names of tests
};

}  // namespace keel::test
