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
// a script that admits URLs begins with a write that needs memory, and is refused whole; the others
// begin with one that frees some, and go through: owners keep their buckets and pages end.
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
redis.call('LINDEX', p, 0)
redis.call('LRANGE', p, 0, 0)
redis.call('LREM', p, 1, 'y')
redis.call('LPOP', p)
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
  // scores and deferred URLs added; deferred URLs removed; fingerprints and values set aside
  // (empty: removed); ids of commands taken; for each queue: sequences ended, records added. A
  // message is popped only while its id is the one that was read: after a failover others may be at
  // the head. A batch that was applied is written again in part, so that WAIT waits for it. The
  // third element of OK is the number of URLs that ended but were not in their queue.
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
local at = 8
local function count()
  at = at + 1
  return tonumber(ARGV[at - 1])
end
local function each(size, call)
  local n = count()
  for i = 1, n do
    call(ARGV[at], ARGV[at + 1])
    at = at + size
  end
end
local function look(call, k, size)
  local n = tonumber(ARGV[at])
  if n > 0 then redis.call(call, KEYS[k]) end
  at = at + 1 + size * n
end
if ARGV[7] ~= '' then redis.call('LLEN', KEYS[2]) end
look('LLEN', 3, 1)
look('HLEN', 4, 2)
look('ZCARD', 5, 2)
look('ZCARD', 5, 1)
look('HLEN', 6, 2)
look('LLEN', 7, 1)
for k = 8, #KEYS do redis.call('LLEN', KEYS[k]) end
at = 8
if ARGV[7] ~= '' then
  redis.call('RPUSH', KEYS[2], ARGV[7])
else
  redis.call('HDEL', KEYS[1], '')
end
local popping = true
each(1, function(id)
  if not popping then return end
  local head = redis.call('LINDEX', KEYS[3], 0)
  popping = head and string.sub(head, 1, 16) == id
  if popping then redis.call('LPOP', KEYS[3]) end
end)
each(2, function(host, value)
  if value == '' then redis.call('HDEL', KEYS[4], host) else redis.call('HSET', KEYS[4], host, value) end
end)
each(2, function(score, url) redis.call('ZADD', KEYS[5], score, url) end)
each(1, function(url) redis.call('ZREM', KEYS[5], url) end)
each(2, function(url, value)
  if value == '' then redis.call('HDEL', KEYS[6], url) else redis.call('HSET', KEYS[6], url, value) end
end)
if ARGV[at] == '0' then
  at = at + 1
else
  local waiting, ids = redis.call('LRANGE', KEYS[7], 0, -1), ''
  each(1, function(id)
    ids = ids .. id
    for i, command in ipairs(waiting) do
      if string.sub(command, 1, 16) == id then redis.call('LREM', KEYS[7], 1, command) end
    end
  end)
  local before = redis.call('HGET', KEYS[1], 'x') or ''
  redis.call('HSET', KEYS[1], 'x', string.sub(before .. ids, -1024))
end
local missing = 0
for k = 8, #KEYS do
  local key = KEYS[k]
  each(1, function(sequence)
    local from = 0
    repeat
      local part = redis.call('LRANGE', key, from, from + (from == 0 and 0 or 63))
      for i, url in ipairs(part) do
        if string.sub(url, 1, 8) == sequence then
          if from == 0 then redis.call('LPOP', key) else redis.call('LREM', key, 1, url) end
          return
        end
      end
      from = from + #part
    until #part == 0
    missing = missing + 1
  end)
  local added = count()
  while added > 0 do
    local part = math.min(added, 500)
    redis.call('RPUSH', key, unpack(ARGV, at, at + part - 1))
    at, added = at + part, added - part
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
