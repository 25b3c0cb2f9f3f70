# Tests; see tests/README.md. Each folder under tests/ that is not reserved is one doctest program built from its *.cpp
# files; each tests/drive/test_*.py is a test that drives the built programs; all other tests are registered one by one
# below.
#
# Labels select the presets in which a test runs in addition to `release`:
#   unit      doctest programs          asan
#   gcc       those with coroutines     gcc
#   threads   those with threads        tsan
#   drive     Python drivers            asan, unless release_only
#   install   ways of using an installed or embedded Keel
#   full      what only the full run has time for
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_path(KEEL_DOCTEST_INCLUDE_DIR doctest/doctest.h REQUIRED)

set(reserved_folders caller compile_fail conformance drive headers install lint subject support)
set(thread_folders asio async auth client client_parts http lifecycle transport server)
# g++ 12 miscompiles some coroutines, so test the folders with the most of them.
set(gcc_folders asio async client lifecycle server)

# Helpers for all tests (tests/support/*.cpp) and doctest's own main.
file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.cpp)
add_library(keel_test_support STATIC EXCLUDE_FROM_ALL tests/main.cpp ${support_sources})
target_include_directories(keel_test_support PUBLIC tests src)
target_include_directories(keel_test_support SYSTEM PUBLIC ${KEEL_DOCTEST_INCLUDE_DIR})
target_link_libraries(keel_test_support PUBLIC keel::keel keel_developer)
# With keel::asio, tests that need some loop run on its loop too (tests/support/real_loops.hpp).
if(TARGET keel_asio)
    target_link_libraries(keel_test_support PUBLIC keel::asio)
    target_compile_definitions(keel_test_support PUBLIC KEEL_HAVE_ASIO)
