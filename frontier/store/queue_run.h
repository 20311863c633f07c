// QueueRun: new URLs of one operation, encoded for their queues by the thread that admits them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/store/queued_url.h"

namespace trawl {

// A URL of a run.
struct RunUrl {
  HostId host = 0;
  QueueOrder order;
  std::string_view record;
};

// The bytes of a run are, for each URL, an entry of a RocksDB memtable without what only the
// committer knows: the size of RocksDB's key (a byte 28), the key in kPending with the sequence 0,
// 8 bytes 0 for RocksDB's own number, the size of the record (a varint), the record. So the bytes
// are written as a whole, to a file by the thread that made them (run_files.h) or, if they are few
// or no file can be created, to RocksDB's log, and SortedMemtable fills in the numbers when an
// entry is first looked for.
class RunReader {
 public:
  // Before the bytes, in the store: the first sequence, and the number of URLs.
  static constexpr std::size_t kHeaderBytes = 12;
  static std::string header(std::uint64_t first_sequence, std::uint32_t urls);
  static std::optional<std::pair<std::uint64_t, std::uint32_t>> decode_header(
      std::string_view bytes);

  static constexpr std::size_t kTrailerBytes = 8;  // of RocksDB, at the end of its keys

  // The sequences of the URLs ascend from `first_sequence`.
  RunReader(std::string_view bytes, std::uint64_t first_sequence)
      : bytes_(bytes), rest_(bytes), sequence_(first_sequence) {}
  // The next URL; nothing at the end, or where the bytes are not valid.
  std::optional<RunUrl> next();
  bool at_end() const noexcept { return rest_.empty(); }
  // Where the entry of the next URL begins.
  std::size_t offset() const noexcept { return bytes_.size() - rest_.size(); }

 private:
  std::string_view bytes_;
  std::string_view rest_;
  std::uint64_t sequence_;  // of the next URL
};

// Where the bytes of a run are in a file (run_files.h).
struct RunPlace {
  std::uint64_t file = 0;  // its number
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint64_t checksum = 0;  // XXH3 of the bytes

  friend bool operator==(const RunPlace&, const RunPlace&) = default;
};

// The keys in kPending under which runs are put. RocksDB never finds them: SortedMemtable has the
// URLs instead.
inline constexpr std::string_view kRunKey;
inline constexpr std::string_view kRunReferenceKey = "f";

// What is stored in place of the bytes of a run: where they are, and the header of the run.
struct RunReference {
  static constexpr std::size_t kBytes = RunReader::kHeaderBytes + 8 + 4 + 4 + 8;
  RunPlace place;
  std::uint64_t first_sequence = 0;
  std::uint32_t urls = 0;

  // `header`: of the run.
  static std::string encode(std::string_view header, const RunPlace& place);
  static std::optional<RunReference> decode(std::string_view bytes);
};

// The bytes of a run. The memtable shares them when the run is committed, and then changes the
// sequences and the 8 bytes behind each key, which RunReader does not read.
struct RunBytes {
  std::string bytes;
  std::optional<RunPlace> place;     // of the same bytes in a file, if they are in one
  std::shared_ptr<const void> file;  // keeps it

  std::size_t memory() const noexcept { return sizeof *this + bytes.capacity(); }
};

// Does not change once it is queued to be committed, except `Part::sequence` and where its bytes
// are.
class QueueRun {
 public:
  // URLs that follow each other, with hosts of one bucket and one shard.
  struct Part {
    std::uint32_t bucket = 0;
    std::uint32_t shard = 0;
    std::uint32_t first = 0;  // URL
    std::uint32_t urls = 0;
    std::uint32_t begin = 0;  // byte
    std::uint32_t end = 0;
    std::uint32_t deepest = 0;
    std::uint64_t sequence = 0;  // of the first URL; set by the committer
  };

  // Parts are as they are added, so those of a bucket and a shard must follow each other.
  void add(std::uint32_t bucket, std::uint32_t shard, Fingerprint fingerprint, HostId host,
           std::int32_t priority, std::uint32_t depth, std::string_view record);
  void reserve(std::size_t urls, std::size_t bytes);

  // Whether it has so many bytes that no URL should be added: notes may be large.
  bool is_full() const noexcept { return shared_->bytes.size() >= kFull; }

  // By the thread that queues it: before that, if it calls Store::write_ahead() afterwards, and
  // when that is done.
  void begin_writing() noexcept { writing_.store(true, std::memory_order_relaxed); }
  void end_writing(Result<void> written) noexcept;
  // By the committer: returns when the thread that writes it has done so, with what became of it.
  Result<void> written() const;
  std::size_t urls() const noexcept { return fingerprints_.size(); }
  std::span<const Fingerprint> fingerprints() const noexcept { return fingerprints_; }
  std::span<const Fingerprint> fingerprints(const Part& part) const noexcept {
    return fingerprints().subspan(part.first, part.urls);
  }
  std::span<Part> parts() noexcept { return parts_; }
  std::span<const Part> parts() const noexcept { return parts_; }
  std::string_view bytes(std::size_t begin, std::size_t end) const noexcept {
    return std::string_view(shared_->bytes).substr(begin, end - begin);
  }
  const std::shared_ptr<RunBytes>& shared() const noexcept { return shared_; }
  RunReader read(const Part& part) const { return {bytes(part.begin, part.end), part.sequence}; }
  // Memory.
  std::size_t size() const noexcept {
    return sizeof *this + shared_->memory() + fingerprints_.capacity() * sizeof(Fingerprint) +
           parts_.capacity() * sizeof(Part);
  }

 private:
  static constexpr std::size_t kFull = 64u << 20;

  std::shared_ptr<RunBytes> shared_ = std::make_shared<RunBytes>();
  std::vector<Fingerprint> fingerprints_;
  std::vector<Part> parts_;
  std::atomic<bool> writing_{false};
  std::optional<Error> failure_;
};

}  // namespace trawl
