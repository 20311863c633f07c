// NextCommand: what to type after a crawl.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trawl::cli {

class NextCommand {
 public:
  // None: nothing is left that could be resumed.
  NextCommand() = default;
  // `target`: of `trawl resume`. `settings`: its --set, as "key=value". None of them quoted.
  NextCommand(std::string program, std::string target, std::vector<std::string> settings = {})
      : program_(std::move(program)), target_(std::move(target)), settings_(std::move(settings)) {}

  bool exists() const { return !program_.empty(); }
  // For a shell.
  std::string resume() const;
  // The same with another value of a key.
  std::string resume_with(std::string_view key, std::string_view value) const;
  std::string report() const;

 private:
  std::string program_;
  std::string target_;
  std::vector<std::string> settings_;
};

}  // namespace trawl::cli
