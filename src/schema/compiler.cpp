#include "schema/compiler.hpp"

#include "schema/keywords.hpp"
#include "schema/schema_documents.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace keel::inline KEEL_ABI::validation {

namespace {

constexpr std::size_t max_dynamic_table = 1'000'000;

class compiler {
public:
    explicit compiler(const schema_options& options) : options_(options), documents_(options) {
        program_->max_depth = options.max_depth;
        program_->max_work = options.max_work;
    }

    std::shared_ptr<const program> run(const json::value& document) {
        std::vector<const json::value*> all;
        documents_.add_main(document, all);
        program_->root = node_of(document);
        // Also compile schemas without references to them, so that their errors are reported.
        for (const json::value* schema : all) node_of(*schema);
        do {
            while (next_ != waiting_.size()) {
                const json::value& schema = *waiting_[next_++];
                compile(schema);
            }
        } while (follow_dynamic_anchors());
        make_dynamic_table();
        return std::move(program_);
    }

private:
    /// The node of a schema. Its content is compiled later from the work list, so that schemas may refer to each other.
    index node_of(const json::value& schema) {
        place& at = documents_.at(schema);
        if (at.node == none) {
            at.node = static_cast<index>(program_->nodes.size());
            program_->nodes.push_back({.resource = at.resource});
            waiting_.push_back(&schema);
            entered_.insert(at.resource);
        }
        return at.node;
    }

    void compile(const json::value& schema) {
        const place& at = documents_.at(schema);
        node n{.resource = at.resource};
        if (const auto truth = schema.if_bool()) {
            n.allowed = *truth ? types::any : 0;
        } else {
            const vocabularies speaks = documents_.resources()[at.resource].speaks;
            const keywords k(schema, at);
            k.check_annotations();
            if (speaks.validation) n.allowed = read_types(k);
            if (speaks.validation) n.values = values(k, schema);
            if (speaks.validation) n.numbers = numbers(k);
            n.strings = strings(k, speaks);
            n.arrays = arrays(k, schema, speaks);
            n.objects = objects(k, schema, speaks);
            n.logic = logic(k, schema, at, speaks);
            if (speaks.unevaluated) {
                n.unevaluated_items = child(schema, "unevaluatedItems");
                n.unevaluated_properties = child(schema, "unevaluatedProperties");
            }
            n.plain = n.values == none && n.numbers == none && n.strings == none && n.arrays == none &&
                      n.objects == none && n.logic == none && n.unevaluated_items == none &&
                      n.unevaluated_properties == none;
        }
        program_->nodes[at.node] = n;
    }

    template <class Rules>
    static index add(std::vector<Rules>& to, Rules rules) {
        to.push_back(std::move(rules));
        return static_cast<index>(to.size() - 1);
    }

    static bool any_of(const json::value& schema, std::initializer_list<std::string_view> words) noexcept {
        return std::ranges::any_of(words, [&](std::string_view word) { return schema.contains(word); });
    }

    index child(const json::value& schema, std::string_view keyword) {
        const json::value* v = schema.find(keyword);
        return v ? node_of(*v) : none;
    }

    std::vector<index> children(const json::value& schema, std::string_view keyword) {
        std::vector<index> out;
        for (const json::value& v : schema[keyword].items()) out.push_back(node_of(v));
        return out;
    }

    index values(const keywords& k, const json::value& schema) {
        if (!any_of(schema, {"const", "enum"})) return none;
        return add(program_->values, read_values(k));
    }

    index numbers(const keywords& k) {
        number_rules rules = read_numbers(k);
        if (rules.minimum.is_null() && rules.maximum.is_null() && rules.exclusive_minimum.is_null() &&
            rules.exclusive_maximum.is_null() && rules.multiple_of.is_null())
            return none;
        return add(program_->numbers, std::move(rules));
    }

