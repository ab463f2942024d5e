-- Entries, with the same question about the store as a commit asks, at the same moment.
--
-- KEYS: the mark, then one of each entry. ARGV: epoch, commits.
-- Answer: {0, commits, entry...} or {3, ...} as a commit has it.

local is = redis.call('HMGET', KEYS[1], 'id', 'fence', 'origin', 'n', 'lost')
if is[1] ~= ARGV[1] or is[5] or tonumber(is[4] or 0) < tonumber(ARGV[2]) then
  return {3, is[1], is[2], is[3], is[4], is[5]}
end
local answer = {0, tonumber(is[4] or 0)}
for place = 2, #KEYS do answer[place + 1] = redis.call('GET', KEYS[place]) end
return answer
