// DEL, EXISTS, TYPE, KEYS, SCAN, DBSIZE, FLUSHALL
#include <vector>

#include "crawler/resp/command_arguments.h"
#include "crawler/resp/command_handlers.h"
#include "crawler/resp/glob_match.h"

namespace trawl::resp {

namespace {

// The names that RedisBloom's types have.
constexpr std::string_view kBloomType = "MBbloom--";
constexpr std::string_view kCuckooType = "MBbloomCF";

std::string_view type_of(const ServedFilter& filter) {
  return filter.is_cuckoo() ? kCuckooType : kBloomType;
}

// As Redis, SCAN takes a type in any case.
bool is_type(std::string_view word, const ServedFilter& filter) {
  return equal_in_any_case(word, type_of(filter));
}

// Bytes of a pattern that a command may look at, in all names together: a second or less.
constexpr std::uint64_t kMostWork = 300'000'000;

// Replies with an error, and returns false, if the pattern is too long for any name.
bool check_pattern(CommandCall& call, std::string_view pattern) {
  if (pattern.size() <= kLongestName) return true;
  call.reply.error(fmt::format("ERR a pattern has at most {} bytes", kLongestName));
  return false;
}

struct ScanOptions {
  std::uint64_t from = 0;
  std::string_view pattern = "*";
  std::string_view type;
  std::uint64_t count = 10;
};

// Returns false after an error reply.
bool read_scan_options(CommandCall& call, ScanOptions& options) {
  const Request& request = call.request;
  const auto cursor = parse_number<std::uint64_t>(request[1]);
  if (!cursor) {
    call.reply.error("ERR invalid cursor");
    return false;
  }
  options.from = *cursor;
  for (std::size_t i = 2; i < request.size(); i += 2) {
    const bool last = i + 1 == request.size();
    if (!last && is_word(request[i], "MATCH")) {
      options.pattern = request[i + 1];
      if (!check_pattern(call, options.pattern)) return false;
    } else if (!last && is_word(request[i], "TYPE")) {
      options.type = request[i + 1];
    } else if (!last && is_word(request[i], "COUNT")) {
      const auto count = parse_number<std::int64_t>(request[i + 1]);
      if (!count || *count < 1) {
        call.reply.error(count ? kSyntaxError : kNotInteger);
        return false;
      }
      options.count = static_cast<std::uint64_t>(*count);
    } else {
      call.reply.error(kSyntaxError);
      return false;
    }
  }
  return true;
}

}  // namespace

void KeyCommands::del(CommandCall& call) {
  std::vector<ServedFilter*> filters;
  for (std::size_t i = 1; i < call.request.size(); ++i) {
    ServedFilter* const filter = call.store.find(call.request[i]);
    if (filter == nullptr || std::ranges::find(filters, filter) != filters.end()) continue;
    if (call.store.is_file(*filter)) {
      return call.reply.error(
          "READONLY the filter is a file in the server's directory: stop the server, and remove it "
          "there");
    }
    filters.push_back(filter);
  }
  for (ServedFilter* filter : filters)
    call.store.drop(*filter);
  call.reply.integer(std::uint64_t{filters.size()});
}

void KeyCommands::exists(CommandCall& call) {
  std::uint64_t found = 0;
  for (std::size_t i = 1; i < call.request.size(); ++i)
    found += call.store.find(call.request[i]) != nullptr ? 1 : 0;
  call.reply.integer(found);
}

void KeyCommands::type(CommandCall& call) {
  const ServedFilter* const filter = call.store.find(call.request[1]);
  call.reply.simple(filter == nullptr ? "none" : type_of(*filter));
}

void KeyCommands::keys(CommandCall& call) {
  if (!check_pattern(call, call.request[1])) return;
  std::vector<const std::string*> names;
  std::uint64_t work = 0;
  for (const auto& [number, filter] : call.store.all()) {
    if (glob_match(call.request[1], filter->name(), work)) names.push_back(&filter->name());
    if (work > kMostWork)
      return call.reply.error("ERR the pattern takes too long for so many names: use SCAN");
  }
  call.reply.array(names.size());
  for (const std::string* name : names)
    call.reply.bulk(*name);
}

// The cursor is the number of the filter to go on with: numbers are never used again, so that a
// filter that is there all the time is returned once.
void KeyCommands::scan(CommandCall& call) {
  ScanOptions options;
  if (!read_scan_options(call, options)) return;
  std::vector<const std::string*> names;
  std::uint64_t next = 0;
  std::uint64_t looked_at = 0;
  std::uint64_t work = 0;
  const auto& all = call.store.all();
  for (auto at = all.lower_bound(options.from); at != all.end(); ++at) {
    if (looked_at++ == options.count || work > kMostWork) {
      next = at->first;
      break;
    }
    const ServedFilter& filter = *at->second;
    if ((options.type.empty() || is_type(options.type, filter)) &&
        glob_match(options.pattern, filter.name(), work)) {
      names.push_back(&filter.name());
    }
  }
  call.reply.array(2);
  call.reply.bulk(std::to_string(next));
  call.reply.array(names.size());
  for (const std::string* name : names)
    call.reply.bulk(*name);
}

void KeyCommands::dbsize(CommandCall& call) {
  call.reply.integer(std::uint64_t{call.store.size()});
}

void KeyCommands::flushall(CommandCall& call) {
  if (call.request.size() > 2 || (call.request.size() == 2 && !is_word(call.request[1], "ASYNC") &&
                                  !is_word(call.request[1], "SYNC"))) {
    return call.reply.error(kSyntaxError);
  }
  std::vector<ServedFilter*> filters;
  for (const auto& [number, filter] : call.store.all())
    if (!call.store.is_file(*filter)) filters.push_back(filter.get());
  for (ServedFilter* filter : filters)
    call.store.drop(*filter);
  call.reply.simple("OK");
}

}  // namespace trawl::resp
