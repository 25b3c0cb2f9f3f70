#pragma once

// Lists of tools, resources, resource templates and prompts: one page, or all pages.

#include "client/engine_ptr.hpp"

#include <keel/call.hpp>
#include <keel/client.hpp>
#include <keel/loop.hpp>
#include <keel/task.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace keel::inline KEEL_ABI::client_side {

/// The progress of list_all.
struct whole_list {
    time_point due;
    std::size_t bytes = 0;  // of the pages so far
};

// Both run on the loop of the client, and keep the client alive. T: tool, resource, resource_template or prompt.

/// `part_of`: the list_all operation that this page belongs to, or null.
template <class T>
task<page<T>> list_page(engine_ptr client, std::optional<std::string> cursor, call_options how,
                        whole_list* part_of = nullptr);
template <class T>
task<std::vector<T>> list_all(engine_ptr client, call_options how);

}  // namespace keel::client_side
