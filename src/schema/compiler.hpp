#pragma once

#include "schema/program.hpp"

#include <keel/schema.hpp>

#include <memory>

namespace keel::inline KEEL_ABI::validation {

/// Throws schema_error. The result does not refer to the document or the options.
std::shared_ptr<const program> compile(const json::value& document, const schema_options& options);

}  // namespace keel::validation
