-- The mark of the store: made when there is none, or when an operator asks for a new one.
--
-- KEYS: the mark. ARGV: format, id, fence, origin. Answer: {3, id, fence, origin, commits, lost, format}.

if ARGV[4] == 'reset' or redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'id', ARGV[2], 'fence', ARGV[3], 'origin', ARGV[4])
  redis.call('HSETNX', KEYS[1], 'format', ARGV[1])
  redis.call('HSETNX', KEYS[1], 'n', '0')
  redis.call('HDEL', KEYS[1], 'lost')
end
local is = redis.call('HMGET', KEYS[1], 'id', 'fence', 'origin', 'n', 'lost', 'format')
return {3, is[1], is[2], is[3], is[4], is[5], is[6]}
