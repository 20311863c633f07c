#include "crawler/resp/request_parser.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace trawl::resp {
namespace {

using Outcome = RequestParser::Outcome;
using Words = std::vector<std::string>;

Words words_of(const Request& request) {
  Words words;
  for (std::size_t i = 0; i < request.size(); ++i)
    words.emplace_back(request[i]);
  return words;
}

// The requests in `stream`, which arrives in pieces that end at the places in `cuts`; the last
// outcome in `end`.
std::vector<Words> parse_in_pieces(std::string_view stream, const std::vector<std::size_t>& cuts,
                                   Outcome& end) {
  std::vector<Words> requests;
  RequestParser parser({});
  std::string buffer;
  std::size_t at = 0;
  std::vector<std::size_t> ends = cuts;
  ends.push_back(stream.size());
  for (const std::size_t piece_end : ends) {
    buffer += stream.substr(at, piece_end - at);
    at = piece_end;
    for (;;) {
      end = parser.parse(buffer);
      if (end == Outcome::kHttp || end == Outcome::kError) return requests;
      if (end == Outcome::kIncomplete) break;
      requests.push_back(words_of(parser.request()));
      buffer.erase(0, parser.consumed());
      parser.next();
    }
  }
  return requests;
}

constexpr std::string_view kStream =
    "*3\r\n$6\r\nBF.ADD\r\n$4\r\nseen\r\n$5\r\na\r\nbc\r\nPING\r\n\r\n*0\r\n"
    "*2\r\n$4\r\nECHO\r\n$0\r\n\r\nbf.exists seen 'x \\' y' \"\\x41\\n\"\n*1\r\n$4\r\nPING\r\n";
const std::vector<Words> kRequests{
    {"BF.ADD", "seen", "a\r\nbc"},         {"PING"}, {}, {}, {"ECHO", ""},
    {"bf.exists", "seen", "x ' y", "A\n"}, {"PING"}};

TEST(RequestParser, CutsRequestsOutOfAStream) {
  Outcome end{};
  EXPECT_EQ(parse_in_pieces(kStream, {}, end), kRequests);
  EXPECT_EQ(end, Outcome::kIncomplete);
}

TEST(RequestParser, AnswersAreTheSameWhereverTheStreamIsCut) {
  for (std::size_t first = 0; first <= kStream.size(); ++first) {
    for (std::size_t second = first; second <= kStream.size(); ++second) {
      Outcome end{};
      ASSERT_EQ(parse_in_pieces(kStream, {first, second}, end), kRequests)
          << "cut at " << first << " and " << second;
    }
  }
}

TEST(RequestParser, AnswersAreTheSameByteAfterByte) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < kStream.size(); ++i)
    cuts.push_back(i);
  Outcome end{};
  EXPECT_EQ(parse_in_pieces(kStream, cuts, end), kRequests);
}

// The error for a stream, whole and byte after byte.
std::string error_of(std::string_view stream, const RequestLimits& limits = {}) {
  RequestParser whole(limits);
  if (whole.parse(stream) != Outcome::kError) return "none";
  RequestParser slow(limits);
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    if (slow.parse(stream.substr(0, size)) != Outcome::kError) continue;
    EXPECT_EQ(slow.error(), whole.error()) << size;
    return whole.error();
  }
  return "only as a whole";
}

TEST(RequestParser, HostileLengthsAreErrorsThatSayWhy) {
  const std::string p = "ERR Protocol error: ";
  EXPECT_EQ(error_of("*-1\r\n"), p + "invalid multibulk length (-1)");
  EXPECT_EQ(error_of("*x\r\n"), p + "invalid multibulk length");
  EXPECT_EQ(error_of("*\r\n"), p + "invalid multibulk length");
  EXPECT_EQ(error_of("*+1\r\n"), p + "invalid multibulk length");
  EXPECT_EQ(error_of("*1\n$4\r\n"), p + "invalid multibulk length");
  EXPECT_EQ(error_of("*1048577\r\n"), p + "invalid multibulk length (1048577: a request has at "
                                          "most 1048576 arguments)");
  EXPECT_EQ(error_of("*99999999999999999999\r\n"), p + "too big mbulk count string");
  EXPECT_EQ(error_of("*" + std::string(70'000, '1')), p + "too big mbulk count string");
  EXPECT_EQ(error_of("*1\r\n$-1\r\n"), p + "invalid bulk length (-1)");
  EXPECT_EQ(error_of("*1\r\n$-9223372036854775808\r\n"), p + "too big bulk count string");
  EXPECT_EQ(error_of("*1\r\n$1e3\r\n"), p + "invalid bulk length");
  EXPECT_EQ(error_of("*1\r\n$536870912\r\n"),
            p + "invalid bulk length (536870912 bytes: an argument has at most 1048576, see "
                "--max-argument)");
  EXPECT_EQ(error_of("*1\r\n:1\r\n"), p + "expected '$', got ':'");
  EXPECT_EQ(error_of("*1\r\n\x1b\r\n"), p + "expected '$', got '\\u001b'");
  EXPECT_EQ(error_of("*1\r\n$4\r\nPINGxx"), p + "an argument does not end where its length says");
  EXPECT_EQ(error_of("PING \"x\r\n"), p + "unbalanced quotes in request");
  EXPECT_EQ(error_of("PING \"x\"y\r\n"), p + "unbalanced quotes in request");
  EXPECT_EQ(error_of(std::string(70'000, 'x')), p + "too big inline request");
}

TEST(RequestParser, AllOfARequestIsLimited) {
  const RequestLimits limits{.argument = 100, .arguments = 1000, .request = 1000};
  std::string request = "*20\r\n";
  for (int i = 0; i < 20; ++i)
    request += "$100\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_EQ(error_of(request, limits), "ERR Protocol error: a request has at most 1000 bytes");
}

TEST(RequestParser, WithoutThePasswordLittleIsTaken) {
  RequestParser parser({});
  parser.set_restricted(true);
  EXPECT_EQ(parser.parse("*11\r\n"), Outcome::kError);
  EXPECT_EQ(parser.error(), "ERR Protocol error: unauthenticated multibulk length");
  RequestParser other({});
  other.set_restricted(true);
  EXPECT_EQ(other.parse("*2\r\n$16385\r\n"), Outcome::kError);
  EXPECT_EQ(other.error(), "ERR Protocol error: unauthenticated bulk length");
}

TEST(RequestParser, HttpIsNoticed) {
  for (const std::string_view line :
       {"GET / HTTP/1.1\r\n", "POST /x HTTP/1.0\r\n", "Host: localhost:6379\r\n",
        "PRI * HTTP/2.0\r\n", "Content-Length: 5\r\n"}) {
    RequestParser parser({});
    EXPECT_EQ(parser.parse(line), Outcome::kHttp) << line;
  }
  RequestParser parser({});
  EXPECT_EQ(parser.parse("*2\r\n$3\r\nGET\r\n$1\r\nx\r\n"), Outcome::kRequest)
      << "a command that there is not";
}

}  // namespace
}  // namespace trawl::resp
