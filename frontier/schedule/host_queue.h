// HostQueue: the URLs of one politeness group, the first of them in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frontier/store/queued_url.h"

namespace trawl {

// Of the URLs of the host that the shard knows of, each is either in the head, which is in memory,
// or leased, or in the store only: those, the rest, come behind all of the head in queue order.
//
// The head is one block of bytes, 20 a URL beside its record; an empty head takes none.
class HostQueue {
 public:
  bool head_empty() const noexcept { return block_ == nullptr; }
  std::size_t head_urls() const noexcept { return block_ ? block_->urls : 0; }
  // What the head takes of the heap.
  std::size_t head_bytes() const noexcept;
  // The same without the room that it keeps for more URLs.
  std::size_t head_bytes_used() const noexcept;
  // What a head takes beside its URLs, and for a URL with such a record.
  static constexpr std::size_t kBlockBytes = 32;
  static constexpr std::size_t bytes_of(std::size_t record) noexcept { return record + 20; }

  bool has_rest() const noexcept { return rest_ != Rest::kNone; }
  bool has_urls() const noexcept { return !head_empty() || has_rest(); }
  // True if a URL with that place belongs to the rest.
  bool in_rest(const QueueOrder& order) const noexcept;
  // What lies behind this is the rest; nothing: all there is. Only if has_rest().
  std::optional<QueueOrder> rest_after() const noexcept;

  // Makes the rest what lies behind `order`, what lies from `order` on, all there is, or nothing.
  void set_rest_after(const QueueOrder& order) noexcept;
  void set_rest_from(const QueueOrder& order) noexcept;
  void set_rest_all() noexcept { rest_ = Rest::kAll; }
  void set_no_rest() noexcept { rest_ = Rest::kNone; }

  // Puts a URL that is not in the rest into the head; false if it is there already.
  bool insert(const QueueOrder& order, std::string_view record);
  // The first URL. Not if the head is empty.
  QueueOrder front() const noexcept;
  std::string_view front_record() const noexcept;
  // Takes the first URL out.
  std::string pop_front();
  // Takes a URL out of the head, if it is there.
  std::optional<std::string> take(const QueueOrder& order);
  // Leaves the last URL of the head, or all, to the rest.
  void drop_last() noexcept;
  void drop_head() noexcept;
  // Gives back the room that the head keeps for more URLs.
  void fit();

 private:
  enum class Rest : std::uint8_t { kNone, kBehind, kAll };
  // A URL: its order and the size of its record, the record, and the size once more, so that the
  // head can be walked from either end.
  struct EntryHeader {
    std::uint64_t sequence;
    std::int32_t priority;
    std::uint32_t size;
    QueueOrder order() const noexcept { return {.priority = priority, .sequence = sequence}; }
  };
  struct Block {
    std::uint32_t capacity;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t urls;
    char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
  };
  struct FreeBlock {
    void operator()(Block* block) const noexcept { ::operator delete(block); }
  };

  EntryHeader header_at(std::uint32_t at) const noexcept;
  std::uint32_t last_entry() const noexcept;
  std::uint32_t find(const QueueOrder& order) const noexcept;
  void make_room(std::uint32_t more);
  void reallocate(std::uint32_t capacity);
  void remove_at(std::uint32_t at) noexcept;

  std::unique_ptr<Block, FreeBlock> block_;
  std::uint64_t rest_sequence_ = 0;
  std::int32_t rest_priority_ = 0;
  Rest rest_ = Rest::kNone;
};
static_assert(sizeof(HostQueue) == 24, "there is one for each host");

}  // namespace trawl
