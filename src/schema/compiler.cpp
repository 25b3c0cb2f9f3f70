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
            const keywords k(schema, at);
            k.check_annotations();
            n.allowed = read_types(k);
            n.values = values(k);
            n.numbers = numbers(k);
            n.strings = strings(k, at.speaks);
            n.arrays = arrays(k, at.speaks);
            n.objects = objects(k);
            n.logic = logic(k, at);
            n.unevaluated_items = child(k, "unevaluatedItems");
            n.unevaluated_properties = child(k, "unevaluatedProperties");
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

    index child(const keywords& k, std::string_view keyword) {
        const json::value* v = k.find(keyword);
        return v ? node_of(*v) : none;
    }

    std::vector<index> children(const keywords& k, std::string_view keyword) {
        std::vector<index> out;
        for (const json::value& v : k.items(keyword)) out.push_back(node_of(v));
        return out;
    }

    index values(const keywords& k) {
        if (!k.contains("const") && !k.contains("enum")) return none;
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

    index strings(const keywords& k, const dialect& speaks) {
        string_rules rules;
        k.count("minLength", rules.min_length);
        k.count("maxLength", rules.max_length);
        if (const json::value* text = k.text("pattern")) {
            rules.pattern = pattern_of(text->as_string(), k.where("pattern"));
        }
        if (const json::value* name = k.text("format"); name && (options_.check_formats || speaks.asserts_formats())) {
            rules.format = find_format(name->as_string());
            rules.format_name = name->as_string();
        }
        const bool any =
            rules.min_length != 0 || rules.max_length != unlimited || rules.pattern != none || rules.format;
        return any ? add(program_->strings, std::move(rules)) : none;
    }

    index arrays(const keywords& k, const dialect& speaks) {
        array_rules rules;
        k.count("minItems", rules.min_items);
        k.count("maxItems", rules.max_items);
        k.count("minContains", rules.min_contains);
        k.count("maxContains", rules.max_contains);
        rules.unique = k.flag("uniqueItems");
        rules.contains = child(k, "contains");
        rules.contains_evaluates = speaks.base() == draft::draft_2020_12;
        const json::value* items = k.find("items");
        if (items && items->is_array()) {  // before 2020-12
            rules.prefix = children(k, "items");
            rules.items = child(k, "additionalItems");
        } else {
            rules.prefix = children(k, "prefixItems");
            rules.items = child(k, "items");
        }
        const bool any = rules.min_items != 0 || rules.max_items != unlimited || rules.unique ||
                         !rules.prefix.empty() || rules.items != none || rules.contains != none;
        return any ? add(program_->arrays, std::move(rules)) : none;
    }

    index objects(const keywords& k) {
        object_rules rules;
        for (const json::member& m : k.members("properties")) {
            rules.properties.add(m.key()).schema = node_of(m.content);
        }
        for (const json::member& m : k.members("patternProperties")) {
            const std::string where = pointer_to(k.where("patternProperties"), m.key());
            rules.patterns.push_back({pattern_of(m.key(), where), node_of(m.content)});
        }
        rules.additional = child(k, "additionalProperties");
        rules.names = child(k, "propertyNames");
        k.count("minProperties", rules.min_properties);
        k.count("maxProperties", rules.max_properties);
        if (const json::value* required = k.find("required")) {
            for (const std::string& name : k.names(*required, k.where("required"))) {
                rules.properties.add(name).required = true;
            }
        }
        for (const std::string_view keyword : {"dependentSchemas", "dependentRequired", "dependencies"}) {
            dependents(k, keyword, rules);
        }
        rules.properties.finish();
        const bool any = rules.min_properties != 0 || rules.max_properties != unlimited ||
                         !rules.properties.all().empty() || !rules.patterns.empty() || rules.additional != none ||
                         rules.names != none || !rules.dependent_required.empty() || !rules.dependent_schemas.empty();
        return any ? add(program_->objects, std::move(rules)) : none;
    }

    void dependents(const keywords& k, std::string_view keyword, object_rules& rules) {
        const json::value* map = k.object(keyword);
        if (!map) return;
        for (const json::member& m : map->members()) {
            if (keyword == "dependentSchemas" || (keyword == "dependencies" && !m.content.is_array())) {
                rules.dependent_schemas.push_back({std::string(m.key()), node_of(m.content)});
            } else {
                const std::string where = pointer_to(k.where(keyword), m.key());
                rules.dependent_required.push_back({std::string(m.key()), k.names(m.content, where)});
            }
        }
    }

    index logic(const keywords& k, const place& at) {
        logic_rules rules;
        if (const json::value* reference = k.text("$ref")) {
            rules.all_of.push_back(node_of(documents_.resolve(at, reference->as_string(), "$ref")));
        }
        if (const json::value* reference = k.text("$dynamicRef")) {
            const std::string_view text = reference->as_string();
            const json::value& target = documents_.resolve(at, text, "$dynamicRef");
            const auto hash = text.find('#');
            if (hash == text.npos || hash + 1 == text.size()) rules.dynamic_target = node_of(target);
            else dynamic_reference(target, text.substr(hash + 1), rules);
        }
        if (const json::value* reference = k.text("$recursiveRef")) {
            if (reference->as_string() != "#") k.fail("$recursiveRef", "expected \"#\"");
            dynamic_reference(documents_.resolve(at, "#", "$recursiveRef"), recursive_anchor, rules);
        }
        if (const json::value* constant = k.find("const"); constant && k.contains("enum")) {
            rules.all_of.push_back(const_beside_enum(*constant, at));
        }
        for (const index i : children(k, "allOf")) rules.all_of.push_back(i);
        rules.any_of = children(k, "anyOf");
        rules.one_of = children(k, "oneOf");
        rules.not_ = child(k, "not");
        rules.if_ = child(k, "if");
        if (rules.if_ != none) {  // "then" and "else" have no meaning without "if"
            rules.then_ = child(k, "then");
            rules.else_ = child(k, "else");
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

    // An ordinary reference, unless its target has the dynamic anchor.
    void dynamic_reference(const json::value& target, std::string_view anchor, logic_rules& rules) {
        rules.dynamic_target = node_of(target);
        const auto& anchors = documents_.resources()[documents_.at(target).resource].dynamic_anchors;
        const auto known = anchors.find(anchor);
        if (known == anchors.end() || known->second != &target) return;
        const auto [at, is_new] = dynamic_names_.try_emplace(std::string(anchor), index(dynamic_names_.size()));
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
