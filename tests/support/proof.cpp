#include "support/proof.hpp"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

namespace keel::test {

namespace {

std::mutex spoken_mutex;  // tests may run servers on threads
std::set<std::string> spoken;
std::vector<std::pair<std::string, std::string>> named;
bool data_missing = false;  // for the current test

/// proved/<program>.txt next to the folder of the program; empty if the system cannot tell where that is.
std::filesystem::path record_file() {
    std::error_code unknown;
    auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (unknown) return {};
    return program.parent_path().parent_path() / "proved" / (program.filename().string() + ".txt");
}

}  // namespace

void spoke(std::string_view revision) {
    std::lock_guard lock(spoken_mutex);
    spoken.emplace(revision);
}

void proved(std::string_view name, std::string_view revision) {
    std::lock_guard lock(spoken_mutex);
    named.emplace_back(name, revision);
}

void not_run() { data_missing = true; }

void proof_writer::begin_run(const doctest::TestCaseData& test) {
    names_ = {test.m_name};
    std::lock_guard lock(spoken_mutex);
    spoken.clear();
    named.clear();
}

void proof_writer::end_run() {
    std::lock_guard lock(spoken_mutex);
    for (const std::string& name : names_) current_[name].insert(spoken.begin(), spoken.end());
    for (const auto& [name, revision] : named) current_[name].insert(revision);
}

void proof_writer::test_case_start(const doctest::TestCaseData& test) {
    current_.clear();
    data_missing = false;
    begin_run(test);
}

void proof_writer::test_case_reenter(const doctest::TestCaseData& test) {
    end_run();
    begin_run(test);
}

void proof_writer::subcase_start(const doctest::SubcaseSignature& subcase) {
    names_.emplace_back(subcase.m_name.c_str());
}

void proof_writer::test_case_end(const doctest::CurrentTestCaseStats& stats) {
    end_run();
    if (stats.failure_flags != 0) return;
    if (data_missing) {
        for (const auto& [name, revisions] : current_) not_run_.insert(name);
        return;
    }
    for (auto& [name, revisions] : current_) all_[name].merge(revisions);
}

void proof_writer::test_run_end(const doctest::TestRunStats& stats) {
    if (stats.numTestCasesPassingFilters != stats.numTestCases) return;
    auto file = record_file();
    if (file.empty()) return;
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    std::ofstream out(file);
    for (const auto& [name, revisions] : all_) {
        out << name << '\t';
        for (const std::string& each : revisions) out << each << ' ';
        out << '\n';
    }
    for (const std::string& name : not_run_) out << name << "\tnot run\n";
}

}  // namespace keel::test
