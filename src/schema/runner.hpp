#pragma once

#include "schema/evaluated_marks.hpp"
#include "schema/program.hpp"

#include <keel/decode_error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace keel::inline KEEL_ABI::validation {

/// Validates one value. Without an error object it only returns true or false, and usually does not allocate; the
/// message is computed by a second run after a failure. That run can also collect the errors of all members and elements.
class runner {
public:
    explicit runner(const program& p, decode_error* error = nullptr, std::vector<decode_error>* all = nullptr) noexcept
        : p_(p), nodes_(p.nodes.data()), work_(p.max_work), depth_(p.max_depth), error_(error), all_(all) {}
    static constexpr std::size_t most_errors = 20;

    /// The path in the error starts with '.' or '['.
    bool accepts(const json::value& v);
    /// True if validation failed because a limit was reached.
    bool stopped() const noexcept { return stopped_ != nullptr; }

private:
    struct scope {  // the dynamic scope, innermost resource first
        const scope* outer;
        index resource;
    };

    static bool fits(type_set allowed, const json::value& v) noexcept;
    bool check(index at, const json::value& v, marks* seen);
    bool check_rules(const node&, const json::value&, marks*);
    bool check_scoped(const node&, const json::value&, marks*);
    bool check_unevaluated(const node&, const json::value&, marks*);
    bool check_parts(const node&, const json::value&, marks*);
    bool check_values(const value_rules&, const json::value&);
    bool check_number(const number_rules&, const json::value&);
    bool check_string(const string_rules&, std::string_view);
    bool check_array(const array_rules&, const json::value&, marks*);
    bool check_contains(const array_rules&, const json::value&, marks*);
    bool check_object(const object_rules&, const json::value&, marks*);
    bool check_member(const object_rules&, const json::member&, std::size_t& next, std::size_t& required, bool& known,
                      std::size_t& mark);
    bool check_dependents(const object_rules&, const json::value&, marks*);
    bool check_logic(const logic_rules&, const json::value&, marks*);
    bool check_any_of(const std::vector<index>&, const json::value&, marks*);
    bool check_one_of(const std::vector<index>&, const json::value&, marks*);
    bool refuse_all(const std::vector<index>&, const json::value&);
    bool check_if(const logic_rules&, const json::value&, marks*);
    index dynamic_target(const logic_rules&) const noexcept;

    /// Like check, but without recording an error.
    bool test(index at, const json::value& v, marks* seen);

    // unique.cpp
    bool all_different(std::span<const json::value> items);
    bool equal(const json::value& a, const json::value& b);
    std::uint64_t hash(const json::value& v, std::size_t depth);

    /// Returns false if the work limit is exceeded. The limit holds for the whole validation: afterwards every check
    /// fails.
    bool spend(std::size_t steps) noexcept {
        if (steps > work_) return stop("validation stopped: work limit exceeded");
        work_ -= steps;
        return true;
    }
    bool stop(const char* why) noexcept;
    bool found(const pattern&, std::string_view text, bool& is_found);

    template <class Words>
    bool refuse(Words&& words) {
        if (error_) [[unlikely]] {
            error_->path.clear();
            error_->text = words();
        }
        return false;
    }
    template <class Step>
    bool refused_in(const Step& step);
    /// Like refused_in, but if all errors are collected, it adds the error and returns true if validation goes on. `mark` is the
    /// number of errors collected before this part was checked; it is updated.
    template <class Step>
    bool refused_part(const Step& step, std::size_t& mark);
    /// The number of errors collected so far; 0 if they are not collected.
    std::size_t collected() const noexcept { return error_ && all_ ? all_->size() : 0; }

    const program& p_;
    const node* nodes_;
    std::size_t work_;
    std::size_t depth_;
    const scope* scope_ = nullptr;
    decode_error* error_;
    std::vector<decode_error>* all_;  // used only if error_ is set
    const char* stopped_ = nullptr;
};

}  // namespace keel::validation
