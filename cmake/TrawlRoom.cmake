# trawl_room(<name> IN <library> SOURCES ... [LIBRARIES ...]): a folder of a library that is made of
# several. What it compiles becomes part of that library's archive, which links what it needs.
function(trawl_room name)
  cmake_parse_arguments(ARG "" "IN" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE trawl_compile tl::expected ${ARG_LIBRARIES})
  target_sources(${ARG_IN} PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
