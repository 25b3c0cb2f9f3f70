#include "completion_script.hpp"

#include "command_session.hpp"
#include "commands.hpp"
#include "completion.hpp"
#include "config_search.hpp"
#include "exit_status.hpp"
#include "printable.hpp"

#include <exception>

namespace keel::command {

namespace {

constexpr std::string_view for_bash = R"(# bash completion for keel
_keel() {
    local line=${COMP_LINE:0:COMP_POINT} cur=${COMP_WORDS[COMP_CWORD]} kind text about keep=
    # bash splits words at = and :, keel does not.
    [[ $cur == [:=] ]] && cur=
    COMPREPLY=()
    while IFS=$'\t' read -r kind text about; do
        case $kind in
            current) keep=${text%"$cur"} ;;
            word) COMPREPLY+=("${text#"$keep"}") ;;
            part)
                COMPREPLY+=("${text#"$keep"}")
                compopt -o nospace 2>/dev/null
                ;;
            files) mapfile -t COMPREPLY < <(compgen -f -- "${cur#@}") && compopt -o filenames 2>/dev/null ;;
            directories) mapfile -t COMPREPLY < <(compgen -d -- "$cur") && compopt -o filenames 2>/dev/null ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "$line" 2>/dev/null)
}
complete -F _keel keel
)";

constexpr std::string_view for_zsh = R"(#compdef keel
# zsh completion for keel
_keel() {
    local kind text about
    local -a before plain plain_shown parts parts_shown
    before=("${(@Q)words[1,CURRENT-1]}")
    while IFS=$'\t' read -r kind text about; do
        case $kind in
            word)
                plain+=("$text")
                plain_shown+=("$text${about:+  -- $about}")
                ;;
            part)
                parts+=("$text")
                parts_shown+=("$text${about:+  -- $about}")
                ;;
            files) _files ;;
            directories) _files -/ ;;
        esac
    done < <("${before[1]}" __complete -- "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)
    (( ${#plain} )) && compadd -l -d plain_shown -a plain
    (( ${#parts} )) && compadd -S '' -l -d parts_shown -a parts
}
if [[ ${funcstack[1]} == _keel ]]; then
    _keel "$@"
else
    compdef _keel keel
fi
)";

constexpr std::string_view for_fish = R"(# fish completion for keel
function __keel_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    $before[1] __complete -- $before "$current" 2>/dev/null | while read -l -d \t kind text about
        switch $kind
            case word part
                printf '%s\t%s\n' $text $about
            case files
                __fish_complete_path "$current"
            case directories
                __fish_complete_directories "$current"
        end
    end
end
complete -c keel -f -a '(__keel_complete)'
)";

/// A server of a project file is not started: the file may come from someone else, and completion must not run its programs.
feature_lookup lookup_unless_of_project(const options& o) {
    if (o.config_file.empty() && !o.server_name.empty()) {
        found_servers all = search_config(o);
        const configured_server* found = all.servers.find(o.server_name);
        if (!found || found->of_project) return {};
    }
    return connect_for_lookup(o);
}

}  // namespace

std::string_view completion_script(std::string_view shell) {
    if (shell == "bash") return for_bash;
    if (shell == "zsh") return for_zsh;
    return shell == "fish" ? for_fish : std::string_view();
}

int print_completion(const options& o) {
    write_out(completion_script(o.words[0]));
    return exit_status::ok;
}

int print_candidates(const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    if (arguments.size() == 1) words = split_line(arguments[0]);
    else if (arguments.size() > 1) words.assign(arguments.begin() + 1, arguments.end());
    if (words.size() < 2) return exit_status::usage;
    words.erase(words.begin());  // the program
    try {
        std::string text = "current\t" + words.back() + "\n";
        candidates all = complete(words, lookup_unless_of_project);
        for (const candidate& each : all.words) {
            // A candidate with control characters would become something else in the shell.
            if (printable_line(each.text) != each.text) continue;
            text += (each.complete ? "word\t" : "part\t") + each.text + "\t" + cut_to(printable_line(each.about), 60) +
                    "\n";
        }
        if (all.also == candidates::paths::files) text += "files\t\n";
        if (all.also == candidates::paths::directories) text += "directories\t\n";
        write_out(text);
    } catch (const std::exception&) {
        return exit_status::lost;  // a shell ignores it
    }
    return exit_status::ok;
}

}  // namespace keel::command
