// The resources that this process holds.

#include "caller.hpp"

#include "../support/process_facts.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace keel::caller {

namespace {

/// "pid state" of each child, including zombies.
json::value children() {
    json::value all = json::array();
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream in(task.path() / "children");
        for (std::string pid; in >> pid;) {
            std::ifstream stat("/proc/" + pid + "/stat");
            std::string line;
            std::getline(stat, line);
            std::size_t name_ends = line.rfind(')');
            char state = name_ends == std::string::npos || name_ends + 2 >= line.size() ? '?' : line[name_ends + 2];
            all.push_back(pid + " " + state);
        }
    }
    return all;
}

}  // namespace

json::value census() {
    return json::object({{"descriptors", test::open_descriptors()},
                         {"threads", test::running_threads()},
                         {"children", children()},
                         {"resident_bytes", test::resident_bytes()}});
}

}  // namespace keel::caller
