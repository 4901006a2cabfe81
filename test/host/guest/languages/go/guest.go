// A guest in Go for the tests: it echoes what it is woken with, and does what it is told to by a watch's values.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"
)

//go:wasmimport delay-abi delay
func delay(milliseconds uint64) uint64

//go:wasmimport http-proxy-abi request
func request(pointer unsafe.Pointer, length uint32) uint64

//go:wasmimport kube-watch-abi watch
func watch(pointer unsafe.Pointer, length uint32) uint64

// given holds the values that the host has room for, so that they are not collected.
var given = map[uint32][]byte{}
var seen []string
var big [][]byte

func text(value string) []byte {
	return append([]byte{byte(len(value)), 0, 0, 0, 0, 0, 0, 0}, value...)
}

//go:wasmexport allocate
func allocate(size uint32) uint32 {
	bytes := make([]byte, size)
	address := uint32(uintptr(unsafe.Pointer(&bytes[0])))
	given[address] = bytes
	return address
}

//go:wasmexport run
func run() {
	fmt.Println("started", os.Args[0], os.Getenv("NAMESPACE"), time.Now().UTC().Format(time.RFC3339Nano))
	var bytes []byte
	for _, value := range []string{"v1", "", "Pod", "v1"} {
		bytes = append(bytes, text(value)...)
	}
	bytes = append(bytes, 0)
	bytes = append(bytes, text("0")...)
	bytes = append(bytes, 0, 0, 0, 1)
	watch(unsafe.Pointer(&bytes[0]), uint32(len(bytes)))

	bytes = append(append(text("POST"), text("/api?")...), make([]byte, 8)...)
	bytes = append(bytes, text("body")...)
	request(unsafe.Pointer(&bytes[0]), uint32(len(bytes)))
	delay(1 << 40)
}

func take(pointer, length uint32) string {
	value := string(given[pointer][:length])
	delete(given, pointer)
	return value
}

//go:wasmexport wakeup_future
func wakeupFuture(id uint64, pointer, length uint32) {
	if pointer == 0 {
		fmt.Println("waited", id)
		return
	}
	fmt.Println("response", id, hex.EncodeToString([]byte(take(pointer, length))))
}

//go:wasmexport wakeup_stream
func wakeupStream(id uint64, pointer, length uint32) {
	if pointer == 0 {
		fmt.Println("ended", id)
		return
	}
	value := take(pointer, length)
	switch value {
	case "panic":
		panic("as told")
	case "exit":
		os.Exit(7)
	case "sleep":
		time.Sleep(time.Second)
	case "eat":
		for {
			big = append(big, make([]byte, 1<<20))
		}
	case "collect":
		for round := 0; round < 200; round++ {
			_ = fmt.Sprint(make([]byte, 1<<16)[:10])
		}
		runtime.GC()
	case "random":
		bytes := make([]byte, 8)
		_, err := rand.Read(bytes)
		fmt.Println(hex.EncodeToString(bytes), err)
		return
	case "files":
		_, err := os.ReadFile("/etc/passwd")
		fmt.Println(err)
		return
	case "spawn":
		done := make(chan string)
		go func() { done <- "from another goroutine" }()
		value = <-done
	}
	seen = append(seen, value)
	fmt.Println("seen", id, seen)
}

func main() {}
