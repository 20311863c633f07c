#include "crawler/decide/blocklist.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libpsl.h>

#include "trawl/url_groups.h"

#include "base/file_io.h"
#include "crawler/decide/blocklist_lines.h"

namespace trawl {

namespace {

// The length of the magic number of filter files, in all versions.
constexpr std::size_t kMagicBytes = 8;
constexpr std::string_view kMagics[] = {"TRAWLFLT", "TRAWLBBF"};

Result<bool> is_filter_file(const InputFile& file) {
  char bytes[kMagicBytes];
  const auto read = file.read_at(bytes, kMagicBytes, 0);
  if (!read) return tl::unexpected(read.error());
  return std::ranges::find(kMagics, std::string_view(bytes, *read)) != std::end(kMagics);
}

const psl_ctx_t* public_suffixes() {
  static const psl_ctx_t* const list = psl_latest(nullptr);
  return list;
}

bool is_public_suffix(std::string_view name, int part) {
  return psl_is_public_suffix2(public_suffixes(), std::string(name).c_str(),
                               part | PSL_TYPE_NO_STAR_RULE) != 0;
}

// Collects lines that name a public suffix: each blocks one host where thousands are probably
// meant.
class SuffixLines {
 public:
  void look_at(std::string_view entry) {
    if (entry.starts_with('.')) {
      // Reported before, without its dot.
      entry.remove_prefix(1);
      if (!found_.empty() && found_.back() == entry) {
        found_.pop_back();
        --count_;
      }
      return;
    }
    constexpr std::size_t kLongest = 64;  // no suffix is longer
    if (entry.size() > kLongest || entry.find_first_of("/:") != std::string_view::npos) return;
    if (has_registrable_domain(entry) || !is_public_suffix(entry, PSL_TYPE_ICANN)) return;
    ++count_;
    found_.emplace_back(entry);
    if (found_.size() > kShown + 1) found_.erase(found_.begin() + kShown);
  }

