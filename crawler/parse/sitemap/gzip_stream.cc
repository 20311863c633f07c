#include "crawler/parse/sitemap/gzip_stream.h"

#include <algorithm>
#include <array>
#include <climits>

#include <zlib.h>

namespace trawl {
namespace {

constexpr std::string_view kMagic = "\x1f\x8b";
constexpr int kGzipOnly = MAX_WBITS + 16;

}  // namespace

GzipStream::GzipStream() = default;

GzipStream::~GzipStream() {
  if (stream_ready_) inflateEnd(stream_.get());
}

void GzipStream::read(std::string_view& input, std::size_t room, std::string& output) {
  if (state_ == State::kUndecided || state_ == State::kBetweenMembers) gather_magic(input);
  switch (state_) {
    case State::kUndecided:
    case State::kBetweenMembers:
      return;
    case State::kPlain: {
      std::string_view held(held_);
      for (std::string_view* source : {&held, &input}) {
        const std::size_t taken = std::min(room, source->size());
        output.append(source->substr(0, taken));
        source->remove_prefix(taken);
        room -= taken;
      }
      held_.erase(0, held_.size() - held.size());
      return;
    }
    case State::kMember:
      inflate_some(input, room, output);
      return;
    case State::kTrailer:
    case State::kDamaged:
      input = {};
      return;
  }
}

std::string_view GzipStream::finish() {
  if (state_ != State::kUndecided) return {};
  state_ = State::kPlain;
  return held_;
}

void GzipStream::gather_magic(std::string_view& input) {
  while (held_.size() < kMagic.size() && !input.empty()) {
    held_ += input.front();
    input.remove_prefix(1);
    if (held_ == kMagic) {
      start_member();
    } else if (!kMagic.starts_with(held_)) {
      state_ = state_ == State::kUndecided ? State::kPlain : State::kTrailer;
      return;
    }
  }
}

void GzipStream::start_member() {
  if (!stream_ready_) {
    stream_ = std::make_unique<z_stream>();
    stream_ready_ = inflateInit2(stream_.get(), kGzipOnly) == Z_OK;
  } else {
    inflateReset(stream_.get());
  }
  state_ = stream_ready_ ? State::kMember : State::kDamaged;
}

void GzipStream::inflate_some(std::string_view& input, std::size_t room, std::string& output) {
  // The magic bytes, held back to detect the format, belong to the member.
  std::string_view held(held_);
  std::string_view& source = held.empty() ? input : held;
  std::array<char, 16u << 10> buffer;
  room = std::min(room, buffer.size());
  const std::size_t offered = std::min<std::size_t>(source.size(), UINT_MAX);
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(source.data()));
  stream_->avail_in = static_cast<uInt>(offered);
  stream_->next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream_->avail_out = static_cast<uInt>(room);
  const int status = inflate(stream_.get(), Z_NO_FLUSH);
  source.remove_prefix(offered - stream_->avail_in);
  output.append(buffer.data(), room - stream_->avail_out);
  held_.erase(0, held_.size() - held.size());
  if (status == Z_STREAM_END) {
    state_ = State::kBetweenMembers;
    held_.clear();
  } else if (status != Z_OK && status != Z_BUF_ERROR) {
    state_ = State::kDamaged;
    input = {};
  }
}

}  // namespace trawl