    index pattern_of(std::string_view text, const std::string& where) {
        const auto [at, is_new] = patterns_.try_emplace(std::string(text), none);
        if (is_new) {
            std::string why;
            auto made = pattern::make(text, why);
            if (!made) throw schema_error(where, why);
            program_->patterns.push_back(std::move(made));
            at->second = static_cast<index>(program_->patterns.size() - 1);
        }
        return at->second;
    }

    index strings(const keywords& k, vocabularies speaks) {
        string_rules rules;
        bool any = false;
        if (speaks.validation) {
            k.count("minLength", rules.min_length);
            k.count("maxLength", rules.max_length);
            if (const json::value* text = k.text("pattern")) {
                rules.pattern = pattern_of(text->as_string(), k.where("pattern"));
            }
            any = rules.min_length != 0 || rules.max_length != unlimited || rules.pattern != none;
        }
        if (const json::value* name = k.text("format"); name && (options_.check_formats || speaks.format_assertion)) {
            rules.format = find_format(name->as_string());
            rules.format_name = name->as_string();
            any = any || rules.format;
        }
        return any ? add(program_->strings, std::move(rules)) : none;
    }

    index arrays(const keywords& k, const json::value& schema, vocabularies speaks) {
        array_rules rules;
        if (speaks.validation) {
            k.count("minItems", rules.min_items);
            k.count("maxItems", rules.max_items);
            k.count("minContains", rules.min_contains);
            k.count("maxContains", rules.max_contains);
            rules.unique = k.flag("uniqueItems");
        }
        if (speaks.applicator) {
            rules.prefix = children(schema, "prefixItems");
            rules.items = child(schema, "items");
            rules.contains = child(schema, "contains");
        }
        const bool any = rules.min_items != 0 || rules.max_items != unlimited || rules.unique ||
                         !rules.prefix.empty() || rules.items != none || rules.contains != none;
        return any ? add(program_->arrays, std::move(rules)) : none;
    }

    index objects(const keywords& k, const json::value& schema, vocabularies speaks) {
        object_rules rules;
        if (speaks.applicator) {
            for (const json::member& m : schema["properties"].members()) {
                rules.properties.add(m.key()).schema = node_of(m.content);
            }
            for (const json::member& m : schema["patternProperties"].members()) {
                const std::string where = pointer_to(k.where("patternProperties"), m.key());
                rules.patterns.push_back({pattern_of(m.key(), where), node_of(m.content)});
            }
            rules.additional = child(schema, "additionalProperties");
            rules.names = child(schema, "propertyNames");
            for (const json::member& m : schema["dependentSchemas"].members()) {
                rules.dependent_schemas.push_back({std::string(m.key()), node_of(m.content)});
            }
        }
        if (speaks.validation) {
            k.count("minProperties", rules.min_properties);
            k.count("maxProperties", rules.max_properties);
            if (const json::value* required = k.find("required")) {
                for (const std::string& name : k.names(*required, k.where("required"))) {
                    rules.properties.add(name).required = true;
                }
            }
            if (const json::value* dependent = k.object("dependentRequired")) {
                for (const json::member& m : dependent->members()) {
                    const std::string where = pointer_to(k.where("dependentRequired"), m.key());
                    rules.dependent_required.push_back({std::string(m.key()), k.names(m.content, where)});
                }
            }
        }
        rules.properties.finish();
        const bool any = rules.min_properties != 0 || rules.max_properties != unlimited ||
                         !rules.properties.all().empty() || !rules.patterns.empty() || rules.additional != none ||
                         rules.names != none || !rules.dependent_required.empty() || !rules.dependent_schemas.empty();
        return any ? add(program_->objects, std::move(rules)) : none;
    }

