// Shell commands in messages, for the user to type.
#pragma once

#include <string>

namespace trawl::cli {

// Returns `word` quoted for a shell.
std::string quoted(const std::string& word);

// The command that resumes the crawl of a state directory; empty if the directory has no
// crawl.toml, as for frontiers of other programs.
std::string resume_command(const std::string& program, const std::string& state_dir);

}  // namespace trawl::cli
