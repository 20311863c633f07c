// BucketScripts: what is executed next to the data of a bucket, each script as a whole or not at
// all.
#pragma once

#include "frontier/redis/redis_command.h"

namespace trawl {

// The protocol is that of tests/cluster/protocol_model.h. Fields of the key `m`: `t` token of the
// owner, empty without one; `x` ids of the last commands taken; `r` name of the last claim or
// renewal, never used twice; `v` number of the last batch; `c`, `q`, `open`, `s` as in BucketMeta.
//
// Each answers with an array whose first element is a word: OK; FENCED, the caller is not the
// owner; DONE, the batch was applied before; BEHIND, earlier batches are missing; the second
// element of these but FENCED is the number of the last batch. DAMAGED, a field is not a number,
// with its name. FOREIGN, a key has another type, with the key, that type, and the one expected.
//
// Redis refuses commands that need memory when it is full, in a script only as the first write. So
// a script that admits URLs begins with a write that needs memory, and is refused whole, unless it
// takes away more than it adds; that and the others begin with a write that frees some, and go
// through: owners keep their buckets and pages end.
//
// An error in the middle would leave a part of the changes. So a claim looks at the types of the
// keys, and tries all commands that batches use; and each batch reads every key that it changes
// before its first write, by a command that fails if the type is another one.
struct BucketScripts {
  // KEYS m, i, h, d, e, x, p. ARGV token seen, renewal seen, new token.
  // A claim that was executed but not answered may be sent again; it must not set `r` again then,
  // whose names would come back.
  RedisScript claim{R"lua(
local types = {'hash', 'list', 'hash', 'zset', 'hash', 'list'}
for k = 1, 6 do
  local is = redis.call('TYPE', KEYS[k]).ok
  if is ~= 'none' and is ~= types[k] then return {'FOREIGN', KEYS[k], is, types[k]} end
end
local m = redis.call('HMGET', KEYS[1], 't', 'r', 'v', 'c', 'q', 'open', 's')
for k, name in pairs({[3] = 'v', [5] = 'q', [6] = 'open', [7] = 's'}) do
  if not tonumber(m[k] or '0') then return {'DAMAGED', name} end
end
if m[1] ~= ARGV[3] and ((m[1] or '') ~= ARGV[1] or (m[2] or '') ~= ARGV[2]) then return {'FENCED'} end
local p = KEYS[7]
redis.call('HDEL', KEYS[1], '')
redis.call('DEL', p)
redis.call('RPUSH', p, 'x', 'y')
redis.call('LLEN', p)
redis.call('LRANGE', p, 0, 0)
redis.call('LREM', p, 1, 'y')
redis.call('LPOP', p, 1)
redis.call('HSET', p, 'x', '')
redis.call('HLEN', p)
redis.call('HDEL', p, 'x')
redis.call('ZADD', p, 0, 'x')
redis.call('ZCARD', p)
redis.call('ZREM', p, 'x')
if m[1] ~= ARGV[3] then redis.call('HSET', KEYS[1], 'r', ARGV[3]) end
redis.call('HSET', KEYS[1], 't', ARGV[3])
return {'OK', m[3] or '0', m[4] or '', m[5] or '0', m[6] or '0', m[7] or '0'}
)lua"};
  // KEYS m. ARGV token, name of this renewal.
  RedisScript renew{R"lua(
local m = redis.call('HMGET', KEYS[1], 't', 'v')
if m[1] ~= ARGV[1] then return {'FENCED'} end
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], 'r', ARGV[2])
return {'OK', m[2] or '0'}
)lua"};
  // KEYS m. ARGV token.
  RedisScript release{R"lua(
local m = redis.call('HMGET', KEYS[1], 't', 'v')
if m[1] ~= ARGV[1] then return {'FENCED'} end
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], 't', '')
return {'OK', m[2] or '0'}
)lua"};
  // KEYS m, f<s>, i, h, d, e, x, queues. ARGV token, number, then c, q, open, s, fingerprints, and
  // lists that begin with their sizes: ids of messages taken; hosts and values (empty: removed);
  // scores and deferred URLs added; deferred URLs removed; URLs set aside and noted depths, fields
  // and values (empty: removed); ids of commands taken; for each queue: sequences ended, records
  // added. A message is popped only while its id is the one that was read: after a failover others
  // may be at the head. A batch that was applied is written again in part, so that WAIT waits for
  // it. The third element of OK is the number of URLs that ended but were not in their queue.
  RedisScript apply{R"lua(
local m = redis.call('HMGET', KEYS[1], 't', 'v')
if m[1] ~= ARGV[1] then return {'FENCED'} end
local v, n = tonumber(m[2] or '0'), tonumber(ARGV[2])
if not v then return {'DAMAGED', 'v'} end
if n <= v then
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSET', KEYS[1], 'v', v)
  return {'DONE', tostring(v)}
end
if n ~= v + 1 then return {'BEHIND', tostring(v)} end
-- What is there: nothing was written if this fails.
local at = 8
local function list(size)
  local from, n = at + 1, tonumber(ARGV[at])
  at = from + size * n
  return from, n
end
local function look(call, key, n)
  if n > 0 then redis.call(call, key) end
end
local function heads(key, n)
  return n > 0 and redis.call('LRANGE', key, 0, n - 1) or {}
end
if ARGV[7] ~= '' then redis.call('LLEN', KEYS[2]) end
local message, messages = list(1)
local inbox = heads(KEYS[3], messages)
local host, hosts = list(2)
look('HLEN', KEYS[4], hosts)
local deferred, deferrals = list(2)
local ready, readies = list(1)
look('ZCARD', KEYS[5], deferrals + readies)
local aside, asides = list(2)
look('HLEN', KEYS[6], asides)
local command, commands = list(1)
local waiting = commands > 0 and redis.call('LRANGE', KEYS[7], 0, -1)
local queues, leave = {}, messages + readies
for k = 8, #KEYS do
  local ended, ends = list(1)
  leave = leave + ends
  local added, adds = list(1)
  if ends == 0 then redis.call('LLEN', KEYS[k]) end
  queues[k] = {ended, ends, added, adds, heads(KEYS[k], ends)}
end
-- How many at the head begin with the names that follow each other from ARGV[from] on; popped.
local function pop(key, present, from, n)
  local size, k = #ARGV[from], 0
  while k < n and present[k + 1] and string.sub(present[k + 1], 1, size) == ARGV[from + k] do
    k = k + 1
  end
  if k > 0 then redis.call('LPOP', key, k) end
  return k
end
-- Whether what is taken away is longer than what is added.
local function shrinks()
  local bytes = -#ARGV[7]
  for _, one in ipairs(inbox) do bytes = bytes + #one end
  for i = deferred, deferred + 2 * deferrals - 1 do bytes = bytes - #ARGV[i] end
  for i = ready, ready + readies - 1 do bytes = bytes + #ARGV[i] end
  for i = aside, aside + 2 * asides - 1 do bytes = bytes - #ARGV[i] end
  for k = 8, #KEYS do
    local _, _, added, adds, present = unpack(queues[k])
    for _, url in ipairs(present) do bytes = bytes + #url end
    for i = added, added + adds - 1 do bytes = bytes - #ARGV[i] end
  end
  return bytes > 0
end
local admits = ARGV[7] ~= ''
if not admits or (leave > 0 and shrinks()) then redis.call('HDEL', KEYS[1], '') end
if admits then redis.call('RPUSH', KEYS[2], ARGV[7]) end
if messages > 0 then pop(KEYS[3], inbox, message, messages) end
for i = host, host + 2 * hosts - 1, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[4], ARGV[i])
  else
    redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1])
  end
