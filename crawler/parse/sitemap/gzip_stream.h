// GzipStream: unpacks gzip as it comes in; passes other bytes through.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace trawl {

// Tells gzip by its magic bytes. Members that follow one another are one stream; what follows the
// last member and is none is left out, as gzip(1) does.
class GzipStream {
 public:
  enum class State { kUndecided, kPlain, kMember, kBetweenMembers, kTrailer, kDamaged };

  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // Takes bytes from the front of `input` and appends what they unpack to, `room` bytes at most
  // (at least 1), to `output`. Call until `input` is empty and nothing was appended.
  void read(std::string_view& input, std::size_t room, std::string& output);
  // The end of the input: what was held back to tell gzip by, if it was not gzip.
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
  std::string held_;  // bytes that may be the magic, not yet given to anyone
  std::unique_ptr<z_stream_s> stream_;
  bool stream_ready_ = false;
};

}  // namespace trawl
