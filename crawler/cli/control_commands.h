// The commands that ask a running crawl: status, pause, unpause, checkpoint, stop, offer, reload.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace trawl::cli {

// `program`: argv[0]. The commands set `exit_code`.
void add_control_commands(CLI::App& app, const std::string& program, int& exit_code);

}  // namespace trawl::cli
