#include "frontier/shared/address_turns.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "frontier/shared/redis_values.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kMostAllowance{1000};

// KEYS address. ARGV milliseconds. 0: it is taken now; else how long it is taken, or -1 if the key
// does not expire.
const RedisScript& turn_script() {
  static const RedisScript script{R"lua(
if redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then return 0 end
local left = redis.call('PTTL', KEYS[1])
if left == 0 then return 1 end
return left
)lua"};
  return script;
}

}  // namespace

std::vector<Result<AddressTurns::Turn>> AddressTurns::take(std::span<const Request> requests) {
  const milliseconds allowance = allowance_;
  std::vector<RedisCommand> commands;
  for (const Request& request : requests) {
    const std::string key = keys_.address(request.address);
    commands.push_back(RedisCommand(turn_script(), std::span(&key, 1)));
    // A turn that was not answered is lost: repeated, it would find itself.
    commands.back().arg((request.delay + allowance).count()).once();
  }
  const BootTime sent = clock_();
  auto answers = client_.run(commands, {.wait = true, .patience = patience_});
  const auto took = std::chrono::ceil<milliseconds>(clock_() - sent);
  if (took > allowance) allowance_ = std::min(std::max(2 * took, allowance_), kMostAllowance);
  std::vector<Result<Turn>> turns;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool replicated = answers[i].replicated;
    auto reply = checked_reply(client_, commands[i], std::move(answers[i]));
    if (!reply) {
      turns.push_back(tl::unexpected(reply.error()));
    } else if (!reply->is_integer() || reply->integer < 0) {
      turns.push_back(
          tl::unexpected(foreign_key(commands[i].key(), "key that stays", "turn of an address")));
    } else if (reply->integer > 0) {
      turns.push_back(Turn{.wait = milliseconds(reply->integer)});
    } else if (!replicated || took >= allowance) {
      turns.push_back(Turn{.wait = requests[i].delay + allowance});
    } else {
      turns.push_back(Turn{.now = true, .start_by = sent + allowance});
    }
  }
  return turns;
}

}  // namespace trawl
