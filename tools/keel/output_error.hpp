#pragma once

#include <system_error>

namespace keel::command {

/// Standard output takes nothing more.
class output_error : public std::system_error {
public:
    explicit output_error(int number) : std::system_error(number, std::generic_category(), "standard output") {}
};

}  // namespace keel::command
