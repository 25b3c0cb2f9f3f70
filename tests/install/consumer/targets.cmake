# The programs of every consumer. USER_FLAGS are compiler flags for the user's own files.
set(CMAKE_CXX_EXTENSIONS OFF)

add_executable(consumer ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
add_executable(consumer_of_core ${CMAKE_CURRENT_LIST_DIR}/core.cpp)
add_executable(consumer_of_features ${CMAKE_CURRENT_LIST_DIR}/features_main.cpp)
add_library(plugin MODULE ${CMAKE_CURRENT_LIST_DIR}/plugin.cpp)
foreach(target IN ITEMS consumer consumer_of_core consumer_of_features plugin)
    target_link_libraries(${target} PRIVATE keel::keel)
    target_compile_options(${target} PRIVATE ${USER_FLAGS})
endforeach()
set_target_properties(consumer_of_core PROPERTIES LINK_LIBRARIES keel::core)

# A project that embeds the library gets the library alone.
foreach(target IN ITEMS keel_command keel_unit_tests keel_examples keel_bench keel_developer)
    if(TARGET ${target})
        message(FATAL_ERROR "an embedded Keel must not define the target ${target}")
    endif()
endforeach()
