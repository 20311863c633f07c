// WarcFiles: appends records to WARC files, one after another, each with its index beside it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/warc/warc_record.h"

namespace trawl {

struct WarcFilesOptions {
  std::string prefix = "trawl";          // of file names: letters, digits, '.', '_', '-'
  std::uint64_t max_size = 1u << 30;     // bytes; a file that has reached it is closed
  std::chrono::milliseconds max_age{0};  // a file as old is closed; 0: however old
  bool cdxj = true;                      // an index beside each file
  // For the warcinfo record; what is empty is left out.
  std::string operator_name;
  std::string description;
  std::string user_agent;
  std::string robots;  // "obey" or "ignore"
  std::string hostname;
  // Tells the time; tests replace it.
  std::function<std::chrono::system_clock::time_point()> now;
};

// Where a record is to be found.
struct WarcPlace {
  std::string file;  // its name once the file is closed, without the directory
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// What open() did to a file that a crash had left open.
struct WarcRepair {
  std::string file;              // its name, now that it is closed
  std::uint64_t kept = 0;        // bytes; 0: the file held no whole record and was removed
  std::uint64_t cut = 0;         // bytes of the record that was not whole
  std::uint64_t lines_made = 0;  // of the index, for records that had none
  std::string message = {};      // for people
};

// Not thread-safe. After an error the files hold whole records only, and what was
// appended before.
class WarcFiles {
 public:
  // Creates `directory` if missing, and closes the files of the prefix that a crash left open.
  // Errors: kInUse if another process writes files of that prefix there.
  static Result<std::unique_ptr<WarcFiles>> open(const std::filesystem::path& directory,
                                                 const WarcFilesOptions& options);
  ~WarcFiles();  // leaves the file as a crash would, to be closed by the next open()
  WarcFiles(const WarcFiles&) = delete;
  WarcFiles& operator=(const WarcFiles&) = delete;

  // Appends all of `records` to one file, or nothing and returns the error. Tells where the
  // response or revisit is.
  Result<WarcPlace> append(const WarcRecords& records);
  // Closes the file if it is old enough; append() does so too.
  Result<void> tick();
  // With `sync` all that was appended survives a power loss. What a crash without one costs is the
  // last record at most, either way.
  Result<void> flush(bool sync);
  // Closes the file. Nothing may be appended any more.
  Result<void> close();

  // What open() repaired.
  const std::vector<WarcRepair>& repairs() const noexcept;
  std::uint64_t files_closed() const noexcept;
  std::uint64_t bytes_written() const noexcept;

 private:
  struct State;
  explicit WarcFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
