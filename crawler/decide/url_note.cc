#include "crawler/decide/url_note.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::uint64_t kVersion = 1;
// Longer validators are not stored, so such pages are requested unconditionally.
constexpr std::size_t kMaxValidatorBytes = 1024;
constexpr std::size_t kMaxDigestBytes = 128;
constexpr std::size_t kMaxDateBytes = 64;
constexpr std::uint64_t kThousand = 1000;

// Bits that say which fields follow, in this order.
enum Field : std::uint64_t {
  kSitemap = 1 << 0,  // with sitemap_level
  kHops = 1 << 1,
  kPriority = 1 << 2,
  kEtag = 1 << 3,
  kLastModified = 1 << 4,
  kDigest = 1 << 5,
  kInterval = 1 << 6,
  kFirst = 1 << 7,    // first_url, first_date
  kVouched = 1 << 8,  // without bytes
  kFound = 1 << 9,
  kSeed = 1 << 10,
  kListsSeeds = 1 << 11,  // without bytes
  kReadAt = 1 << 12,
  kListedInterval = 1 << 13,
  kLastmod = 1 << 14,  // without bytes
  kRequisite = 1 << 15,
  kStyleSheet = 1 << 16,  // without bytes
  kAllFields = (1 << 17) - 1,
};

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

bool is_text(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && is_printable(text);
}

std::uint64_t thousandths(double priority) {
  return static_cast<std::uint64_t>(std::lround(priority * static_cast<double>(kThousand)));
}

std::uint64_t fields_of(const UrlNote& note) {
  std::uint64_t fields = 0;
  const auto add = [&fields](bool present, Field field) {
    if (present) fields |= field;
  };
  add(note.role == UrlNote::Role::kSitemap, kSitemap);
  add(note.role == UrlNote::Role::kSitemap && note.vouched, kVouched);
  add(note.hops_off_scope > 0, kHops);
  // The comparisons are false for NaN.
  add(note.sitemap_priority && *note.sitemap_priority >= 0 && *note.sitemap_priority <= 1,
      kPriority);
  add(is_usable_validator(note.etag), kEtag);
  add(is_usable_validator(note.last_modified), kLastModified);
  add(is_text(note.digest, kMaxDigestBytes), kDigest);
  add(note.interval && note.interval->count() > 0, kInterval);
  add(is_text(note.first_url, UrlNote::kMaxBytes) && is_text(note.first_date, kMaxDateBytes),
      kFirst);
  add(note.found != UrlNote().found, kFound);
  add(note.seed != 0, kSeed);
  add(note.role == UrlNote::Role::kSitemap && note.lists_seeds, kListsSeeds);
  add(note.role == UrlNote::Role::kSitemap && note.read_at > 0, kReadAt);
  add(note.listed_interval && note.listed_interval->count() > 0, kListedInterval);
  add(note.has_lastmod, kLastmod);
  add(note.requisite_hops > 0, kRequisite);
  add(note.style_sheet, kStyleSheet);
  return fields;
}

std::string encode_fields(const UrlNote& note, std::uint64_t fields) {
  std::string out;
  if (fields == 0) return out;
  put_varint(out, kVersion);
  put_varint(out, fields);
  if ((fields & kSitemap) != 0) put_varint(out, note.sitemap_level);
  if ((fields & kHops) != 0) put_varint(out, note.hops_off_scope);
  if ((fields & kPriority) != 0) put_varint(out, thousandths(*note.sitemap_priority));
  if ((fields & kEtag) != 0) put_string(out, note.etag);
  if ((fields & kLastModified) != 0) put_string(out, note.last_modified);
  if ((fields & kDigest) != 0) put_string(out, note.digest);
  if ((fields & kInterval) != 0) {
    put_varint(out, static_cast<std::uint64_t>(note.interval->count()));
  }
  if ((fields & kFirst) != 0) {
    put_string(out, note.first_url);
    put_string(out, note.first_date);
  }
  if ((fields & kFound) != 0) put_varint(out, note.found.bits());
  if ((fields & kSeed) != 0) put_varint(out, note.seed);
  if ((fields & kReadAt) != 0) put_varint(out, note.read_at);
  if ((fields & kListedInterval) != 0)
    put_varint(out, static_cast<std::uint64_t>(note.listed_interval->count()));
  if ((fields & kRequisite) != 0) put_varint(out, note.requisite_hops);
  return out;
}

// Reads the fields of a note; ok() is false after a value that encode() cannot have written.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : in_(bytes) {}

  bool ok() const { return good_ && in_.done(); }
  std::uint64_t number(std::uint64_t most) {
    const std::uint64_t value = in_.varint();
    if (value > most) good_ = false;
    return value;
  }
  std::uint32_t small_number() {
    return static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
  }
  std::chrono::milliseconds duration() {
    constexpr auto kMost = std::chrono::milliseconds::max().count();
    return std::chrono::milliseconds(number(static_cast<std::uint64_t>(kMost)));
  }
  std::string text(std::size_t most) {
    const std::string_view value = in_.string();
    if (!is_text(value, most)) good_ = false;
    return std::string(value);
  }

 private:
  Decoder in_;
  bool good_ = true;
};

}  // namespace

bool is_usable_validator(std::string_view text) {
  return is_text(text, kMaxValidatorBytes);
}

std::string UrlNote::encode() const {
  std::uint64_t fields = fields_of(*this);
  std::string out = encode_fields(*this, fields);
  if (out.size() > kMaxBytes) out = encode_fields(*this, fields & ~std::uint64_t{kFirst});
  return out;
}

UrlNote UrlNote::decode(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kMaxBytes) return {};
  FieldReader in(bytes);
  if (in.number(kVersion) != kVersion) return {};
  const std::uint64_t fields = in.number(kAllFields);
  UrlNote note;
  if ((fields & kSitemap) != 0) {
    note.role = Role::kSitemap;
    note.sitemap_level = in.small_number();
    note.vouched = (fields & kVouched) != 0;
    note.lists_seeds = (fields & kListsSeeds) != 0;
  }
  if ((fields & kHops) != 0) note.hops_off_scope = in.small_number();
  if ((fields & kPriority) != 0) {
    note.sitemap_priority =
        static_cast<double>(in.number(kThousand)) / static_cast<double>(kThousand);
  }
  if ((fields & kEtag) != 0) note.etag = in.text(kMaxValidatorBytes);
  if ((fields & kLastModified) != 0) note.last_modified = in.text(kMaxValidatorBytes);
  if ((fields & kDigest) != 0) note.digest = in.text(kMaxDigestBytes);
  if ((fields & kInterval) != 0) {
    note.interval = in.duration();
  }
  if ((fields & kFirst) != 0) {
    note.first_url = in.text(kMaxBytes);
    note.first_date = in.text(kMaxDateBytes);
  }
  if ((fields & kFound) != 0) note.found = FoundKinds::from_bits(in.small_number());
  if ((fields & kSeed) != 0) note.seed = in.number(std::numeric_limits<std::uint64_t>::max());
  if ((fields & kReadAt) != 0) note.read_at = in.number(std::numeric_limits<std::uint64_t>::max());
  if ((fields & kListedInterval) != 0) note.listed_interval = in.duration();
  note.has_lastmod = (fields & kLastmod) != 0;
  if ((fields & kRequisite) != 0) note.requisite_hops = in.small_number();
  note.style_sheet = (fields & kStyleSheet) != 0;
  return in.ok() ? note : UrlNote();
}

}  // namespace trawl
