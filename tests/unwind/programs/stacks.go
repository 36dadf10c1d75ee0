// As stacks.c, in Go: the runtime's own stacks, closures, maps, deep recursion, the vdso.
package main

import (
	"os"
	"sort"
	"strconv"
	"time"
)

var sink uint64

func spend() time.Duration {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		n = 60
	}
	return time.Duration(n) * time.Millisecond
}

//go:noinline
func workPlain(end time.Time) {
	for time.Now().Before(end) {
		for i := uint64(0); i < 20000; i++ {
			sink = sink*31 + i
		}
	}
}

//go:noinline
func plainMid(a, b, c int) {
	var buf [200]byte
	buf[a] = byte(b)
	workPlain(time.Now().Add(spend()))
	sink += uint64(buf[c])
}

//go:noinline
func plainTop() {
	plainMid(1, 2, 3)
	sink++
}

type backwards []int

func (b backwards) Len() int      { return len(b) }
func (b backwards) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b backwards) Less(i, j int) bool {
	return workSort(b[i], b[j])
}

//go:noinline
func workSort(a, b int) bool {
	for i := uint64(0); i < 50; i++ {
		sink = sink*31 + i
	}
	return a > b
}

//go:noinline
func sortTop() {
	end := time.Now().Add(spend())
	for time.Now().Before(end) {
		b := make(backwards, 5000)
		for i := range b {
			b[i] = i * 7919 % 5003
		}
		sort.Sort(b)
	}
}

//go:noinline
func workDeep(end time.Time) {
	for time.Now().Before(end) {
		for i := uint64(0); i < 20000; i++ {
			sink = sink*31 + i
		}
	}
}

//go:noinline
func deep(n int) int {
	if n == 1 {
		workDeep(time.Now().Add(spend()))
		return 1
	}
	return deep(n-1) + 1
}

//go:noinline
func deepTop() {
	sink += uint64(deep(1000))
}

//go:noinline
func workGoroutine(end time.Time) {
	for time.Now().Before(end) {
		for i := uint64(0); i < 20000; i++ {
			sink = sink*31 + i
		}
	}
}

func goroutine(done chan bool) {
	workGoroutine(time.Now().Add(spend()))
	done <- true
}

//go:noinline
func workMap(end time.Time) {
	m := map[string]int{}
	for time.Now().Before(end) {
		for i := 0; i < 1000; i++ {
			m[strconv.Itoa(i)] += i
		}
	}
	sink += uint64(len(m))
}

//go:noinline
func mapTop() {
	workMap(time.Now().Add(spend()))
	sink++
}

//go:noinline
func workTime(end time.Time) {
	for {
		t := time.Now()
		sink += uint64(t.Nanosecond())
		if t.After(end) {
			return
		}
	}
}

//go:noinline
func timeTop() {
	workTime(time.Now().Add(spend()))
	sink++
}

var keep [64][]byte

//go:noinline
func workAlloc(end time.Time) {
	for i := 0; time.Now().Before(end); i++ {
		keep[i%64] = make([]byte, 100+i%5000)
	}
}

//go:noinline
func allocTop() {
	workAlloc(time.Now().Add(spend()))
	sink++
}

func main() {
	plainTop()
	sortTop()
	deepTop()
	done := make(chan bool)
	go goroutine(done)
	<-done
	mapTop()
	timeTop()
	allocTop()
	if sink == 42 {
		os.Exit(1)
	}
}
