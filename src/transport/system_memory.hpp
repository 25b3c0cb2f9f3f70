#pragma once

// How much memory this process may use.

#include <keel/version.hpp>

#include <cstddef>
#include <string_view>

namespace keel::inline KEEL_ABI::transport {

/// The memory of the machine in bytes, or the limit of the control group of this process if that is lower. 1 GiB if neither is known.
std::size_t available_memory();

/// The value of a line such as "MemTotal:  16384 kB" in the text of /proc/meminfo, in bytes; 0 if it is missing.
std::size_t read_meminfo(std::string_view text) noexcept;
/// The limit in a memory.max file of a control group, in bytes; 0 for "max" and for invalid text.
std::size_t read_memory_limit(std::string_view text) noexcept;

}  // namespace keel::transport
