// The command line of `trawl`.
#pragma once

namespace trawl::cli {

// Reads the arguments of main() and runs the command that they name. Returns what to exit with.
int run_command_line(int argc, char** argv);

}  // namespace trawl::cli
