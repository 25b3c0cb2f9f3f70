#pragma once

#include <system_error>

namespace keel::command {

/// Writing to standard output failed.
class output_error : public std::system_error {
public:
    explicit output_error(int number) : std::system_error(number, std::generic_category(), "standard output") {}
};

}  // namespace keel::command
