// The charset of a Content-Type header.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// The value of the first charset parameter of `content_type`, "" if there is none. Parameters are
// parsed as in https://mimesniff.spec.whatwg.org/#parse-a-mime-type; the type before them is
// ignored.
std::string charset_parameter(std::string_view content_type);

}  // namespace trawl
