# keel::asio, the library behind <keel/asio.hpp>: Keel on an io_context of Boost.Asio. Nothing else in Keel needs Boost.
# The option KEEL_ASIO selects whether it is built. It uses internals of keel::core, which the shared library does not
# export, so it exists only as a static library.
if(BUILD_SHARED_LIBS)
    if(NOT KEEL_ASIO STREQUAL "AUTO" AND KEEL_ASIO)
        message(FATAL_ERROR "Keel: KEEL_ASIO=ON needs static libraries (BUILD_SHARED_LIBS=OFF)")
    endif()
    set(KEEL_ASIO OFF)
endif()
if(KEEL_ASIO STREQUAL "AUTO")
    find_package(Boost 1.81 QUIET)  # headers only
elseif(KEEL_ASIO)
    find_package(Boost 1.81 REQUIRED)
endif()
if(KEEL_ASIO AND TARGET Boost::headers)
    keel_library(asio FOLDERS asio)
    target_link_libraries(keel_asio PUBLIC keel_core Boost::headers)
    if(NOT PROJECT_IS_TOP_LEVEL AND NOT KEEL_INSTALL)
        set_target_properties(keel_asio PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
else()
    message(STATUS "Keel: without keel::asio and <keel/asio.hpp> (KEEL_ASIO is ${KEEL_ASIO}; it needs Boost 1.81 or newer and static libraries)")
endif()

# keel_uses_boost(<result> <file>...): whether one of the files includes Boost, directly or by <keel/asio.hpp>.
function(keel_uses_boost result)
    set(${result} OFF PARENT_SCOPE)
    foreach(file IN LISTS ARGN)
        file(STRINGS ${file} found REGEX "^#include <(boost/|keel/asio\\.hpp)" LIMIT_COUNT 1)
        if(found)
            set(${result} ON PARENT_SCOPE)
        endif()
    endforeach()
endfunction()