endif()
set_target_properties(keel_test_support PROPERTIES CXX_EXTENSIONS OFF UNITY_BUILD OFF)
# Tests are compiled five times and run for seconds, so compile time matters most. The library itself is optimized as
# usual.
target_compile_options(keel_test_support PUBLIC -O0)
target_compile_definitions(keel_test_support PUBLIC DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
set_source_files_properties(tests/main.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
target_precompile_headers(keel_test_support PRIVATE <doctest/doctest.h> <keel/server.hpp> <support/harness.hpp>)

add_custom_target(keel_unit_tests)
add_custom_target(keel_thread_tests)
add_custom_target(keel_gcc_tests)

file(GLOB test_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/tests tests/*)
list(REMOVE_ITEM test_folders ${reserved_folders})
if(NOT TARGET keel_asio)
    list(REMOVE_ITEM test_folders asio)
endif()
set(test_source "_test\\.cpp$")
foreach(folder IN LISTS test_folders)
    file(GLOB sources CONFIGURE_DEPENDS tests/${folder}/*.cpp)
    if(folder MATCHES "^explore")
        # Built below, separately from its tests.
        list(FILTER sources INCLUDE REGEX "${test_source}")
    endif()
    if(NOT sources)
        continue()
    endif()
    add_executable(test_${folder} ${sources})
    target_link_libraries(test_${folder} PRIVATE keel_test_support)
    set_target_properties(test_${folder} PROPERTIES OUTPUT_NAME test-${folder} CXX_EXTENSIONS OFF)
    # Several test files are compiled as one, in every preset: that halves their compile time. The files of http_client and
    # protocol use names from namespaces that clash.
    if(NOT folder MATCHES "^(http_client|protocol)$")
        set_target_properties(test_${folder} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    else()
        set_target_properties(test_${folder} PROPERTIES UNITY_BUILD OFF)
    endif()
    if(NOT folder MATCHES "^(explore|explore_http|rpc)$")  # these test only a state machine and have their own harness
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

if(TARGET test_tls)  # the test peer uses OpenSSL directly
    target_link_libraries(test_tls PRIVATE OpenSSL::SSL OpenSSL::Crypto)
endif()

# A server that drivers can stop at every point of a call.
file(GLOB subject_sources CONFIGURE_DEPENDS tests/subject/*.cpp)
keel_program(test_subject NAME test-subject SOURCES ${subject_sources})
add_dependencies(keel_unit_tests test_subject)
add_dependencies(keel_thread_tests test_subject)

# A client that drivers control.
file(GLOB caller_sources CONFIGURE_DEPENDS tests/caller/*.cpp)
keel_program(test_caller NAME test-caller SOURCES ${caller_sources})
target_include_directories(test_caller PRIVATE src)
add_dependencies(keel_unit_tests test_caller)
add_dependencies(keel_thread_tests test_caller)

# The explorer: a program and tests, both with a copy of the peer's core in which bugs can be planted. An object
# library, so that this copy is linked completely and replaces the library's own. The linker can leave out the library's own
# only if it is an object file of its own: these files are not part of unity builds.
file(GLOB explorer_sources CONFIGURE_DEPENDS tests/explore/*.cpp)
list(FILTER explorer_sources EXCLUDE REGEX "${test_source}|/explore_main\\.cpp$")
if(explorer_sources)
    file(GLOB core_sources CONFIGURE_DEPENDS src/rpc/*.cpp)
    list(FILTER core_sources EXCLUDE REGEX "/(peer|connection_io|keep_alive)\\.cpp$")
    set_source_files_properties(${core_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    add_library(keel_explorer OBJECT ${explorer_sources} ${core_sources})
    target_compile_definitions(keel_explorer PUBLIC KEEL_PLANT_BUGS)
    target_include_directories(keel_explorer PUBLIC src tests)
    target_link_libraries(keel_explorer PUBLIC keel::keel keel_developer)
    set_target_properties(keel_explorer PROPERTIES CXX_EXTENSIONS OFF UNITY_BUILD OFF)
    keel_program(keel_explore NAME keel-explore SOURCES tests/explore/explore_main.cpp LINK keel_explorer)
    if(TARGET test_explore)
        target_link_libraries(test_explore PRIVATE keel_explorer)
    endif()
endif()

# The same for the state machine of HTTP/1 connections.
file(GLOB http_explorer_sources CONFIGURE_DEPENDS tests/explore_http/*.cpp)
list(FILTER http_explorer_sources EXCLUDE REGEX "${test_source}|/explore_http_main\\.cpp$")
if(http_explorer_sources)
    set_source_files_properties(src/http/http1_core.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    add_library(keel_http_explorer OBJECT ${http_explorer_sources} src/http/http1_core.cpp)
    target_compile_definitions(keel_http_explorer PUBLIC KEEL_PLANT_BUGS)
    target_include_directories(keel_http_explorer PUBLIC src tests)
    target_link_libraries(keel_http_explorer PUBLIC keel::keel keel_developer)
    set_target_properties(keel_http_explorer PROPERTIES CXX_EXTENSIONS OFF UNITY_BUILD OFF)
    keel_program(keel_explore_http NAME keel-explore-http SOURCES tests/explore_http/explore_http_main.cpp LINK
                 keel_http_explorer)
    if(TARGET test_explore_http)
        target_link_libraries(test_explore_http PRIVATE keel_http_explorer)
    endif()
endif()

if(TARGET test_command AND TARGET keel_command_parts)
    target_link_libraries(test_command PRIVATE keel_command_parts)
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

# Comment lines in a driver set its labels and timeout, if they differ from the default:
#   # ctest-labels: threads release_only serial
#   # ctest-timeout: 900
# `serial` runs it alone, because it measures memory or time.
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

# The official conformance suite against a server with all its fixtures.
if(TARGET conformance_server)
    keel_python_test(conformance-server SCRIPT tests/conformance/run.py LABELS drive release_only TIMEOUT 900)
    keel_python_test(conformance-fixtures SCRIPT tests/conformance/test_fixtures.py LABELS drive)
    keel_python_test(conformance-score SCRIPT tests/conformance/test_score.py LABELS source)
endif()

# Links, anchors and the table of contents of the documentation.
keel_python_test(docs-links SCRIPT tests/docs/check_links.py LABELS source)

# The official conformance suite against a client with all its scenarios.
if(TARGET conformance_client)
    keel_python_test(conformance-client SCRIPT tests/conformance/run_client.py LABELS drive release_only TIMEOUT 900)
    keel_python_test(conformance-client-alone SCRIPT tests/conformance/test_client.py LABELS drive)
endif()

# `./dev run --once`.
if(TARGET keel_command)
    keel_python_test(demo-once SCRIPT tools/dev/try_demo.py ARGS --once LABELS drive)
endif()

# An example with the comment line "// self-test" tests itself when called with --self-test.
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
if(NOT TARGET keel_asio)
    list(REMOVE_ITEM public_headers keel/asio.hpp)
endif()
set(header_sources)
foreach(header IN LISTS public_headers)
    string(MAKE_C_IDENTIFIER ${header} name)
    set(source ${PROJECT_BINARY_DIR}/headers_alone/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <@header@>\n#include <@header@>  // and twice\n" @ONLY)
    list(APPEND header_sources ${source})
endforeach()
if(header_sources)
    add_library(keel_headers_alone OBJECT ${header_sources})
    target_link_libraries(keel_headers_alone PRIVATE keel::keel keel_developer)
    if(TARGET keel_asio)
        target_link_libraries(keel_headers_alone PRIVATE keel::asio)
    endif()
    set_target_properties(keel_headers_alone PROPERTIES CXX_EXTENSIONS OFF)
endif()

# Each folder includes only the layers below it; folders without I/O include no Asio; heavy libraries appear in no public
# header.
set(without_asio)
if(NOT TARGET keel_asio)
    set(without_asio --without-asio)
endif()
keel_python_test(
    layers
    SCRIPT tests/headers/check_layers.py
    ARGS --compiler ${CMAKE_CXX_COMPILER} ${without_asio}
    LABELS source)
keel_python_test(mutate SCRIPT tools/dev/mutate ARGS --self-test LABELS source)
keel_python_test(layers-self-test SCRIPT tests/headers/check_layers.py ARGS --self-test LABELS source)

# Code that must not compile: the "// expect: ..." lines of each tests/compile_fail/*.cpp are parts of the expected
# error message.
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

# The check for the coroutine trap of g++ 12 finds all marked lines and no others.
find_program(KEEL_CLANG_QUERY clang-query-19)
if(KEEL_CLANG_QUERY)
    keel_python_test(coroutine_trap SCRIPT tools/dev/find_coroutine_trap ARGS --self-test LABELS source)
endif()

# Ways of using Keel from another project. Those labeled `full` build the whole library, with CMake's own defaults.
if(KEEL_INSTALL AND NOT KEEL_SANITIZE)
    set(stage ${PROJECT_BINARY_DIR}/install_test)
    add_test(NAME install-tree COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${stage}/prefix)
    set_tests_properties(install-tree PROPERTIES LABELS install FIXTURES_SETUP installed)
    foreach(way IN ITEMS find_package pkg_config)
        keel_python_test(
            install-${way}
            SCRIPT tests/install/use_keel.py
            ARGS ${way} --stage ${stage} --compiler ${CMAKE_CXX_COMPILER} --cmake ${CMAKE_COMMAND}
            LABELS install)
    endforeach()
    set_tests_properties(install-find_package install-pkg_config PROPERTIES FIXTURES_REQUIRED installed)
    foreach(build IN ITEMS subdirectory fetch_content shared two_plugins)
        keel_python_test(
            install-${build}
            SCRIPT tests/install/use_keel.py
            ARGS ${build} --stage ${stage} --cmake ${CMAKE_COMMAND}
            LABELS install full
            TIMEOUT 1800)
        set_tests_properties(install-${build} PROPERTIES PROCESSORS 2)
    endforeach()
    set_tests_properties(install-subdirectory install-fetch_content PROPERTIES FIXTURES_SETUP plugins)
    set_tests_properties(install-two_plugins PROPERTIES FIXTURES_REQUIRED plugins)
endif()
