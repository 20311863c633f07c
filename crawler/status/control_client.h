// ControlClient: asks a running crawl through the control socket in its state directory.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

class ControlClient {
 public:
  // Whether a crawl listens there. Errors: kNotFound if none does, kUnavailable if one
  // runs that cannot be reached; the message names the directory.
  static Result<ControlClient> connect(const std::filesystem::path& state_dir);

  // The body of the answer, which is JSON unless the route says otherwise. Errors: kUnavailable if
  // the crawl does not answer in time, kClosed if it ended meanwhile, and what it refuses, with its
  // words.
  Result<std::string> get(const std::string& target) const;
  Result<std::string> post(const std::string& target, const std::string& body = {}) const;

  // How long the crawl may take. Default: 30 s.
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // `text` for a query.
  static std::string escaped(std::string_view text);

 private:
  ControlClient(FileDescriptor directory, std::string name)
      : directory_(std::move(directory)), name_(std::move(name)) {}
  Result<std::string> ask(const std::string& target, const std::string* body) const;

  FileDescriptor directory_;
  std::string name_;  // of the state directory, for messages
  std::chrono::milliseconds timeout_{30'000};
};

}  // namespace trawl
