// The files that the status page is made of, as CMake puts them into the program.
#pragma once

#include <string_view>

namespace trawl {

extern const std::string_view kStatusPageHtml;  // with {{name}} where something is put in
extern const std::string_view kStatusPageStyle;
extern const std::string_view kStatusPageScript;

}  // namespace trawl
