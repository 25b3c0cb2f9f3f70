#include "http_client/transfer.hpp"

namespace keel::inline KEEL_ABI::http_client {

std::string_view response_view::header(std::string_view lower_case_name) const noexcept {
    for (const auto& [name, value] : *headers) {
        if (name == lower_case_name) return value;
    }
    return {};
}

bool response_view::has(std::string_view lower_case_name) const noexcept {
    for (const auto& each : *headers) {
        if (each.first == lower_case_name) return true;
    }
    return false;
}

}  // namespace keel::http_client
