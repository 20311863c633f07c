// Blocklist: URLs, hosts and domains that are never fetched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/mapped_filter.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "filter/exact/exact_keys.h"

namespace trawl {

// The texts of a URL that blocklists are searched for, shared by several lists: its canonical key,
// its text, its host with a port other than 80 and 443, its host, and the parent domains. Views of
// the URL and of its own buffers.
class BlockCandidates {
 public:
  // Host names have at most 127 labels, hosts of URLs any number; further parents are ignored.
  static constexpr std::size_t kMaxParents = 16;
  static constexpr std::size_t kMax = kMaxParents + 4;

  // Replaces the previous candidates.
  void set(const Url& url, const Canonicalizer& canonicalizer);
  void set(Url&& url, const Canonicalizer& canonicalizer) = delete;  // the views would dangle
  std::size_t size() const { return size_; }
  std::string_view operator[](std::size_t i) const { return texts_[i]; }
  // If candidate `i` is a parent domain, it with a leading dot, ".example" for "h.example"; else
  // empty. A list entry with a dot blocks all hosts below, even below a public suffix.
  std::string_view with_dot(std::size_t i) const;
  // False for a parent domain in ICANN's part of the public suffix list ("co.uk"), which blocks
  // nothing below it; entries of the private part ("blogspot.com") do. Searches that list, so call
  // it only for candidates found in a blocklist.
  bool may_block(std::size_t i) const;

 private:
  void add(std::string_view text) { texts_[size_++] = text; }

  std::array<std::string_view, kMax> texts_;
  std::size_t size_ = 0;
  std::size_t parents_begin_ = 0;
  std::string_view host_;
  std::string key_;
  std::string group_;
};

// A set of 64-bit keyed hashes of lines, 9 bytes each: small enough for millions of lines, and
// large enough that a false match is not to be expected (1 in 10^12 for a list of 10 million).
class HashedLineSet {
 public:
  // Sorts the hashes and removes duplicates.
  explicit HashedLineSet(std::vector<std::uint64_t> hashes);

  bool contains(std::uint64_t hash) const;
  std::size_t size() const { return hashes_.size(); }
  std::size_t memory() const;

 private:
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> starts_;  // for each value of the first bits, where its hashes begin
  int shift_ = 0;                      // shifts out the other bits
};

// A filter, and its exact keys if it has them; without them it has false positives.
struct FilterLineSet {
  MappedFilter filter;
  std::optional<ExactKeys> exact;

  bool contains(Fingerprint line) const {
    return filter.contains(line) && (!exact || exact->contains(line));
  }
};

// A file of scope.blocklist: a filter made by `trawl filter build`, which is mapped and searched
// for exact texts, or a text file with a URL, host or domain per line. Immutable, thread-safe.
class Blocklist {
 public:
  // Errors: kInvalidArgument with file and line for an invalid line; those of MappedFilter,
  // ExactKeys and their verify(); kNotFound, kPermission, kIo.
  static Result<Blocklist> open(const std::filesystem::path& file,
                                const Canonicalizer& canonicalizer);

  // Returns the first candidate in the list.
  std::optional<std::string_view> find(const BlockCandidates& candidates) const;

  const std::string& name() const { return name_; }
  bool is_filter() const { return std::holds_alternative<FilterLineSet>(lines_); }
  std::uint64_t size() const;  // distinct lines; for a filter, its own count
  // A warning about lines that are probably not meant; empty if there are none.
  const std::string& warning() const { return warning_; }

 private:
  Blocklist(std::string name, KeyedHash hash, std::variant<HashedLineSet, FilterLineSet> lines)
      : name_(std::move(name)), hash_(std::move(hash)), lines_(std::move(lines)) {}

  std::string name_;
  KeyedHash hash_;
  std::variant<HashedLineSet, FilterLineSet> lines_;
  bool has_dotted_ = true;  // has lines with a leading dot: see BlockCandidates::with_dot()
  std::string warning_;
};

}  // namespace trawl