end
for i = deferred, deferred + 2 * deferrals - 1, 2 do
  redis.call('ZADD', KEYS[5], ARGV[i], ARGV[i + 1])
end
for i = ready, ready + readies - 1 do redis.call('ZREM', KEYS[5], ARGV[i]) end
for i = aside, aside + 2 * asides - 1, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[6], ARGV[i])
  else
    redis.call('HSET', KEYS[6], ARGV[i], ARGV[i + 1])
  end
end
if commands > 0 then
  local ids = redis.call('HGET', KEYS[1], 'x') or ''
  for i = command, command + commands - 1 do
    ids = ids .. ARGV[i]
    for k, one in ipairs(waiting) do
      if string.sub(one, 1, 16) == ARGV[i] then redis.call('LREM', KEYS[7], 1, one) end
    end
  end
  redis.call('HSET', KEYS[1], 'x', string.sub(ids, -1024))
end
-- Takes a URL out, wherever it is in its queue.
local function take(key, sequence)
  local from = 0
  repeat
    local part = redis.call('LRANGE', key, from, from + 63)
    for i, url in ipairs(part) do
      if string.sub(url, 1, 8) == sequence then
        redis.call('LREM', key, 1, url)
        return 0
      end
    end
    from = from + #part
  until #part == 0
  return 1
