#include "crawler/parse/gumbo_cage.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <time.h>

namespace trawl {
namespace {

constexpr std::size_t kAlignment = alignof(std::max_align_t);
constexpr std::size_t kFirstChunk = 64u << 10;
constexpr std::size_t kLargestChunk = 4u << 20;
constexpr std::size_t kPadding = 16;
constexpr std::uint32_t kCallsPerClockRead = 64;
constexpr std::size_t kMaxCStack = 128u << 10;

// Gumbo looks through the open elements once for each character of text inside a formatting
// element, and calls nobody while it does. So large pages may be less deep than small ones.
constexpr std::size_t kMaxTextSteps = 2'000'000'000;

std::int64_t thread_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The cage in which this thread is parsing.
thread_local GumboCage* occupied_cage = nullptr;

}  // namespace

GumboCage::~GumboCage() {
  while (chunks_ != nullptr) {
    Chunk* previous = chunks_->previous;
    std::free(chunks_);
    chunks_ = previous;
  }
}

GumboCage::Verdict GumboCage::parse(std::string_view html) {
  assert(chunks_ == nullptr);
  occupied_cage = this;
  const Verdict verdict = parse_guarded(html);
  occupied_cage = nullptr;
  return verdict;
}

GumboCage::Verdict GumboCage::parse_guarded(std::string_view html) {
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = allocate_callback;
  options.deallocator = deallocate_callback;
  options.userdata = this;
  options.max_errors = 0;

  depth_limit_ = std::min(limits_.max_depth, kMaxTextSteps / std::max<std::size_t>(html.size(), 1));
  deadline_ = thread_time_ns() + std::chrono::nanoseconds(limits_.max_time).count();
  c_stack_base_ = static_cast<const char*>(__builtin_frame_address(0));

  // escape() jumps back here over Gumbo's frames. They are C: nothing in them needs unwinding,
  // Gumbo keeps no global state, and all it allocated is in the arena, which outlives the jump.
  // Between Gumbo and this frame lie only the callbacks below, without any local object. Gumbo's
  // half-built tree is never looked at again.
  if (setjmp(exit_) != 0) return verdict_;

  // Gumbo reads past the end of its input, by one byte after a final "&amp" in an attribute.
  char* padded = static_cast<char*>(allocate(html.size() + kPadding));
  std::memcpy(padded, html.data(), html.size());
  std::memset(padded + html.size(), 0, kPadding);
  document_ = gumbo_parse_with_options(&options, padded, html.size())->document;
  return verdict_;
}

void GumboCage::escape_failed_assertion() {
  if (occupied_cage != nullptr) occupied_cage->escape(Verdict::kBroken);
}

void GumboCage::escape(Verdict why) {
  verdict_ = why;
  std::longjmp(exit_, 1);
}

void* GumboCage::allocate_callback(void* cage, std::size_t size) {
  return static_cast<GumboCage*>(cage)->allocate(size);
}

void GumboCage::deallocate_callback(void* cage, void* block) {
  if (block != nullptr) static_cast<GumboCage*>(cage)->deallocate(block);
}

void* GumboCage::allocate(std::size_t size) {
  if (++calls_ % kCallsPerClockRead == 0) check_time();
  if (size > limits_.max_memory) escape(Verdict::kTooMuchMemory);
  // At least two words, so that is_stack_of_open_elements() may look at any block.
  const std::size_t rounded = std::max((size + kAlignment - 1) / kAlignment * kAlignment,
                                       std::max(kAlignment, 2 * sizeof(void*)));
  if (static_cast<std::size_t>(free_end_ - free_) < rounded) add_chunk(rounded);
  last_block_ = free_;
  last_size_ = size;
  free_ += rounded;
  return last_block_;
}

// Blocks stay until the cage goes, but for the newest: most of Gumbo's scratch strings are freed
// in the reverse order of their making.
void GumboCage::deallocate(void* block) {
  check_c_stack(__builtin_frame_address(0));
  // A vector grows by allocating a block of twice the size and then freeing the full one.
  const std::size_t entries = last_size_ / 2 / sizeof(void*);
  if (entries >= depth_limit_ && is_stack_of_open_elements(block)) escape(Verdict::kTooDeep);
  last_size_ = 0;
  if (block == last_block_) {
    free_ = last_block_;
    last_block_ = nullptr;
  }
}

void GumboCage::add_chunk(std::size_t at_least) {
  const std::size_t doubled = chunks_ == nullptr ? kFirstChunk : 2 * chunks_->size;
  const std::size_t size = std::max(at_least, std::min(doubled, kLargestChunk));
  if (size > limits_.max_memory - reserved_) escape(Verdict::kTooMuchMemory);
  constexpr std::size_t kHeader = (sizeof(Chunk) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::malloc(kHeader + size);
  if (memory == nullptr) escape(Verdict::kTooMuchMemory);
  chunks_ = new (memory) Chunk{chunks_, size};
  free_ = static_cast<char*>(memory) + kHeader;
  free_end_ = free_ + size;
  reserved_ += size;
}

void GumboCage::check_time() {
  if (thread_time_ns() > deadline_) escape(Verdict::kTooSlow);
}

// <frameset> makes Gumbo free the body, by recursion: two calls of ours for each level.
void GumboCage::check_c_stack(const void* frame) {
  const auto used =
      reinterpret_cast<std::uintptr_t>(c_stack_base_) - reinterpret_cast<std::uintptr_t>(frame);
  if (used > kMaxCStack) escape(Verdict::kTooDeep);
}

// Whether the full vector `block` holds open elements, as far as that matters: its second entry is
// a child of its first. So it is in the stack of open elements (<html> and <body>) and in a long
// list of nested formatting elements; children of one parent, attributes and text are not so.
bool GumboCage::is_stack_of_open_elements(const void* block) const {
  const GumboNode* entries[2];
  std::memcpy(entries, block, sizeof(entries));
  return owns(entries[0], sizeof(GumboNode)) && owns(entries[1], sizeof(GumboNode)) &&
         entries[1]->parent == entries[0];
}

bool GumboCage::owns(const void* address, std::size_t size) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % alignof(GumboNode) != 0) return false;
  for (const Chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->previous) {
    const auto start = reinterpret_cast<std::uintptr_t>(chunk + 1);
    if (at >= start && at - start <= chunk->size && chunk->size - (at - start) >= size) return true;
  }
  return false;
}

}  // namespace trawl

// As the C library declares it; it does not return.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned int line,
                              const char* function) noexcept {
  trawl::GumboCage::escape_failed_assertion();
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line,
               function != nullptr ? function : "?", assertion);
  std::abort();
}
