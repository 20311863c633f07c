# trawl_compile: what every target of ours is compiled with.
add_library(trawl_compile INTERFACE)
target_include_directories(trawl_compile INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_options(trawl_compile INTERFACE -Wall -Wextra -Wpedantic)
if(TRAWL_WERROR)
  target_compile_options(trawl_compile INTERFACE -Werror)
endif()
if(TRAWL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC takes the sources of a unity build for headers, where a type of an unnamed namespace is a
  # mistake.
  target_compile_options(trawl_compile INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(trawl_compile INTERFACE -Wthread-safety)
endif()
# Sources that are compiled as one come into a program as one: it keeps what it uses.
target_compile_options(trawl_compile INTERFACE -ffunction-sections -fdata-sections)
target_link_options(trawl_compile INTERFACE LINKER:--gc-sections)
if(TRAWL_SANITIZE)
  target_compile_options(trawl_compile INTERFACE -fsanitize=${TRAWL_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(trawl_compile INTERFACE -fsanitize=${TRAWL_SANITIZE})
  if(TRAWL_SANITIZE MATCHES "undefined")
    # Left out is half of a build's time for what AddressSanitizer finds as well: null pointers,
    # objects that are gone, what is beyond an object. Nor does x86 mind how words are aligned.
    target_compile_options(trawl_compile INTERFACE -fno-sanitize-recover=undefined
                           -fno-sanitize=null,vptr,object-size,pointer-overflow,alignment)
  endif()
  if(TRAWL_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns that TSan does not model fences. The queue library has some; ours order flags, and
    # no data is read on the strength of them.
    target_compile_options(trawl_compile INTERFACE -Wno-tsan)
  endif()
endif()
if(TRAWL_BUILD_FUZZERS)
  # Coverage of the libraries, not of the harness alone, is what guides the fuzzer.
  target_compile_options(trawl_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
