// GumboSandbox: runs Gumbo safely on hostile pages.
//
// Gumbo's tree construction is quadratic in several ways (open elements, formatting elements,
// attributes of a tag, siblings searched when elements are moved). It frees trees by recursion and
// has no limit on memory. But it calls its allocator between any two expensive steps, so the limits
// are enforced there: the arena checks memory, processor time, the depth of the stack of open
// elements and the size of the C stack, and leaves Gumbo with longjmp() if one is exceeded.
//
// Some pages make Gumbo's assertions fail, and Debian's build has assertions on. gumbo_sandbox.cc
// therefore defines __assert_fail(), which replaces the C library's in programs that link it:
// inside the sandbox it gives up the page, elsewhere it does the same as the library's.
#pragma once

#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <gumbo.h>

namespace trawl {

class GumboSandbox {
 public:
  struct Limits {
    std::size_t max_depth;   // open elements; up to twice as many may pass
    std::size_t max_memory;  // bytes of the tree and of building it
    // Processor time of this thread. Gumbo cannot be stopped within text, which takes up to 90 ns
    // per byte, more in deep pages. So large pages (over 1 MB at 700 ms) get a smaller depth limit,
    // and very large ones (over 5.6 MB) are refused as too slow. Any page takes at most 10/7 of
    // this time.
    std::chrono::milliseconds max_time;
  };
  enum class Verdict : std::uint8_t {
    kParsed,
    kTooMuchMemory,
    kTooDeep,
    kTooSlow,
    kBroken,  // an assertion in Gumbo failed
  };

  explicit GumboSandbox(const Limits& limits) : limits_(limits) {}
  ~GumboSandbox();
  GumboSandbox(const GumboSandbox&) = delete;
  GumboSandbox& operator=(const GumboSandbox&) = delete;

  // Parses a page of any bytes. Call once per sandbox. If it returns kParsed, document() is the
  // tree, valid as long as the sandbox.
  Verdict parse(std::string_view html);
  const GumboNode* document() const noexcept { return document_; }
  // The copy of the page that the tree's source views point into.
  std::string_view source() const noexcept { return source_; }

  // If this thread is inside parse(), leaves it with kBroken; otherwise does nothing.
  static void escape_failed_assertion();

  std::size_t memory_used() const noexcept { return reserved_; }

 private:
  struct Chunk {
    Chunk* previous;
    std::size_t size;  // of the memory after this header
  };

  static void* allocate_callback(void* sandbox, std::size_t size);
  static void deallocate_callback(void* sandbox, void* block);
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
  std::size_t last_size_ =
      0;  // size of the block allocated by the previous call, 0 if that call freed one

  std::uint32_t calls_ = 0;
  std::int64_t deadline_ = 0;  // nanoseconds of this thread's processor time
  const char* c_stack_base_ = nullptr;
  Verdict verdict_ = Verdict::kParsed;
  std::jmp_buf exit_;
};

}  // namespace trawl
