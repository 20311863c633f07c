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

// What of a URL a blocklist is asked for, shared by several lists: its canonical key, its text, its
// host with the port if that is not 80 or 443, its host, and the domains above. Views of the URL
// and of its own buffers.
class BlockCandidates {
 public:
  // Host names have at most 127 labels, URLs' hosts any number; more are not looked at.
  static constexpr std::size_t kMaxParents = 16;
  static constexpr std::size_t kMax = kMaxParents + 4;

  // Replaces what was there.
  void set(const Url& url, const Canonicalizer& canonicalizer);
  void set(Url&& url, const Canonicalizer& canonicalizer) = delete;  // the views would dangle
  std::size_t size() const { return size_; }
  std::string_view operator[](std::size_t i) const { return texts_[i]; }
  // A domain above the host with its dot in front, ".example" of "h.example"; else empty. In a list
  // it blocks all hosts below, those of a public suffix, too.
  std::string_view with_dot(std::size_t i) const;
  // False for a public suffix above the host that is in ICANN's part of the list ("co.uk"), which
  // blocks nothing below it; one of the private part ("blogspot.com") does. That takes a look into
  // that list: worth it for what is in a blocklist only.
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

// 64-bit keyed hashes of lines, 9 bytes each: so few that millions fit, so many bits that a line
// taken for another is not to be expected (one in 10^12 for a list of 10 million).
class HashedLines {
 public:
  // Sorted and freed of repetitions here.
  explicit HashedLines(std::vector<std::uint64_t> hashes);

  bool contains(std::uint64_t hash) const;
  std::size_t size() const { return hashes_.size(); }
  std::size_t memory() const;

 private:
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> starts_;  // where the hashes begin whose first bits are the index
  int shift_ = 0;                      // leaves those bits
};

// A filter, and its keys if it was built with them: without these it takes some lines for others.
struct FilterLines {
  MappedFilter filter;
  std::optional<ExactKeys> exact;

  bool contains(Fingerprint line) const {
    return filter.contains(line) && (!exact || exact->contains(line));
  }
};

// A list as the config names it: a filter made by `trawl filter build`, which is mapped and asked
// for texts as they are, or a text file with a URL, a host or a domain a line. Immutable,
// thread-safe.
class Blocklist {
 public:
  // Errors: kInvalidArgument with file and line for what is neither; those of MappedFilter,
  // of ExactKeys and of their verify(); kNotFound, kPermission, kIo.
  static Result<Blocklist> open(const std::filesystem::path& file,
                                const Canonicalizer& canonicalizer);

  // The first candidate that is in the list.
  std::optional<std::string_view> find(const BlockCandidates& candidates) const;

  const std::string& name() const { return name_; }
  bool is_filter() const { return std::holds_alternative<FilterLines>(lines_); }
  std::uint64_t size() const;  // lines without repetitions; of a filter as it counted them
  // What is hardly meant, for people; empty: nothing.
  const std::string& warning() const { return warning_; }

 private:
  Blocklist(std::string name, KeyedHash hash, std::variant<HashedLines, FilterLines> lines)
      : name_(std::move(name)), hash_(std::move(hash)), lines_(std::move(lines)) {}

  std::string name_;
  KeyedHash hash_;
  std::variant<HashedLines, FilterLines> lines_;
  bool has_dotted_ = true;  // lines that begin with a dot: see BlockCandidates::with_dot()
  std::string warning_;
};

}  // namespace trawl
