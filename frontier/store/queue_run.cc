#include "frontier/store/queue_run.h"

#include <array>
#include <cassert>
#include <limits>

#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::size_t kEntryKeyBytes = kPendingKeyBytes + RunReader::kTrailerBytes;
static_assert(kEntryKeyBytes < 0x80);  // its varint is one byte

}  // namespace

std::string RunReader::header(std::uint64_t first_sequence, std::uint32_t urls) {
  std::string header;
  put_fixed(header, first_sequence);
  put_fixed(header, urls);
  assert(header.size() == kHeaderBytes);
  return header;
}

std::optional<std::pair<std::uint64_t, std::uint32_t>> RunReader::decode_header(
    std::string_view bytes) {
  Decoder in(bytes);
  const auto first = in.fixed<std::uint64_t>();
  const auto urls = in.fixed<std::uint32_t>();
  if (!in.ok()) return std::nullopt;
  return std::pair(first, urls);
}

std::optional<RunUrl> RunReader::next() {
  if (rest_.size() <= 1 + kEntryKeyBytes || rest_[0] != static_cast<char>(kEntryKeyBytes))
    return std::nullopt;
  // Not the sequence: see RunBytes.
  const auto [host, priority] = decode_pending_place(rest_.substr(1, kPendingPlaceBytes));
  Decoder in(rest_.substr(1 + kEntryKeyBytes));
  const std::string_view record = in.string();
  if (!in.ok()) return std::nullopt;
  rest_ = in.rest();
  return RunUrl{
      .host = host, .order = {.priority = priority, .sequence = sequence_++}, .record = record};
}

std::string RunReference::encode(std::string_view header, const RunPlace& place) {
  assert(header.size() == RunReader::kHeaderBytes);
  std::string bytes(header);
  put_fixed(bytes, place.file);
  put_fixed(bytes, place.offset);
  put_fixed(bytes, place.size);
  put_fixed(bytes, place.checksum);
  assert(bytes.size() == kBytes);
  return bytes;
}

std::optional<RunReference> RunReference::decode(std::string_view bytes) {
  Decoder in(bytes);
  RunReference reference;
  reference.first_sequence = in.fixed<std::uint64_t>();
  reference.urls = in.fixed<std::uint32_t>();
  reference.place.file = in.fixed<std::uint64_t>();
  reference.place.offset = in.fixed<std::uint32_t>();
  reference.place.size = in.fixed<std::uint32_t>();
  reference.place.checksum = in.fixed<std::uint64_t>();
  if (!in.done()) return std::nullopt;
  return reference;
}

void QueueRun::end_writing(Result<void> written) noexcept {
  if (!written) failure_ = std::move(written.error());
  // release: pairs with written(), which sees failure_ and where the bytes are.
  writing_.store(false, std::memory_order_release);
  writing_.notify_all();
}

Result<void> QueueRun::written() const {
  // acquire: pairs with end_writing().
  writing_.wait(true, std::memory_order_acquire);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

void QueueRun::add(std::uint32_t bucket, std::uint32_t shard, Fingerprint fingerprint, HostId host,
                   std::int32_t priority, std::uint32_t depth, std::string_view record) {
  std::string& bytes = shared_->bytes;
  if (parts_.empty() || parts_.back().bucket != bucket || parts_.back().shard != shard) {
    parts_.push_back({.bucket = bucket,
                      .shard = shard,
                      .first = static_cast<std::uint32_t>(urls()),
                      .begin = static_cast<std::uint32_t>(bytes.size())});
  }
  std::array<char, 1 + kEntryKeyBytes> head{};
  head[0] = static_cast<char>(kEntryKeyBytes);
  const auto key = pending_key_bytes(host, {.priority = priority, .sequence = 0});
  std::memcpy(&head[1], key.data(), key.size());
  bytes.append(head.data(), head.size());
  put_string(bytes, record);
  assert(bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  fingerprints_.push_back(fingerprint);
  Part& part = parts_.back();
  ++part.urls;
  part.end = static_cast<std::uint32_t>(bytes.size());
  part.deepest = std::max(part.deepest, depth);
}

void QueueRun::reserve(std::size_t urls, std::size_t bytes) {
  fingerprints_.reserve(urls);
  shared_->bytes.reserve(bytes);
}

}  // namespace trawl
