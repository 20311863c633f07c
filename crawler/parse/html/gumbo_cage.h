// GumboCage: Gumbo, made safe to run on hostile pages.
//
// Gumbo's tree construction is quadratic in several ways (open elements, formatting elements,
// attributes of a tag, siblings searched when elements are moved), it frees trees by recursion,
// and it knows no limit on memory. All it does between two expensive steps is call its allocator,
// so that is where the bars are: an arena that also watches memory, processor time, the depth of
// the stack of open elements and of the C stack, and leaves Gumbo for good when one goes too far.
//
// Some pages make its assertions fail, and Debian's build has them on. gumbo_cage.cc therefore
// defines __assert_fail(), which programs that link it then use instead of the C library's: inside
// the cage it gives up the page, anywhere else it does what the library's does.
#pragma once

#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <gumbo.h>

namespace trawl {

class GumboCage {
 public:
  struct Limits {
    std::size_t max_depth;   // open elements; exceeding it up to twofold may pass
    std::size_t max_memory;  // bytes of the tree and all that was needed to build it
    // Processor time of this thread. Gumbo cannot be stopped in text, which takes it up to 90 ns a
    // byte, more in deep pages. So large pages may be less deep (at 700 ms those over 1 MB), and
    // even larger ones (over 5.6 MB) are refused at once as too slow. Whatever the page, it takes
    // no more than 10/7 of this.
    std::chrono::milliseconds max_time;
  };
  enum class Verdict : std::uint8_t {
    kParsed,
    kTooMuchMemory,
    kTooDeep,
    kTooSlow,
    kBroken,  // an assertion of Gumbo's own failed
  };

  explicit GumboCage(const Limits& limits) : limits_(limits) {}
  ~GumboCage();
  GumboCage(const GumboCage&) = delete;
  GumboCage& operator=(const GumboCage&) = delete;

  // Parses a page, any bytes, once in the life of a cage. If it returns kParsed, document() is the
  // tree, valid as long as the cage.
  Verdict parse(std::string_view html);
  const GumboNode* document() const noexcept { return document_; }
  // The copy of the page that the tree's views of the source are of.
  std::string_view source() const noexcept { return source_; }

  // If this thread is inside parse(), leaves it with kBroken; otherwise does nothing.
  static void escape_failed_assertion();

  std::size_t memory_used() const noexcept { return reserved_; }

 private:
  struct Chunk {
    Chunk* previous;
    std::size_t size;  // of the memory behind this header
  };

  static void* allocate_callback(void* cage, std::size_t size);
  static void deallocate_callback(void* cage, void* block);
  void* allocate(std::size_t size);
  void deallocate(void* block);
  void add_chunk(std::size_t at_least);
  void check_time();
  void check_c_stack(const void* frame);
  bool is_stack_of_open_elements(const void* block) const;
  bool owns(const void* address, std::size_t size) const;
  [[noreturn]] void escape(Verdict why);
  Verdict parse_guarded(std::string_view html);
  bool set_limits(std::size_t size);

  const Limits limits_;
  std::size_t depth_limit_ = 0;
  const GumboNode* document_ = nullptr;
  std::string_view source_;

  Chunk* chunks_ = nullptr;
  char* free_ = nullptr;  // the unused rest of the newest chunk
  char* free_end_ = nullptr;
  char* last_block_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t last_size_ = 0;  // of the block allocated by the previous call, 0 if it freed one

  std::uint32_t calls_ = 0;
  std::int64_t deadline_ = 0;  // nanoseconds of this thread's processor time
  const char* c_stack_base_ = nullptr;
  Verdict verdict_ = Verdict::kParsed;
  std::jmp_buf exit_;
};

}  // namespace trawl