end
local missing = 0
for k = 8, #KEYS do
  local key, ended, ends, added, adds, present = KEYS[k], unpack(queues[k])
  if ends > 0 then
    for i = ended + pop(key, present, ended, ends), ended + ends - 1 do
      missing = missing + take(key, ARGV[i])
    end
  end
  for i = added, added + adds - 1, 500 do
    redis.call('RPUSH', key, unpack(ARGV, i, math.min(i + 499, added + adds - 1)))
  end
end
redis.call('HSET', KEYS[1], 'v', n, 'c', ARGV[3], 'q', ARGV[4], 'open', ARGV[5], 's', ARGV[6])
return {'OK', tostring(n), tostring(missing)}
)lua"};
  // KEYS m, x. ARGV command. A command that waits, or is one of the last 64 that were taken, is not
  // added again.
  RedisScript push_command{R"lua(
local id, known = string.sub(ARGV[1], 1, 16), false
local taken = redis.call('HGET', KEYS[1], 'x') or ''
for at = 1, #taken, 16 do known = known or string.sub(taken, at, at + 15) == id end
for i, command in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  known = known or string.sub(command, 1, 16) == id
end
redis.call('HDEL', KEYS[1], '')
if known then
  redis.call('HSET', KEYS[1], 'x', taken)
  return {'DONE', '0'}
end
redis.call('RPUSH', KEYS[2], ARGV[1])
return {'OK', '0'}
)lua"};
  // KEYS i or x, w. ARGV element. Also for an element without an id, which no batch can take. The
  // last 100 are kept. Not fenced: no owner could read it.
  RedisScript set_apart{R"lua(
redis.call('LLEN', KEYS[2])
if redis.call('LREM', KEYS[1], 1, ARGV[1]) == 0 then return {'DONE', '0'} end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], -100, -1)
return {'OK', '0'}
)lua"};
  // KEYS mem. ARGV name, record, length of its beginning that is the same in all records of its
  // session, record that it may replace.
  RedisScript beat{R"lua(
local old, size = redis.call('HGET', KEYS[1], ARGV[1]), tonumber(ARGV[3])
local is_own = not old or string.sub(old, 1, size) == string.sub(ARGV[2], 1, size)
if not is_own and old ~= ARGV[4] then return {'FENCED'} end
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return {'OK', '0'}
)lua"};
  // KEYS mem. ARGV name, record.
  RedisScript remove_member{R"lua(
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return {'FENCED'} end
redis.call('HDEL', KEYS[1], ARGV[1])
return {'OK', '0'}
)lua"};
};

}  // namespace trawl
