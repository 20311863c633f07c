// RevisitedRecords: where the records are that others refer to; and how `trawl warc` reads files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "crawler/warc/warc_reader.h"

namespace trawl::cli {

// The WARC files that `inputs` stand for, in the order in which they were written: a file stands
// for itself, a state directory or a config for all files of its crawl, another directory for those
// in it. Errors are printed, and the exit code is returned.
tl::expected<std::vector<std::string>, int> warc_files(const std::vector<std::string>& inputs);

// Reads records from `offset` on with `use`, which returns whether to go on. Damage is given to
// `damaged`, and reading goes on with the next record that is whole. Errors: those of reading and
// of `use`.
using UseRecord = std::function<Result<bool>(WarcReader&, const WarcRecord&)>;
using Damaged = std::function<void(const Error&)>;
Result<void> each_record(const std::string& file, std::uint64_t offset, const UseRecord& use,
                         const Damaged& damaged);

// Finds the record that a revisit refers to: the first with its digest, or that of its URL and
// date. Reads the files once, when it is first asked; takes about 100 bytes for each record.
class RevisitedRecords {
 public:
  explicit RevisitedRecords(const std::vector<std::string>& files) : files_(files) {}

  struct Place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t behind = 0;  // so many records begin at the same offset before it
  };
  // Nothing: it is not in the files.
  Result<std::optional<Place>> find(const WarcRecord& revisit);

 private:
  Result<void> read_files();
  Result<void> read_file(std::size_t file);

  const std::vector<std::string>& files_;
  bool read_ = false;
  std::unordered_map<std::string, Place> by_digest_;
  std::unordered_map<std::size_t, Place> by_url_and_date_;  // by a hash of both
};

}  // namespace trawl::cli
