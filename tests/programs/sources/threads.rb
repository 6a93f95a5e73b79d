# Threads, fibers, a child, a signal, a stack that overflows, a time-out.
require 'timeout'
p 4.times.map { |i| Thread.new { 5000.times.inject(0) { |s, k| (s * 31 + k + i) % 10007 } } }.map(&:value).sum
fiber = Fiber.new { 3.times { |i| Fiber.yield i }; :end }
p 4.times.map { fiber.resume }
read, write = IO.pipe
child = fork { write.puts "child"; exit!(3) }
Process.wait child
p $?.exitstatus, read.gets
trap("USR1") { puts "signal" }
Process.kill("USR1", $$)
sleep 0.01
def deep(n) = deep(n + 1) + 1
begin; deep(0); rescue SystemStackError; puts "stack overflow"; end
begin; Timeout.timeout(0.05) { loop {} }; rescue Timeout::Error; puts "time-out"; end
exit 4
