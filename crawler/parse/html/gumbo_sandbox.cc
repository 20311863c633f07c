#include "crawler/parse/html/gumbo_sandbox.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/thread_time.h"

namespace trawl {
namespace {

constexpr std::size_t kAlignment = alignof(std::max_align_t);
constexpr std::size_t kFirstChunk = 64u << 10;
constexpr std::size_t kLargestChunk = 4u << 20;
constexpr std::size_t kPadding = 16;
constexpr std::uint32_t kCallsPerClockRead = 64;
constexpr std::size_t kMaxCStack = 128u << 10;

// In text, Gumbo does not call the allocator, and inside a formatting element it searches the open
// elements for each character. These are the upper bounds of its time, measured on a machine of
// 2020.
constexpr double kNsPerByte = 90;
constexpr double kNsPerByteAndDepth = 0.5;
constexpr double kLeastDepth = 16;

// The sandbox in which this thread is parsing, or null.
thread_local GumboSandbox* occupied_sandbox = nullptr;

}  // namespace

GumboSandbox::~GumboSandbox() {
  while (chunks_ != nullptr) {
    Chunk* previous = chunks_->previous;
    std::free(chunks_);
    chunks_ = previous;
  }
}

GumboSandbox::Verdict GumboSandbox::parse(std::string_view html) {
  assert(chunks_ == nullptr);
  occupied_sandbox = this;
  const Verdict verdict = parse_guarded(html);
  occupied_sandbox = nullptr;
  return verdict;
}

GumboSandbox::Verdict GumboSandbox::parse_guarded(std::string_view html) {
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = allocate_callback;
  options.deallocator = deallocate_callback;
  options.userdata = this;
  options.max_errors = 0;

  if (!set_limits(html.size())) return Verdict::kTooSlow;
  c_stack_base_ = static_cast<const char*>(__builtin_frame_address(0));

  // escape() jumps back here over Gumbo's frames. This is safe: they are C frames without
  // destructors, Gumbo has no global state, and all its memory is in the arena, which outlives the
  // jump. Between Gumbo and this frame there are only the callbacks below, which have no local
  // objects. The incomplete tree is never used.
  if (setjmp(exit_) != 0) return verdict_;

  // Gumbo reads one byte past the end of its input after a final "&amp" in an attribute.
  char* padded = static_cast<char*>(allocate(html.size() + kPadding));
  std::memcpy(padded, html.data(), html.size());
  std::memset(padded + html.size(), 0, kPadding);
  source_ = {padded, html.size()};
  document_ = gumbo_parse_with_options(&options, padded, html.size())->document;
  return verdict_;
}

// Gumbo can be stopped only when it calls the allocator, so the time that it may take without a
// call is subtracted in advance: large pages get less depth, larger ones less time. Returns false
// if no time is left.
bool GumboSandbox::set_limits(std::size_t size) {
  const auto max_ns = static_cast<double>(std::chrono::nanoseconds(limits_.max_time).count());
  const double at_most = max_ns * 6 / 7;
  const double at_no_cost = max_ns * 3 / 7;
  const auto bytes = static_cast<double>(std::max<std::size_t>(size, 1));
  // Halved, since the stack of open elements may exceed its limit twofold.
  const double depth = (at_most / bytes - kNsPerByte) / kNsPerByteAndDepth / 2;
  if (depth < kLeastDepth) return false;
  depth_limit_ = static_cast<std::size_t>(std::min(depth, static_cast<double>(limits_.max_depth)));
  const double unwatched =
      bytes * (kNsPerByte + 2 * kNsPerByteAndDepth * static_cast<double>(depth_limit_));
  deadline_ = thread_time().count() +
              static_cast<std::int64_t>(max_ns - std::max(0.0, unwatched - at_no_cost));
  return true;
}

void GumboSandbox::escape_failed_assertion() {
  if (occupied_sandbox != nullptr) occupied_sandbox->escape(Verdict::kBroken);
}

void GumboSandbox::escape(Verdict why) {
  verdict_ = why;
  std::longjmp(exit_, 1);
}

void* GumboSandbox::allocate_callback(void* sandbox, std::size_t size) {
  return static_cast<GumboSandbox*>(sandbox)->allocate(size);
}

void GumboSandbox::deallocate_callback(void* sandbox, void* block) {
  if (block != nullptr) static_cast<GumboSandbox*>(sandbox)->deallocate(block);
}

void* GumboSandbox::allocate(std::size_t size) {
  if (++calls_ % kCallsPerClockRead == 0) check_time();
  if (size > limits_.max_memory) escape(Verdict::kTooMuchMemory);
  // At least two words, so that is_stack_of_open_elements() may read any block.
  const std::size_t rounded = std::max((size + kAlignment - 1) / kAlignment * kAlignment,
                                       std::max(kAlignment, 2 * sizeof(void*)));
  if (static_cast<std::size_t>(free_end_ - free_) < rounded) add_chunk(rounded);
  last_block_ = free_;
  last_size_ = size;
  free_ += rounded;
  return last_block_;
}

// Only the newest block is really freed; others stay until the sandbox is destroyed. Most of
// Gumbo's scratch strings are freed in reverse order.
void GumboSandbox::deallocate(void* block) {
  check_c_stack(__builtin_frame_address(0));
  // A vector grows by allocating a block of twice the size, copying, and then freeing the full one.
  const std::size_t entries = last_size_ / 2 / sizeof(void*);
  if (entries >= depth_limit_ && is_stack_of_open_elements(block)) escape(Verdict::kTooDeep);
  last_size_ = 0;
  if (block == last_block_) {
    free_ = last_block_;
    last_block_ = nullptr;
  }
}

void GumboSandbox::add_chunk(std::size_t at_least) {
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

void GumboSandbox::check_time() {
  if (thread_time().count() > deadline_) escape(Verdict::kTooSlow);
}

// <frameset> makes Gumbo free the body recursively, with two calls of deallocate() per level.
void GumboSandbox::check_c_stack(const void* frame) {
  const auto used =
      reinterpret_cast<std::uintptr_t>(c_stack_base_) - reinterpret_cast<std::uintptr_t>(frame);
  if (used > kMaxCStack) escape(Verdict::kTooDeep);
}

// Whether the full vector `block` holds open elements: whether its second entry is a child of its
// first. That is so for the stack of open elements (<html> and <body>) and for a long list of
// nested formatting elements, but not for children of one parent, attributes and text.
bool GumboSandbox::is_stack_of_open_elements(const void* block) const {
  const GumboNode* entries[2];
  // Otherwise this is the end of the page, where the stack is freed after another large block.
  if (last_block_ == nullptr || std::memcmp(last_block_, block, sizeof(entries)) != 0) return false;
  std::memcpy(entries, block, sizeof(entries));
  return owns(entries[0], sizeof(GumboNode)) && owns(entries[1], sizeof(GumboNode)) &&
         entries[1]->parent == entries[0];
}

bool GumboSandbox::owns(const void* address, std::size_t size) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % alignof(GumboNode) != 0) return false;
  for (const Chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->previous) {
    const auto start = reinterpret_cast<std::uintptr_t>(chunk + 1);
    if (at >= start && at - start <= chunk->size && chunk->size - (at - start) >= size) return true;
  }
  return false;
}

}  // namespace trawl

// Replaces the C library's function, which does not return. Visible, so that Gumbo's shared library
// finds it in the program; libtrawl.so has a Gumbo of its own, which is linked to it.
extern "C" [[gnu::visibility("default")]] void __assert_fail(const char* assertion,
                                                             const char* file, unsigned int line,
                                                             const char* function) noexcept {
  trawl::GumboSandbox::escape_failed_assertion();
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line,
               function != nullptr ? function : "?", assertion);
  std::abort();
}
