// Goroutines on four threads: pre-empted asynchronously by signals, blocked, collected; a fault becomes a panic.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func main() {
	runtime.GOMAXPROCS(4)
	var group sync.WaitGroup
	var lock sync.Mutex
	results := map[int]int{}
	channel := make(chan int, 10)
	for i := 0; i < 200; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			x := fibonacci(10 + i%8)
			lock.Lock()
			results[i] = x
			lock.Unlock()
			channel <- x
			time.Sleep(time.Microsecond)
		}(i)
	}
	sum := make(chan int)
	go func() {
		s := 0
		for x := range channel {
			s += x
		}
		sum <- s
	}()
	var stop int32
	go func() { // a loop without calls
		for n := 0; atomic.LoadInt32(&stop) == 0; n++ {
		}
	}()
	group.Wait()
	close(channel)
	s := <-sum
	runtime.GC()
	atomic.StoreInt32(&stop, 1)
	defer func() { fmt.Println("recovered", recover() != nil, s, len(results)) }()
	var nothing *int
	fmt.Println(*nothing)
}