  std::string warning(std::string_view file) const {
    if (count_ == 0) return {};
    const std::size_t shown = std::min(found_.size(), kShown);
    return fmt::format(
        "{}: {} line{} a public suffix, which blocks no host below: {}{}; for all below write it "
        "with a dot in front",
        file, count_, count_ == 1 ? " is" : "s are each",
        fmt::join(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        count_ > shown ? ", ..." : "");
  }

 private:
  static constexpr std::size_t kShown = 5;
  std::uint64_t count_ = 0;
  std::vector<std::string> found_;  // the first ones and the last one
};

}  // namespace

void BlockCandidates::set(const Url& url, const Canonicalizer& canonicalizer) {
  size_ = 0;
  const std::string_view href = url.href_without_fragment();
  const std::string_view key = canonicalizer.key_view(url, key_);
  add(key);
  if (key != href) add(href);
  const std::string_view host = group_host(url);
  if (!url.port().empty()) {
    group_ = politeness_group(url);
    if (group_ != host) add(group_);
  }
  add(host);
  host_ = host;
  parents_begin_ = size_;
  if (url.host_is_ip()) return;
  // From the shortest on, so that the registrable domain of a host with very many labels is
  // included.
  std::size_t dot = host.rfind('.');
  for (std::size_t n = 0; n < kMaxParents && dot != std::string_view::npos; ++n) {
    add(host.substr(dot + 1));
    if (dot == 0) break;
    dot = host.rfind('.', dot - 1);
  }
}

std::string_view BlockCandidates::with_dot(std::size_t i) const {
  if (i < parents_begin_) return {};
  return host_.substr(host_.size() - texts_[i].size() - 1);
}

bool BlockCandidates::may_block(std::size_t i) const {
  return i < parents_begin_ || texts_[i].size() >= registrable_domain(host_).size() ||
         is_public_suffix(texts_[i], PSL_TYPE_PRIVATE);
}

HashedLineSet::HashedLineSet(std::vector<std::uint64_t> hashes) : hashes_(std::move(hashes)) {
  std::ranges::sort(hashes_);
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  hashes_.shrink_to_fit();
  // About four hashes for each value of the first bits: half a cache line to search.
  const int bits = std::clamp(static_cast<int>(std::bit_width(hashes_.size())) - 2, 1, 31);
  shift_ = 64 - bits;
  starts_.resize((std::size_t{1} << bits) + 1);
  std::size_t next = 0;
  for (std::size_t first_bits = 0; first_bits < starts_.size(); ++first_bits) {
    while (next < hashes_.size() && (hashes_[next] >> shift_) < first_bits)
      ++next;
    starts_[first_bits] = static_cast<std::uint32_t>(next);
  }
}

bool HashedLineSet::contains(std::uint64_t hash) const {
  const std::size_t first_bits = hash >> shift_;
  const auto* const begin = hashes_.data() + starts_[first_bits];
  const auto* const end = hashes_.data() + starts_[first_bits + 1];
  return std::find(begin, end, hash) != end;
}

std::size_t HashedLineSet::memory() const {
  return hashes_.capacity() * sizeof(std::uint64_t) + starts_.capacity() * sizeof(std::uint32_t);
}

Result<Blocklist> Blocklist::open(const std::filesystem::path& path,
                                  const Canonicalizer& canonicalizer) {
  const auto file = InputFile::open(path.string());
  if (!file) return tl::unexpected(file.error());
  const auto is_filter = is_filter_file(*file);
  if (!is_filter) return tl::unexpected(is_filter.error());
  if (*is_filter) {
    auto opened = open_filter_and_keys(path.string());
    if (!opened) return tl::unexpected(std::move(opened.error()));
    auto& [filter, exact] = *opened;
    // Lost bits would let blocked URLs pass.
    if (auto verified = filter.verify(); !verified) return tl::unexpected(verified.error());
    if (exact) {
      if (auto verified = exact->verify(); !verified) return tl::unexpected(verified.error());
    }
    const KeyedHash hash = filter.hash();
    return Blocklist(path.string(), hash, FilterLineSet{std::move(filter), std::move(exact)});
  }
  const KeyedHash hash = KeyedHash::random();
  std::vector<std::uint64_t> hashes;
  SuffixLines suffixes;
  bool has_dotted = false;
  const auto read = read_blocklist_lines(*file, canonicalizer, [&](std::string_view entry) {
    hashes.push_back(hash(entry).low);
    has_dotted = has_dotted || entry.starts_with('.');
    suffixes.look_at(entry);
  });
  if (!read) return tl::unexpected(read.error());
  Blocklist list(path.string(), hash, HashedLineSet(std::move(hashes)));
  list.has_dotted_ = has_dotted;
  list.warning_ = suffixes.warning(list.name_);
  return list;
}

std::optional<std::string_view> Blocklist::find(const BlockCandidates& candidates) const {
  const auto* lines = std::get_if<HashedLineSet>(&lines_);
  const auto* filter = std::get_if<FilterLineSet>(&lines_);
  const auto has = [&](std::string_view text) {
    const Fingerprint fingerprint = hash_(text);
    return lines != nullptr ? lines->contains(fingerprint.low) : filter->contains(fingerprint);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (has(candidates[i]) && candidates.may_block(i)) return candidates[i];
    if (!has_dotted_) continue;
    const std::string_view dotted = candidates.with_dot(i);
    if (!dotted.empty() && has(dotted)) return dotted;
  }
  return std::nullopt;
}

std::uint64_t Blocklist::size() const {
  if (const auto* lines = std::get_if<HashedLineSet>(&lines_)) return lines->size();
  const auto& filter = std::get<FilterLineSet>(lines_);
  return filter.exact ? filter.exact->size() : filter.filter.stats().inserted;
}

}  // namespace trawl
