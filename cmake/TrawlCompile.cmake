# trawl_compile: the compile options of all targets.
add_library(trawl_compile INTERFACE)
target_include_directories(trawl_compile INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_options(trawl_compile INTERFACE -Wall -Wextra -Wpedantic)
if(TRAWL_WERROR)
  target_compile_options(trawl_compile INTERFACE -Werror)
endif()
if(TRAWL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC treats the sources of a unity build as headers, in which it warns about types of unnamed
  # namespaces.
  target_compile_options(trawl_compile INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(trawl_compile INTERFACE -Wthread-safety)
endif()
# Sources compiled as one are linked as one: sections let the linker drop the unused parts.
target_compile_options(trawl_compile INTERFACE -ffunction-sections -fdata-sections)
target_link_options(trawl_compile INTERFACE LINKER:--gc-sections)
if(TRAWL_SANITIZE)
  # A target with the property TRAWL_UNSANITIZED goes without. (Options of its own come before these.)
  set(sanitized "$<NOT:$<BOOL:$<TARGET_PROPERTY:TRAWL_UNSANITIZED>>>")
  target_compile_options(trawl_compile INTERFACE "$<${sanitized}:-fsanitize=${TRAWL_SANITIZE}>"
                         -fno-omit-frame-pointer)
  target_link_options(trawl_compile INTERFACE "$<${sanitized}:-fsanitize=${TRAWL_SANITIZE}>")
  if(TRAWL_SANITIZE MATCHES "undefined")
    # The checks left out take half of a build's time, and AddressSanitizer finds the same errors:
    # null pointers, dead objects, accesses beyond an object. Alignment does not matter on x86.
    target_compile_options(trawl_compile INTERFACE -fno-sanitize-recover=undefined
                           -fno-sanitize=null,vptr,object-size,pointer-overflow,alignment)
  endif()
  if(TRAWL_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns that TSan does not model fences. The queue library uses some; ours only order flags,
    # and no data is read because of them.
    target_compile_options(trawl_compile INTERFACE -Wno-tsan)
  endif()
endif()
if(TRAWL_BUILD_FUZZERS)
  # Coverage of the libraries, not only of the harness, guides the fuzzer.
  target_compile_options(trawl_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
