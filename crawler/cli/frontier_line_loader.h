// FrontierLineLoader: reads lines of URLs and offers them, for `trawl frontier load`.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/lease.h"
#include "trawl/result.h"

#include "base/file_io.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_line.h"

namespace trawl::cli {

// Bad lines are reported on standard error, with their numbers. The first one ends the loading,
// unless they are to be skipped; the lines after it are checked.
class FrontierLineLoader {
 public:
  // The maximum that a config allows, so that a dump of any frontier can be loaded.
  static constexpr std::uint32_t kLongestUrl = 65536;
  // Takes a part of the URLs; an answer for each.
  using Offer = std::function<Result<std::vector<Admission>>(std::span<const UrlRequest>)>;

  FrontierLineLoader(const FrontierLoadArguments& arguments, std::uint32_t max_url_length,
                     Offer offer);

  // The input that the arguments name; without a descriptor if that is standard input.
  static Result<FileDescriptor> open_input(const std::string& input);
  // Errors: those of reading and of `offer`.
  Result<void> load(const FileDescriptor& file);

  std::uint64_t fresh() const { return fresh_; }  // new, or accepted for another process
  std::uint64_t seen() const { return seen_; }
  std::uint64_t bad() const { return bad_; }
  std::uint64_t passed_over() const { return passed_over_; }  // held or failed
  // Of bad lines that were not shown.
  void report_unshown() const;

 private:
  void take(std::uint64_t number, std::string_view text);
  void refuse(std::uint64_t number, std::string_view why);
  bool full() const;
  Result<void> offer();
  void count(std::uint64_t number, Admission admission);

  const std::string name_;
  const std::uint32_t max_url_length_;
  const bool skip_bad_lines_;
  const bool set_aside_;
  const bool seen_only_;
  const Offer offer_;
  std::vector<std::pair<std::uint64_t, FrontierLine>> batch_;  // with line numbers
  std::size_t bytes_ = 0;
  std::uint64_t fresh_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t bad_ = 0;
  std::uint64_t passed_over_ = 0;
};

}  // namespace trawl::cli
