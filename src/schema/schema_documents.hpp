#pragma once

// The documents of a schema during compilation: their subschemas, identifiers and anchors, and how references are
// resolved.

#include "schema/dialects.hpp"
#include "schema/program.hpp"

#include <keel/schema.hpp>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace keel::inline KEEL_ABI::validation {

/// A schema with its own URI, and all its subschemas that have none.
struct resource {
    std::string uri = {};
    const json::value* root = nullptr;
    std::map<std::string, const json::value*, std::less<>> anchors = {};  // the names of subschemas
    std::map<std::string, const json::value*, std::less<>> dynamic_anchors =
        {};  // "$dynamicAnchor", "$recursiveAnchor"
};

/// The name of a "$recursiveAnchor" in resource::dynamic_anchors. Other names are not empty.
inline constexpr std::string_view recursive_anchor;

/// One schema in a document.
struct place {
    index resource = 0;
    index node = none;
    dialect speaks = {};
    std::string where;  // for messages: a JSON pointer, preceded by the document's URI unless it is the main document
};

class schema_documents {
public:
    explicit schema_documents(const schema_options& options) : options_(options) {}

    /// Adds the main document. Appends each of its schemas to `found`.
    void add_main(const json::value& document, std::vector<const json::value*>& found);

    place& at(const json::value& schema) { return places_.find(&schema)->second; }
    const std::deque<resource>& resources() const noexcept { return resources_; }

    /// Resolves a reference in `from`. Loads documents from schema_options::documents if necessary.
    const json::value& resolve(const place& from, std::string_view reference, std::string_view keyword);

private:
    struct step;
    void scan(step first, std::vector<const json::value*>* found);
    void scan_object(const step&, std::vector<step>& waiting);
    void scan_keyword(const step&, const json::member&, std::vector<step>& waiting);
    void enter(step&);
    void identify(step&, const json::value& id);
    void note_anchor(const step&, std::string_view keyword, const json::value& name);
    void add_anchor(const step&, const std::string& where, std::string_view name);
    dialect declared_dialect(const step&, const json::value& named) const;
    dialect custom_dialect(const json::value& metaschema, const std::string& where) const;
    const json::value* given(std::string_view uri) const noexcept;
    index find_resource(const std::string& uri, const std::string& where, std::string_view reference);
    const json::value& walk(index in, std::string_view pointer, const std::string& where, std::string_view reference);

    const schema_options& options_;
    dialect main_dialect_;  // also of other documents without "$schema"
    std::deque<resource> resources_;
    std::map<std::string, index, std::less<>> by_uri_;
    std::unordered_map<const json::value*, place> places_;
    std::deque<json::value> own_;  // built-in metaschemas in use
};

/// `"/properties"` + `a/b` is `/properties/a~1b`.
std::string pointer_to(std::string_view parent, std::string_view key);
std::string pointer_to(std::string_view parent, std::size_t n);

}  // namespace keel::validation
