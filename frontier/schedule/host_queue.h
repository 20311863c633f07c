// HostQueue: the URLs of one politeness group, with the first ones in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frontier/store/queued_url.h"

namespace trawl {

// Each URL of the host is in the head (in memory), leased, or only in the store. The latter, the
// rest, come after all URLs of the head in queue order.
//
// The head is one block of bytes, with 20 for each URL in addition to its record; an empty head
// takes no memory.
class HostQueue {
 public:
  bool head_empty() const noexcept { return block_ == nullptr; }
  std::size_t head_urls() const noexcept { return block_ ? block_->urls : 0; }
  // Heap bytes of the head.
  std::size_t head_bytes() const noexcept;
  // The same without room for further URLs.
  std::size_t head_bytes_used() const noexcept;
  // Bytes of a head without its URLs, and of a URL with such a record.
  static constexpr std::size_t kBlockBytes = 32;
  static constexpr std::size_t bytes_of(std::size_t record) noexcept { return record + 20; }

  bool has_rest() const noexcept { return rest_ != Rest::kNone; }
  bool has_urls() const noexcept { return !head_empty() || has_rest(); }
  // True if a URL at that place belongs to the rest.
  bool in_rest(const QueueOrder& order) const noexcept;
  // The rest comes after this place; nothing: the rest is the whole queue. Requires has_rest().
  std::optional<QueueOrder> rest_after() const noexcept;

  // Set the rest to what comes after `order`, to `order` and what comes after it, to the whole
  // queue, or to nothing.
  void set_rest_after(const QueueOrder& order) noexcept;
  void set_rest_from(const QueueOrder& order) noexcept;
  void set_rest_all() noexcept { rest_ = Rest::kAll; }
  void set_no_rest() noexcept { rest_ = Rest::kNone; }

  // Puts a URL that does not belong to the rest into the head; false if it is there already.
  bool insert(const QueueOrder& order, std::string_view record);
  // The first URL. The head must not be empty.
  QueueOrder front() const noexcept;
  std::string_view front_record() const noexcept;
  // Removes the first URL.
  std::string pop_front();
  // Removes a URL from the head, if it is there.
  std::optional<std::string> take(const QueueOrder& order);
  // Move the last URL of the head, or all, to the rest.
  void drop_last() noexcept;
  void drop_head() noexcept;
  // Frees the room for further URLs.
  void shrink_to_fit();

 private:
  enum class Rest : std::uint8_t { kNone, kBehind, kAll };
  // An entry: the URL's order, the size of its record, the record, and the size again, so that the
  // head can be traversed from both ends.
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
static_assert(sizeof(HostQueue) == 24, "there is one per host");

}  // namespace trawl