    index logic(const keywords& k, const json::value& schema, const place& at, vocabularies speaks) {
        logic_rules rules;
        if (const json::value* reference = k.text("$ref")) {
            rules.all_of.push_back(node_of(documents_.resolve(at, reference->as_string(), "$ref")));
        }
        if (const json::value* reference = k.text("$dynamicRef")) {
            dynamic_reference(documents_.resolve(at, reference->as_string(), "$dynamicRef"), reference->as_string(),
                              rules);
        }
        if (speaks.validation && any_of(schema, {"const"}) && any_of(schema, {"enum"})) {
            rules.all_of.push_back(const_beside_enum(schema["const"], at));
        }
        if (speaks.applicator) {
            for (const index i : children(schema, "allOf")) rules.all_of.push_back(i);
            rules.any_of = children(schema, "anyOf");
            rules.one_of = children(schema, "oneOf");
            rules.not_ = child(schema, "not");
            if (schema.contains("if")) {  // "then" and "else" have no meaning without "if"
                rules.if_ = child(schema, "if");
                rules.then_ = child(schema, "then");
                rules.else_ = child(schema, "else");
            }
        }
        const bool any = !rules.all_of.empty() || !rules.any_of.empty() || !rules.one_of.empty() ||
                         rules.not_ != none || rules.if_ != none || rules.dynamic_target != none;
        return any ? add(program_->logic, std::move(rules)) : none;
    }

    /// A schema with both is rare: the second gets its own node.
    index const_beside_enum(const json::value& content, const place& at) {
        const json::value only = json::object({{"const", content}});
        const index values = add(program_->values, read_values(keywords(only, at)));
        program_->nodes.push_back({.plain = false, .resource = at.resource, .values = values});
        return static_cast<index>(program_->nodes.size() - 1);
    }

    // A "$dynamicRef" is an ordinary reference unless it resolves to a "$dynamicAnchor" of the same name.
    void dynamic_reference(const json::value& target, std::string_view reference, logic_rules& rules) {
        rules.dynamic_target = node_of(target);
        const auto hash = reference.find('#');
        const std::string_view fragment = hash == reference.npos ? std::string_view() : reference.substr(hash + 1);
        const json::value* anchor = target.find("$dynamicAnchor");
        if (fragment.empty() || !anchor || anchor->if_string() != fragment) return;
        const auto [at, is_new] = dynamic_names_.try_emplace(std::string(fragment), index(dynamic_names_.size()));
        rules.dynamic_name = at->second;
    }

    /// Adds the possible targets of dynamic references. Returns true if something was added.
    bool follow_dynamic_anchors() {
        const std::size_t before = waiting_.size();
        const std::set<index> entered = entered_;
        for (const auto& [name, number] : dynamic_names_) {
            for (const index r : entered) {
                const auto& anchors = documents_.resources()[r].dynamic_anchors;
                if (const auto at = anchors.find(name); at != anchors.end()) node_of(*at->second);
            }
        }
        return waiting_.size() != before;
    }

    void make_dynamic_table() {
        const std::size_t resources = documents_.resources().size();
        program_->resources = static_cast<index>(resources);
        if (dynamic_names_.empty()) return;
        if (dynamic_names_.size() * resources > max_dynamic_table)
            throw schema_error({}, "too many dynamic references");
        program_->dynamic_anchors.assign(dynamic_names_.size() * resources, none);
        for (const auto& [name, number] : dynamic_names_) {
            for (std::size_t r = 0; r != resources; ++r) {
                const auto& anchors = documents_.resources()[r].dynamic_anchors;
                const auto at = anchors.find(name);
                if (at != anchors.end())
                    program_->dynamic_anchors[number * resources + r] = documents_.at(*at->second).node;
            }
        }
    }

    const schema_options& options_;
    schema_documents documents_;
    std::shared_ptr<program> program_ = std::make_shared<program>();
    std::vector<const json::value*> waiting_;
    std::size_t next_ = 0;
    std::set<index> entered_;
    std::map<std::string, index, std::less<>> patterns_;
    std::map<std::string, index, std::less<>> dynamic_names_;
};

}  // namespace

std::shared_ptr<const program> compile(const json::value& document, const schema_options& options) {
    return compiler(options).run(document);
}

}  // namespace keel::validation
