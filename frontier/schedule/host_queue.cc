#include "frontier/schedule/host_queue.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace trawl {

namespace {

constexpr std::uint32_t kTrailerBytes = 4;

}  // namespace

std::size_t HostQueue::head_bytes() const noexcept {
  return block_ ? kBlockBytes + block_->capacity : 0;
}

std::size_t HostQueue::head_bytes_used() const noexcept {
  return block_ ? kBlockBytes + block_->end - block_->begin : 0;
}

bool HostQueue::in_rest(const QueueOrder& order) const noexcept {
  switch (rest_) {
    case Rest::kNone:
      return false;
    case Rest::kAll:
      return true;
    case Rest::kBehind:
      break;
  }
  return order > QueueOrder{.priority = rest_priority_, .sequence = rest_sequence_};
}

std::optional<QueueOrder> HostQueue::rest_after() const noexcept {
  assert(has_rest());
  if (rest_ == Rest::kAll) return std::nullopt;
  return QueueOrder{.priority = rest_priority_, .sequence = rest_sequence_};
}

void HostQueue::set_rest_after(const QueueOrder& order) noexcept {
  rest_ = Rest::kBehind;
  rest_priority_ = order.priority;
  rest_sequence_ = order.sequence;
}

// Makes the rest begin directly after the last possible place before `order`.
void HostQueue::set_rest_from(const QueueOrder& order) noexcept {
  if (order.sequence > 0) {
    set_rest_after({.priority = order.priority, .sequence = order.sequence - 1});
  } else if (order.priority < std::numeric_limits<std::int32_t>::max()) {
    set_rest_after(
        {.priority = order.priority + 1, .sequence = std::numeric_limits<std::uint64_t>::max()});
  } else {
    set_rest_all();
  }
}

HostQueue::EntryHeader HostQueue::header_at(std::uint32_t at) const noexcept {
  assert(block_ && at >= block_->begin && at + sizeof(EntryHeader) <= block_->end);
  EntryHeader header;
  std::memcpy(&header, block_->bytes() + at, sizeof(header));
  return header;
}

std::uint32_t HostQueue::last_entry() const noexcept {
  assert(block_ && block_->urls > 0);
  std::uint32_t size;
  std::memcpy(&size, block_->bytes() + block_->end - kTrailerBytes, sizeof(size));
  return block_->end - kTrailerBytes - size - std::uint32_t{sizeof(EntryHeader)};
}

// The offset of the first URL that does not come before `order`.
std::uint32_t HostQueue::find(const QueueOrder& order) const noexcept {
  std::uint32_t at = block_->begin;
  while (at < block_->end) {
    const EntryHeader header = header_at(at);
    if (header.order() >= order) break;
    at += std::uint32_t{sizeof(header)} + header.size + kTrailerBytes;
  }
  return at;
}

// Makes room for `more` bytes after the last URL.
void HostQueue::make_room(std::uint32_t more) {
  const std::uint32_t used = block_ ? block_->end - block_->begin : 0;
  if (block_ && more <= block_->capacity - block_->end) return;
  if (block_ && used + more <= block_->capacity && block_->begin >= block_->capacity / 4) {
    std::memmove(block_->bytes(), block_->bytes() + block_->begin, used);
    block_->begin = 0;
    block_->end = used;
    return;
  }
  reallocate(std::max(used + more, used + used / 2));
}

void HostQueue::reallocate(std::uint32_t capacity) {
  capacity = (capacity + 15) / 16 * 16;
  const std::uint32_t used = block_ ? block_->end - block_->begin : 0;
  std::unique_ptr<Block, FreeBlock> block(new (::operator new(sizeof(Block) + capacity)) Block{
      .capacity = capacity, .begin = 0, .end = used, .urls = block_ ? block_->urls : 0});
  if (block_) std::memcpy(block->bytes(), block_->bytes() + block_->begin, used);
  block_ = std::move(block);
}

void HostQueue::shrink_to_fit() {
  if (block_ && block_->capacity - (block_->end - block_->begin) >= 16)
    reallocate(block_->end - block_->begin);
}

bool HostQueue::insert(const QueueOrder& order, std::string_view record) {
  assert(!in_rest(order) && record.size() <= std::numeric_limits<std::uint32_t>::max());
  const EntryHeader header{.sequence = order.sequence,
                           .priority = order.priority,
                           .size = static_cast<std::uint32_t>(record.size())};
  const std::uint32_t bytes = std::uint32_t{sizeof(header)} + header.size + kTrailerBytes;
  std::uint32_t before = 0;  // bytes of the URLs before it
  if (block_) {
    const bool is_last = header_at(last_entry()).order() < order;
    const std::uint32_t at = is_last ? block_->end : find(order);
    if (at < block_->end && header_at(at).order() == order) return false;
    before = at - block_->begin;
  }
  make_room(bytes);
  assert(bytes <= block_->capacity - block_->end);
  char* const to = block_->bytes() + block_->begin + before;
  std::memmove(to + bytes, to, block_->end - block_->begin - before);
  std::memcpy(to, &header, sizeof(header));
  std::memcpy(to + sizeof(header), record.data(), record.size());
  std::memcpy(to + sizeof(header) + record.size(), &header.size, kTrailerBytes);
  block_->end += bytes;
  ++block_->urls;
  return true;
}

QueueOrder HostQueue::front() const noexcept {
  return header_at(block_->begin).order();
}

std::string_view HostQueue::front_record() const noexcept {
  return {block_->bytes() + block_->begin + sizeof(EntryHeader), header_at(block_->begin).size};
}

std::string HostQueue::pop_front() {
  std::string record(front_record());
  remove_at(block_->begin);
  return record;
}

std::optional<std::string> HostQueue::take(const QueueOrder& order) {
  if (!block_) return std::nullopt;
  const std::uint32_t at = find(order);
  if (at == block_->end) return std::nullopt;
  const EntryHeader header = header_at(at);
  if (header.order() != order) return std::nullopt;
  std::string record(block_->bytes() + at + sizeof(header), header.size);
  remove_at(at);
  return record;
}

void HostQueue::remove_at(std::uint32_t at) noexcept {
  assert(block_ && block_->urls > 0 && at >= block_->begin && at < block_->end);
  if (--block_->urls == 0) {
    block_.reset();
    return;
  }
  const std::uint32_t size =
      std::uint32_t{sizeof(EntryHeader)} + header_at(at).size + kTrailerBytes;
  if (at == block_->begin) {
    block_->begin += size;
    return;
  }
  char* const bytes = block_->bytes();
  std::memmove(bytes + at, bytes + at + size, block_->end - at - size);
  block_->end -= size;
}

// Afterwards the dropped URL and all later ones of the host are only in the store.
void HostQueue::drop_last() noexcept {
  assert(!head_empty());
  const std::uint32_t last = last_entry();
  set_rest_from(header_at(last).order());
  remove_at(last);
}

void HostQueue::drop_head() noexcept {
  while (block_)
    drop_last();
}

}  // namespace trawl
