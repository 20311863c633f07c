// The charset of a Content-Type header.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// Value of the first charset parameter of `content_type`, "" if there is none, with the parameters
// told apart as in https://mimesniff.spec.whatwg.org/#parse-a-mime-type. The type before them is
// not looked at.
std::string charset_parameter(std::string_view content_type);

}  // namespace trawl
