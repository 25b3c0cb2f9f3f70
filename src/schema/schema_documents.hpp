#pragma once

// The documents of a schema during compilation: their subschemas, identifiers and anchors, and how references are
// resolved.

#include "schema/program.hpp"

#include <keel/schema.hpp>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace keel::inline KEEL_ABI::validation {

/// The active keywords, as listed in "$vocabulary" of the metaschema.
struct vocabularies {
    bool applicator = true;
    bool unevaluated = true;
    bool validation = true;
    bool format_assertion = false;
};

/// A schema with its own URI, and all its subschemas that have none.
struct resource {
    std::string uri = {};
    const json::value* root = nullptr;
    vocabularies speaks = {};
    std::map<std::string, const json::value*, std::less<>> anchors = {};          // "$anchor" and "$dynamicAnchor"
    std::map<std::string, const json::value*, std::less<>> dynamic_anchors = {};  // the latter alone
};

/// One schema in a document.
struct place {
    index resource = 0;
    index node = none;
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
    void scan(const json::value& root, index in, std::string where, std::vector<const json::value*>* found);
    struct step;
    void scan_object(const step&, std::vector<step>& waiting);
    void scan_child(const json::value& child, const step& parent, std::string where, std::vector<step>& waiting);
    index enter(const step&);
    void note_anchor(const step&, index in, std::string_view keyword);
    vocabularies speaks(const json::value& schema, const std::string& where, vocabularies inherited) const;
    vocabularies custom_dialect(const json::value& metaschema, const std::string& where) const;
    const json::value* given(std::string_view uri) const noexcept;
    index find_resource(const std::string& uri, const std::string& where, std::string_view reference);
    const json::value& walk(index in, std::string_view pointer, const std::string& where, std::string_view reference);

    const schema_options& options_;
    std::deque<resource> resources_;
    std::map<std::string, index, std::less<>> by_uri_;
    std::unordered_map<const json::value*, place> places_;
    std::unordered_map<const json::value*, index> roots_;
    std::deque<json::value> own_;  // built-in metaschemas in use
};

/// `"/properties"` + `a/b` is `/properties/a~1b`.
std::string pointer_to(std::string_view parent, std::string_view key);
std::string pointer_to(std::string_view parent, std::size_t n);

}  // namespace keel::validation
