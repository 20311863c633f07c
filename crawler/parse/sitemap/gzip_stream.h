// GzipStream: decompresses gzip incrementally; passes other bytes through.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace trawl {

// Detects gzip by its magic bytes. Consecutive members are one stream; garbage after the last
// member is ignored, as in gzip(1).
class GzipStream {
 public:
  enum class State { kUndecided, kPlain, kMember, kBetweenMembers, kTrailer, kDamaged };

  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // Takes bytes from the front of `input` and appends at most `room` (at least 1) decompressed
  // bytes to `output`. Call until `input` is empty and nothing was appended.
  void read(std::string_view& input, std::size_t room, std::string& output);
  // Ends the input. Returns bytes held back to detect gzip, if it was not gzip.
  std::string_view finish();

  bool is_gzip() const noexcept { return state_ != State::kUndecided && state_ != State::kPlain; }
  bool damaged() const noexcept { return state_ == State::kDamaged; }
  // True if the input ended within a member. Call after finish().
  bool truncated() const noexcept { return state_ == State::kMember; }

 private:
  void gather_magic(std::string_view& input);
  void start_member();
  void inflate_some(std::string_view& input, std::size_t room, std::string& output);

  State state_ = State::kUndecided;
  std::string held_;  // bytes that may be the magic, not yet passed on
  std::unique_ptr<z_stream_s> stream_;
  bool stream_ready_ = false;
};

}  // namespace trawl
