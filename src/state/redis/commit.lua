-- One commit: everything is judged before anything is written, so that nothing is ever half done.
--
-- KEYS: the mark, one of each expectation, two of each count (sums, ends), one of each delete, one of each put.
-- ARGV: epoch, commits, now; then how many there are of each kind, each followed by its arguments.
-- Answer: {0, commits} done; {1, place, value} an expectation does not hold; {2, place} a bound would be passed;
-- {3, id, fence, origin, commits, lost} the store is not the one that is asked for.

local k, a = 0, 0
local function key() k = k + 1 return KEYS[k] end
local function arg() a = a + 1 return ARGV[a] end
local function number() return tonumber(arg()) end

local mark = key()
local epoch, commits, now = arg(), number(), arg()
local is = redis.call('HMGET', mark, 'id', 'fence', 'origin', 'n', 'lost')
if is[1] ~= epoch or is[5] or tonumber(is[4] or 0) < commits then
  if is[1] == epoch and not is[5] then
    redis.call('HSET', mark, 'lost', '1')
    is[5] = '1'
  end
  return {3, is[1], is[2], is[3], is[4], is[5]}
end

-- An entry is its end, 8 bytes big-endian, and its value.
for place = 1, number() do
  local held, wanted = redis.call('GET', key()), arg()
  local value = held and struct.unpack('>I8', held) > tonumber(now) and string.sub(held, 9)
  local holds
  if wanted == '-' then holds = not value else holds = value == string.sub(wanted, 2) end
  if not holds then return {1, place - 1, value} end
end

-- A count is a hash of sums by end, their total as `t`, and a sorted set of the ends.
local function passed(sums, ends)
  local gone, sum = redis.call('ZRANGEBYSCORE', ends, '-inf', now), 0
  for _, stop in ipairs(gone) do sum = sum + tonumber(redis.call('HGET', sums, stop) or 0) end
  return gone, sum
end

local counts, more = {}, {}
for place = 1, number() do
  local count = {sums = key(), ends = key(), add = number(), stop = arg(), max = number(), keep = number()}
  local _, gone = passed(count.sums, count.ends)
  local total = tonumber(redis.call('HGET', count.sums, 't') or 0) - gone + (more[count.sums] or 0) + count.add
  if count.add > 0 and total > count.max then return {2, place - 1} end
  more[count.sums] = (more[count.sums] or 0) + count.add
  counts[place] = count
end

-- The first write is one that a server without memory refuses; what follows it is never refused half way.
commits = redis.call('HINCRBY', mark, 'n', 1)

-- What has ended already counts no more.
local function write(count)
  local left = redis.call('PTTL', count.sums)
  local gone, sum = passed(count.sums, count.ends)
  for _, stop in ipairs(gone) do
    redis.call('HDEL', count.sums, stop)
    redis.call('ZREM', count.ends, stop)
  end
  local before = tonumber(redis.call('HGET', count.sums, count.stop) or 0)
  local after = math.max(0, before + count.add)
  local total = tonumber(redis.call('HGET', count.sums, 't') or 0) - sum + after - before
  if after > 0 then
    redis.call('HSET', count.sums, count.stop, after)
    redis.call('ZADD', count.ends, count.stop, count.stop)
  else
    redis.call('HDEL', count.sums, count.stop)
    redis.call('ZREM', count.ends, count.stop)
  end
  redis.call('HSET', count.sums, 't', math.max(0, total))
  -- -2: it was not there; -1: it stays for ever; else it stays this long.
  if count.keep == 0 then
    redis.call('PERSIST', count.sums)
    redis.call('PERSIST', count.ends)
  elseif left ~= -1 then
    local keep = math.max(left, count.keep)
    redis.call('PEXPIRE', count.sums, keep)
    redis.call('PEXPIRE', count.ends, keep)
  end
end

for _, count in ipairs(counts) do
  if tonumber(count.stop) > tonumber(now) then write(count) end
end

for _ = 1, number() do redis.call('DEL', key()) end

for _ = 1, number() do
  local name, keep, entry = key(), arg(), arg()
  if keep == '0' then
    redis.call('SET', name, entry)
  else
    redis.call('SET', name, entry, 'PX', keep)
  end
end

return {0, commits}
