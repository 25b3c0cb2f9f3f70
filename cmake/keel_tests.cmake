# Tests. Every folder under tests/ that is not listed as reserved is one doctest program made of its *.cpp files; every
# tests/drive/test_*.py is a test that drives the built programs; the rest is registered one by one below.
#
# Labels say where a test runs besides `release`:
#   unit      doctest programs          asan
#   gcc       those full of coroutines  gcc
#   threads   whatever meets threads    tsan
#   drive     Python drivers            asan, unless release_only
#   install   ways of using an installed or embedded Keel
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_path(KEEL_DOCTEST_INCLUDE_DIR doctest/doctest.h REQUIRED)

set(reserved_folders caller compile_fail conformance drive headers install lint subject support)
set(thread_folders async client client_parts http lifecycle transport server)
# g++ 12 miscompiles some coroutines: what it compiles right elsewhere it compiles right here.
set(gcc_folders async client lifecycle server)

# Helpers for all tests (tests/support/*.cpp) and doctest's own main.
file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.cpp)
add_library(keel_test_support STATIC EXCLUDE_FROM_ALL tests/main.cpp ${support_sources})
target_include_directories(keel_test_support PUBLIC tests src)
target_include_directories(keel_test_support SYSTEM PUBLIC ${KEEL_DOCTEST_INCLUDE_DIR})
target_link_libraries(keel_test_support PUBLIC keel::keel keel_developer Boost::headers)
set_target_properties(keel_test_support PROPERTIES CXX_EXTENSIONS OFF)
# Tests are compiled five times and run for seconds: what counts is how fast they compile. The library they test is
# optimised as usual.
target_compile_options(keel_test_support PUBLIC -O0)
target_compile_definitions(keel_test_support PUBLIC DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
set_source_files_properties(tests/main.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
target_precompile_headers(keel_test_support PRIVATE <doctest/doctest.h> <keel/server.hpp> <support/harness.hpp>)

add_custom_target(keel_unit_tests)
add_custom_target(keel_thread_tests)
add_custom_target(keel_gcc_tests)

file(GLOB test_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/tests tests/*)
list(REMOVE_ITEM test_folders ${reserved_folders})
set(test_source "/test_[^/]*\\.cpp$|_tests?\\.cpp$")
foreach(folder IN LISTS test_folders)
    file(GLOB sources CONFIGURE_DEPENDS tests/${folder}/*.cpp)
    if(folder STREQUAL "explore")
        # Built below, apart from its tests.
        list(FILTER sources INCLUDE REGEX "${test_source}")
    endif()
    if(NOT sources)
        continue()
    endif()
    add_executable(test_${folder} ${sources})
    target_link_libraries(test_${folder} PRIVATE keel_test_support)
    set_target_properties(test_${folder} PROPERTIES OUTPUT_NAME test-${folder} CXX_EXTENSIONS OFF)
    if(NOT folder MATCHES "^(explore|rpc)$")  # these speak of the core alone, and have a harness of their own
        target_precompile_headers(test_${folder} REUSE_FROM keel_test_support)
    endif()
    add_dependencies(keel_unit_tests test_${folder})
    add_test(NAME ${folder} COMMAND test_${folder})
    set(labels unit)
    if(folder IN_LIST thread_folders)
        list(APPEND labels threads)
        add_dependencies(keel_thread_tests test_${folder})
    endif()
    if(folder IN_LIST gcc_folders)
        list(APPEND labels gcc)
        add_dependencies(keel_gcc_tests test_${folder})
    endif()
    set_tests_properties(${folder} PROPERTIES LABELS "${labels}" TIMEOUT 600)
endforeach()

if(TARGET test_tls)  # its other end is OpenSSL itself
    target_link_libraries(test_tls PRIVATE OpenSSL::SSL OpenSSL::Crypto)
endif()

# The server that drivers can hold at every point of a call.
file(GLOB subject_sources CONFIGURE_DEPENDS tests/subject/*.cpp)
keel_program(test_subject NAME test-subject SOURCES ${subject_sources})
add_dependencies(keel_unit_tests test_subject)
add_dependencies(keel_thread_tests test_subject)

# The client that drivers lead against servers of every kind.
file(GLOB caller_sources CONFIGURE_DEPENDS tests/caller/*.cpp)
keel_program(test_caller NAME test-caller SOURCES ${caller_sources} LINK Boost::headers)
add_dependencies(keel_unit_tests test_caller)
add_dependencies(keel_thread_tests test_caller)

# The explorer: a program and tests, both over a copy of the peer's core in which bugs can be planted. Objects, not an
# archive: so its copy is linked whole, and the library's own is left out.
file(GLOB explorer_sources CONFIGURE_DEPENDS tests/explore/*.cpp)
list(FILTER explorer_sources EXCLUDE REGEX "${test_source}|/explore_main\\.cpp$")
if(explorer_sources)
    file(GLOB core_sources CONFIGURE_DEPENDS src/rpc/*.cpp)
    list(FILTER core_sources EXCLUDE REGEX "/(peer|keep_alive)\\.cpp$")
    add_library(keel_explorer OBJECT ${explorer_sources} ${core_sources})
    target_compile_definitions(keel_explorer PUBLIC KEEL_PLANT_BUGS)
    target_include_directories(keel_explorer PUBLIC src tests)
    target_link_libraries(keel_explorer PUBLIC keel::keel keel_developer Boost::headers)
    set_target_properties(keel_explorer PROPERTIES CXX_EXTENSIONS OFF)
    keel_program(keel_explore NAME keel-explore SOURCES tests/explore/explore_main.cpp LINK keel_explorer)
    if(TARGET test_explore)
        target_link_libraries(test_explore PRIVATE keel_explorer)
    endif()
endif()

# keel_python_test(<name> SCRIPT <file> [ARGS ...] [LABELS ...] [TIMEOUT seconds])
function(keel_python_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;TIMEOUT" "ARGS;LABELS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 600)
    endif()
    add_test(NAME ${name} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS})
    set_tests_properties(
        ${name}
        PROPERTIES ENVIRONMENT "KEEL_BIN=${PROJECT_BINARY_DIR}/bin;KEEL_SOURCE=${PROJECT_SOURCE_DIR};PYTHONUNBUFFERED=1"
                   LABELS "${arg_LABELS}"
                   TIMEOUT ${arg_TIMEOUT})
endfunction()

# A driver says in a comment line of its own where it runs and how long it may take, if not as usual:
#   # ctest-labels: threads release_only serial
#   # ctest-timeout: 900
# `serial` keeps it away from other tests (it measures memory or time).
file(GLOB drivers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} tests/drive/test_*.py)
foreach(driver IN LISTS drivers)
    cmake_path(GET driver STEM name)
    string(REGEX REPLACE "^test_" "drive-" name ${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${driver})
    set(labels drive)
    set(timeout 600)
    file(STRINGS ${driver} settings REGEX "^# ctest-(labels|timeout):" LIMIT_COUNT 2)
    foreach(setting IN LISTS settings)
        string(REGEX REPLACE "^# ctest-[a-z]+: *" "" setting_value "${setting}")
        if(setting MATCHES "^# ctest-timeout")
            set(timeout ${setting_value})
        else()
            separate_arguments(setting_value)
            list(APPEND labels ${setting_value})
        endif()
    endforeach()
    keel_python_test(${name} SCRIPT ${driver} LABELS ${labels} TIMEOUT ${timeout})
    if("serial" IN_LIST labels)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endforeach()

# The official suite, against a server with every fixture it asks for.
if(TARGET conformance_server)
    keel_python_test(conformance-server SCRIPT tests/conformance/run.py LABELS drive release_only TIMEOUT 900)
    keel_python_test(conformance-fixtures SCRIPT tests/conformance/test_fixtures.py LABELS drive)
    keel_python_test(conformance-score SCRIPT tests/conformance/test_score.py LABELS source)
endif()

# Links, anchors and the table of contents of the documentation.
keel_python_test(docs-links SCRIPT tests/docs/check_links.py LABELS source)

# And with a client that does everything it asks for.
if(TARGET conformance_client)
    keel_python_test(conformance-client SCRIPT tests/conformance/run_client.py LABELS drive release_only TIMEOUT 900)
    keel_python_test(conformance-client-alone SCRIPT tests/conformance/test_client.py LABELS drive)
endif()

# `./dev run --once`, as the newcomer types it.
if(TARGET keel_command)
    keel_python_test(demo-once SCRIPT tools/dev/try_demo.py ARGS --once LABELS drive)
endif()

# An example that can check itself does so when called with --self-test (a first comment line "// self-test" says so).
foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM name)
    file(STRINGS ${source} marker REGEX "^// self-test" LIMIT_COUNT 1)
    if(marker)
        add_test(NAME example-${name} COMMAND example_${name} --self-test)
        set_tests_properties(example-${name} PROPERTIES LABELS "unit;gcc" TIMEOUT 60)
    endif()
endforeach()

# Each public header compiles alone.
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include include/keel/*.hpp)
set(header_sources)
foreach(header IN LISTS public_headers)
    string(MAKE_C_IDENTIFIER ${header} name)
    set(source ${PROJECT_BINARY_DIR}/headers_alone/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <@header@>\n#include <@header@>  // and twice\n" @ONLY)
    list(APPEND header_sources ${source})
endforeach()
if(header_sources)
    add_library(keel_headers_alone OBJECT ${header_sources})
    target_link_libraries(keel_headers_alone PRIVATE keel::keel keel_developer Boost::headers)
    set_target_properties(keel_headers_alone PROPERTIES CXX_EXTENSIONS OFF)
endif()

# Folders that promise no I/O include no Asio; heavy libraries appear in no public header.
keel_python_test(
    layers
    SCRIPT tests/headers/check_layers.py
    ARGS --compiler ${CMAKE_CXX_COMPILER}
    LABELS source)

# What must not compile is a test too: each tests/compile_fail/*.cpp says in "// expect: ..." lines which words the
# compiler must answer with.
file(GLOB compile_fail_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} tests/compile_fail/*.cpp)
foreach(source IN LISTS compile_fail_sources)
    cmake_path(GET source STEM name)
    keel_python_test(
        compile_fail-${name}
        SCRIPT cmake/expect_compile_error.py
        ARGS --source ${PROJECT_SOURCE_DIR}/${source} -- ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only
             -I${PROJECT_SOURCE_DIR}/include
        LABELS source)
endforeach()

# The check for the coroutine trap of g++ 12 finds what it must find and nothing else.
find_program(KEEL_CLANG_QUERY clang-query-19)
if(KEEL_CLANG_QUERY)
    keel_python_test(coroutine_trap SCRIPT tools/dev/find_coroutine_trap ARGS --self-test LABELS source)
endif()

# Ways of using Keel from another project, each with the ten-line server, built and then called once.
if(KEEL_INSTALL AND NOT KEEL_SANITIZE)
    set(stage ${PROJECT_BINARY_DIR}/install_test)
    add_test(NAME install-tree COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${stage}/prefix)
    set_tests_properties(install-tree PROPERTIES LABELS install FIXTURES_SETUP installed)
    foreach(way IN ITEMS find_package add_subdirectory pkg_config)
        keel_python_test(
            install-${way}
            SCRIPT tests/install/use_keel.py
            ARGS ${way} --stage ${stage} --compiler ${CMAKE_CXX_COMPILER} --cmake ${CMAKE_COMMAND}
            LABELS install)
    endforeach()
    set_tests_properties(install-find_package install-pkg_config PROPERTIES FIXTURES_REQUIRED installed)
endif()
