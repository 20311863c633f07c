// QueueRun: new URLs of one operation, encoded for their queues by the thread that admits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"

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
// 8 bytes 0 for RocksDB's own number, the size of the record (a varint), the record. So the
// committer, RocksDB and its memtable copy a run as a whole, and SortedMemtable fills in the
// numbers when an entry is first looked for.
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

// Does not change once it is queued to be committed, except `Part::sequence`.
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
  bool is_full() const noexcept { return bytes_.size() >= kFull; }
  std::size_t urls() const noexcept { return fingerprints_.size(); }
  std::span<const Fingerprint> fingerprints() const noexcept { return fingerprints_; }
  std::span<const Fingerprint> fingerprints(const Part& part) const noexcept {
    return fingerprints().subspan(part.first, part.urls);
  }
  std::span<Part> parts() noexcept { return parts_; }
  std::span<const Part> parts() const noexcept { return parts_; }
  std::string_view bytes(std::size_t begin, std::size_t end) const noexcept {
    return std::string_view(bytes_).substr(begin, end - begin);
  }
  RunReader read(const Part& part) const { return {bytes(part.begin, part.end), part.sequence}; }
  // Memory.
  std::size_t size() const noexcept {
    return sizeof *this + bytes_.capacity() + fingerprints_.capacity() * sizeof(Fingerprint) +
           parts_.capacity() * sizeof(Part);
  }

 private:
  static constexpr std::size_t kFull = 64u << 20;

  std::string bytes_;
  std::vector<Fingerprint> fingerprints_;
  std::vector<Part> parts_;
};

}  // namespace trawl
