// Commands that a message gives the user to type.
#pragma once

#include <string>

namespace trawl::cli {

// `word` as a shell reads it back.
std::string quoted(const std::string& word);

// What goes on with the crawl of a state directory; empty if no crawl's config is there, as in one
// that a program has made.
std::string resume_command(const std::string& program, const std::string& state_dir);

}  // namespace trawl::cli
