// Keeps the runtime's own stacks busy: the collector and its workers, the scheduler, stacks that
// grow. Work on a goroutine's stack has a known chain; what runs on a system stack must end at
// its root, or lead to the goroutine that went there.
package main

import (
	"os"
	"strconv"
	"time"
)

type cell struct {
	next  *cell
	other *cell
	value [4]int
}

var sink int

//go:noinline
func workList(end time.Time) {
	for time.Now().Before(end) {
		var list, old *cell
		for i := 0; i < 100000; i++ {
			list = &cell{next: list, other: old}
			if i%7 == 0 {
				old = list
			}
		}
		for at := list; at != nil; at = at.next {
			sink += at.value[1]
		}
	}
}

func listBody(end time.Time, done chan bool) {
	workList(end)
	done <- true
}

//go:noinline
func workGrown() int {
	n := 0
	for i := 0; i < 20000; i++ {
		n = n*31 + i
	}
	return n
}

//go:noinline
func grow(n int) int {
	var room [300]byte
	if n == 1 {
		return workGrown()
	}
	room[n] = byte(n)
	return grow(n-1) + int(room[n/2])
}

func growBody(done chan bool) {
	sink += grow(40)
	done <- true
}

func startGrowing(end time.Time, done chan bool) {
	for time.Now().Before(end) {
		grown := make(chan bool)
		go growBody(grown)
		<-grown
	}
	done <- true
}

func ping(end time.Time, to, from chan int, done chan bool) {
	for i := 0; time.Now().Before(end); i++ {
		to <- i
		<-from
	}
	close(to)
	done <- true
}

func pong(from, to chan int) {
	for i := range from {
		to <- i
	}
}

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		n = 200
	}
	end := time.Now().Add(10 * time.Duration(n) * time.Millisecond)
	done := make(chan bool)
	a, b := make(chan int), make(chan int)
	go listBody(end, done)
	go startGrowing(end, done)
	go ping(end, a, b, done)
	go pong(a, b)
	for i := 0; i < 3; i++ {
		<-done
	}
	if sink == 42 {
		os.Exit(1)
	}
}
