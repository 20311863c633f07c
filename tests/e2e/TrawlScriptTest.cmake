# trawl_script_test(<name> <script> LABELS ... TIMEOUT <s> [ARGS ...]): a Python script that is
# given the real binary. What it lacks on this machine makes it skip.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(FATAL_ERROR "Python 3.9 is missing: run scripts/deps.sh, or apt-get install python3")
endif()

function(trawl_script_test name script)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name}
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${script}
                   $<TARGET_FILE:trawl> ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
                       SKIP_RETURN_CODE 77)
endfunction()
