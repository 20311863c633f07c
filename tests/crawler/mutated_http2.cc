#include "mutated_http2.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "compressed.h"
#include "mutated_response.h"

namespace trawl::test {

namespace {

enum Kind : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
constexpr std::uint8_t kEndStream = 1;
constexpr std::uint8_t kAck = 1;
constexpr std::uint8_t kEndHeaders = 4;

struct Frame {
  std::uint8_t kind = kData;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload{};
  std::uint32_t claimed_more = 0;  // than the payload has
};

std::string big_endian(std::uint64_t number, std::size_t bytes) {
  std::string out;
  for (std::size_t i = bytes; i-- > 0;)
    out += static_cast<char>(number >> (8 * i));
  return out;
}

std::string bytes_of(const Frame& frame) {
  return big_endian(frame.payload.size() + frame.claimed_more, 3) + static_cast<char>(frame.kind) +
         static_cast<char>(frame.flags) + big_endian(frame.stream, 4) + frame.payload;
}

// A string as HPACK has it, without Huffman's code (RFC 7541 section 5.2).
std::string hpack_string(std::string_view text) {
  std::string out;
  std::size_t size = text.size();
  if (size < 127) {
    out += static_cast<char>(size);
  } else {
    out += '\x7f';
    for (size -= 127; size >= 128; size /= 128)
      out += static_cast<char>(size % 128 + 128);
    out += static_cast<char>(size);
  }
  return out.append(text);
}

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string hpack(Random& random, const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    // In the table from then on, or in none.
    out += one_in(random, 3) ? '\x40' : '\0';
    out += hpack_string(name) + hpack_string(value);
  }
  return out;
}

const Fields& odd_fields() {
  static const Fields kOdd = {{":status", "204"},
                              {":status", "301"},
                              {":status", "0"},
                              {":status", "99999"},
                              {":status", "abc"},
                              {":status", ""},
                              {":path", "/"},
                              {":", ""},
                              {"", ""},
                              {"", "no name"},
                              {" x", "blank"},
                              {"\tx", "tab"},
                              {"x", " \t"},
                              {"X-Upper", "case"},
                              {"x:y", "colon"},
                              {"x\r\ny", "lines"},
                              {"x", "a\r\n\tfold: b"},
                              {"x", "a\nb"},
                              {"x", std::string("a\0b", 3)},
                              {std::string("x\0", 2), "b"},
                              {"x", "\xff\xfe"},
                              {"connection", "close"},
                              {"transfer-encoding", "chunked"},
                              {"upgrade", "h2c"},
                              {"te", "gzip"},
                              {"content-length", "5"},
                              {"content-length", "0"},
                              {"content-length", "-1"},
                              {"content-length", "99999999999999999999"},
                              {"content-encoding", "gzip"},
                              {"content-encoding", "rot13"},
                              {"content-encoding", "br, gzip"},
                              {"location", "/\xff"},
                              {"refresh", "0;url=/there"},
                              {"set-cookie", "a=b; path=/"},
                              {"alt-svc", "h3=\":1\""},
                              {"x-long", std::string(20'000, 'v')},
                              {"x-long", std::string(70'000, 'v')},
                              {"x-long", std::string(140'000, 'v')},
                              {std::string(5'000, 'n'), "v"}};
  return kOdd;
}

// A head in one frame, or in several if it is too long for one.
void add_head(Random& random, std::uint32_t stream, bool last, const Fields& fields,
              std::vector<Frame>& frames) {
  std::string block = hpack(random, fields);
  std::uint8_t kind = kHeaders;
  const std::size_t most = one_in(random, 6) ? 20 : 16'000;
  do {
    const std::size_t size = std::min(block.size(), most);
    const bool all = size == block.size();
    frames.push_back({.kind = kind,
                      .flags = static_cast<std::uint8_t>(
                          (all ? kEndHeaders : 0) | (last && kind == kHeaders ? kEndStream : 0)),
                      .stream = stream,
                      .payload = block.substr(0, size)});
    block.erase(0, size);
    kind = kContinuation;
  } while (!block.empty());
}

Frame odd_frame(Random& random, std::uint32_t stream) {
  switch (up_to(random, 12)) {
    case 0:
      return {.kind = kPing, .payload = "12345678"};
    case 1:
      return {.kind = kSettings,
              .payload = big_endian(up_to(random, 8), 2) + big_endian(random(), 4)};
    case 2:
      return {.kind = kSettings, .flags = kAck};
    case 3:
      return {.kind = kGoAway,
              .payload =
                  big_endian(one_in(random, 2) ? 0 : stream, 4) + big_endian(up_to(random, 14), 4)};
    case 4:
      return {.kind = kRstStream, .stream = stream, .payload = big_endian(up_to(random, 14), 4)};
    case 5:
      return {.kind = kWindowUpdate,
              .stream = one_in(random, 2) ? 0 : stream,
              .payload = big_endian(one_in(random, 2) ? 0 : 0x7fffffff, 4)};
    case 6:
      return {.kind = kPriority, .stream = stream, .payload = big_endian(stream, 4) + '\x10'};
    case 7:
      return {.kind = kPushPromise,
              .flags = kEndHeaders,
              .stream = stream,
              .payload = big_endian(2, 4) + "\x82\x86\x84"};
    case 8:
      return {.kind = kContinuation, .flags = kEndHeaders, .stream = stream, .payload = "\x88"};
    case 9:
      return {.kind = 10, .stream = 0, .payload = big_endian(1, 2) + "xh2=\":1\""};
    case 10:
      return {.kind = static_cast<std::uint8_t>(up_to(random, 255)),
              .flags = static_cast<std::uint8_t>(up_to(random, 255)),
              .stream = stream,
              .payload = std::string(up_to(random, 300), '?')};
    case 11:
      return {.kind = kData, .stream = stream};
    default:
      return {.kind = kHeaders, .flags = kEndHeaders, .stream = stream, .payload = "\x89"};
  }
}

void mutate_frame(Random& random, std::uint32_t stream, Frame& frame) {
  switch (up_to(random, 5)) {
    case 0:
      frame.kind = static_cast<std::uint8_t>(up_to(random, 11));
      return;
    case 1:
      frame.flags ^= static_cast<std::uint8_t>(1u << up_to(random, 7));
      return;
    case 2: {
      const std::vector<std::uint32_t> kStreams = {0,          1,          2,
                                                   stream + 2, 0x7fffffff, 0x80000000 | stream};
      frame.stream = any_of(random, kStreams);
      return;
    }
    case 3:
      frame.claimed_more =
          static_cast<std::uint32_t>(up_to(random, 3) == 0 ? 0xf00000 : up_to(random, 40));
      return;
    default:
      return mutate_bytes(random, frame.payload);
  }
}

void mutate_frames(Random& random, std::uint32_t stream, std::vector<Frame>& frames) {
  const std::size_t place = up_to(random, frames.size() - 1);
  const auto at = frames.begin() + static_cast<std::ptrdiff_t>(place);
  switch (up_to(random, 5)) {
    case 0:
      if (frames.size() > 1) frames.erase(at);
      return;
    case 1:
      frames.insert(at, Frame(frames[place]));
      return;
    case 2:
      std::swap(frames[place], any_of(random, frames));
      return;
    case 3: {
      const std::size_t times = one_in(random, 12) ? 1000 : 1;
      frames.insert(at, times, odd_frame(random, stream));
      return;
    }
    default:
      return mutate_frame(random, stream, frames[place]);
  }
}

}  // namespace

std::string http2_settings() {
  return bytes_of({.kind = kSettings});
}
std::string http2_settings_ack() {
  return bytes_of({.kind = kSettings, .flags = kAck});
}

MutatedHttp2 mutated_http2(std::uint64_t seed, std::uint32_t stream, const std::string& body) {
  Random random(seed);
  const std::uint64_t wanted = seed == 0 ? 0 : up_to(random, 3) + 1;
  Fields fields = {{":status", "200"}, {"content-type", "text/html"}};
  std::string sent = body;
  if (seed != 0 && one_in(random, 3)) {
    sent = gzip(body);
    fields.emplace_back("content-encoding", "gzip");
  }
  if (one_in(random, 2)) fields.emplace_back("content-length", std::to_string(sent.size()));
  Fields trailers;
  if (seed != 0 && one_in(random, 4)) trailers = {{"x-trailer", "t"}};
  std::uint64_t frame_mutations = 0;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    if (!one_in(random, 3)) {
      ++frame_mutations;
      continue;
    }
    Fields& to = one_in(random, 5) ? trailers : fields;
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(up_to(random, to.size())),
              any_of(random, odd_fields()));
  }
  std::vector<Frame> frames;
  if (seed != 0 && one_in(random, 6))
    add_head(random, stream, false, {{":status", "103"}, {"link", "</x>"}}, frames);
  add_head(random, stream, false, fields, frames);
  for (std::size_t i = 0; i <= sent.size(); i += 16'000)
    frames.push_back({.kind = kData, .stream = stream, .payload = sent.substr(i, 16'000)});
  if (trailers.empty()) {
    frames.back().flags = kEndStream;
  } else {
    add_head(random, stream, true, trailers, frames);
  }
  for (std::uint64_t i = 0; i < frame_mutations; ++i)
    mutate_frames(random, stream, frames);

  MutatedHttp2 response;
  for (const Frame& frame : frames) {
    if (response.records.empty() || one_in(random, 3) || response.records.back().size() > 10'000)
      response.records.emplace_back();
    response.records.back() += bytes_of(frame);
  }
  using End = MutatedHttp2::End;
  const std::uint64_t end = seed == 0 ? 99 : up_to(random, 39);
  response.end = end == 0   ? End::kStall
                 : end < 5  ? End::kReset
                 : end < 20 ? End::kClose
                            : End::kKeepAlive;
  return response;
}

}  // namespace trawl::test
