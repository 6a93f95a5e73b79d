-- Loops that a tracing compiler compiles: numbers, tables, strings, calls of closures. Argument: rounds.
local rounds = tonumber(arg[1]) or 1

local function sieve(limit)
  local composite, primes = {}, 0
  for i = 2, limit do
    if not composite[i] then
      primes = primes + 1
      for k = i * i, limit, i do composite[k] = true end
    end
  end
  return primes
end

local function points(count)
  local x, y, inside = 1, 1, 0
  for _ = 1, count do
    x = (x * 16807) % 2147483647
    y = (y * 48271) % 2147483647
    local u, v = x / 2147483647, y / 2147483647
    if u * u + v * v < 1 then inside = inside + 1 end
  end
  return inside
end

local function words(count)
  local seen, different = {}, 0
  for i = 1, count do
    local word = ("w" .. (i * 7919) % 997):upper()
    if not seen[word] then different = different + 1 end
    seen[word] = (seen[word] or 0) + #word
  end
  return different + seen.W1
end

local function tree(depth)
  if depth == 0 then return {} end
  return {tree(depth - 1), tree(depth - 1)}
end

local function leaves(node) return node[1] and leaves(node[1]) + leaves(node[2]) or 1 end

local function fold(count, step)
  local sum = 0
  for i = 1, count do sum = step(sum, i) end
  return sum
end

local steps = {
  function(sum, i) return (sum + i * 3) % 1000003 end,
  function(sum, i) return (sum * 31 + i) % 1000003 end,
  function(sum, i) return i % 2 == 0 and sum + 1 or sum end,
}

local total = 0
for round = 1, rounds do
  total = total + sieve(20000 + round) + points(100000) + words(5000) + leaves(tree(10))
  total = (total + fold(50000, steps[round % 3 + 1])) % 1000000007
end
print(total)
