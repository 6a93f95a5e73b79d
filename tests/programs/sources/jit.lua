-- Traces, coroutines, a stack that overflows, callbacks from C.
local s = 0
for i = 1, 1000000 do s = (s * 31 + i) % 1000003 end
print(s)
local t = {}
for i = 1, 20000 do t[#t + 1] = tostring(i * 7) end
table.sort(t)
print(t[1], t[10000], #table.concat(t))
local values = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(i) end end)
local x = 0
for _ = 1, 1000 do x = x + values() end
print(x)
local function deep(n) return 1 + deep(n + 1) end
print((pcall(deep, 1)))
local ffi = require("ffi")
ffi.cdef[[int abs(int); void qsort(void*, size_t, size_t, int (*)(const int*, const int*));]]
local a = ffi.new("int[100]")
for i = 0, 99 do a[i] = (i * 37) % 101 end
local compare = ffi.cast("int (*)(const int*, const int*)", function(p, q) return p[0] - q[0] end)
ffi.C.qsort(a, 100, 4, compare)
print(ffi.C.abs(-4), a[0], a[99])
os.exit(5)
