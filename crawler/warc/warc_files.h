// WarcFiles: appends records to a sequence of WARC files, each with its own index.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/warc/warc_builder.h"

namespace trawl {

struct WarcFilesOptions {
  std::string prefix = "trawl";          // of file names: letters, digits, '.', '_', '-'
  std::uint64_t max_size = 1u << 30;     // bytes; a file of this size is closed
  std::chrono::milliseconds max_age{0};  // a file of this age is closed; 0 disables it
  bool cdxj = true;                      // an index next to each file
  // For the warcinfo record; empty ones are omitted.
  std::string operator_name;
  std::string description;
  std::string crawl;  // in Redis, and the crawler of it
  std::string member;
  std::string user_agent;
  std::vector<std::string> config;  // "key = value", without secrets
  std::string robots;               // "obey" or "ignore"
  std::string hostname;
  // The clock; tests replace it.
  std::function<std::chrono::system_clock::time_point()> now;
};

// The place of a record.
struct WarcLocation {
  std::string file;  // its name once the file is closed, without the directory
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The repair of a file that a crash had left open.
struct WarcRepairReport {
  std::string file;              // its name, now that it is closed
  std::uint64_t kept = 0;        // bytes; 0: the file had no complete record and was removed
  std::uint64_t cut = 0;         // bytes of the incomplete record
  std::uint64_t lines_made = 0;  // of the index, for records without one
  std::string message = {};      // for people
};

// Not thread-safe. After an error the files hold complete records only, and all that was appended
// before.
class WarcFiles {
 public:
  // Creates `directory` if it is missing, and closes the files of the prefix that a crash left
  // open. Errors: kInUse if another process writes files of that prefix there.
  static Result<std::unique_ptr<WarcFiles>> open(const std::filesystem::path& directory,
                                                 const WarcFilesOptions& options);
  ~WarcFiles();  // leaves the file as a crash would, to be closed by the next open()
  WarcFiles(const WarcFiles&) = delete;
  WarcFiles& operator=(const WarcFiles&) = delete;

  // Appends all of `records` to one file and returns the place of the response or revisit; or
  // appends nothing and returns the error.
  Result<WarcLocation> append(const WarcRecords& records);
  // Closes the file if it is old enough; append() does so too.
  Result<void> close_if_old();
  // With `sync` all that was appended survives a power loss. A crash of the process costs at most
  // the last record, with or without `sync`.
  Result<void> flush(bool sync);
  // Closes the file. Nothing may be appended any more.
  Result<void> close();

  // What open() repaired.
  const std::vector<WarcRepairReport>& repairs() const noexcept;
  std::uint64_t files_closed() const noexcept;
  std::uint64_t bytes_written() const noexcept;

 private:
  struct State;
  explicit WarcFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
