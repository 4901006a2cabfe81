// Package guest is what a controller needs to be a guest of ABI rust_v1alpha1: requests, delays and typed watches, in tasks that simply
// wait for the host.
//
// The host enters the guest only through the exported functions below, and each must return once the guest is stalled. Go has no way to
// say that, so tasks are goroutines of which exactly one runs at a time: a task that waits hands control back, and the exported function
// returns when no task can go on. Hence tasks share data without locks, and must not wait for anything but this package's functions:
// time.Sleep would hold up the host's thread, and a channel would end the program as a deadlock.
package guest

import (
	"fmt"
	"time"
	"unsafe"
)

//go:wasmimport http-proxy-abi request
func abiRequest(pointer unsafe.Pointer, length uint32) uint64

//go:wasmimport delay-abi delay
func abiDelay(milliseconds uint64) uint64

//go:wasmimport kube-watch-abi watch
func abiWatch(pointer unsafe.Pointer, length uint32) uint64

// inbox holds what has come for an operation and was not taken yet.
type inbox struct {
	values [][]byte
	// isOver says that the last value has come.
	isOver bool
	// isAbandoned says that further values are dropped.
	isAbandoned bool
	// waiting is true while a task waits for resume.
	waiting bool
	resume  chan struct{}
}

var (
	inboxes = map[uint64]*inbox{}
	// ready are the steps by which tasks go on, each until it waits again.
	ready []func()
	// stalled is sent to by the task that runs, when it waits or ends.
	stalled = make(chan struct{})
	// written is the memory that the host was given for values, kept from the garbage collector until the value is delivered.
	written = map[uint32][]byte{}
	start   func()
)

// Main sets the function that the host starts the guest with. It is called from an init function: nobody calls main.
func Main(task func()) { start = task }

// Go starts a task, which runs as soon as all others wait.
func Go(task func()) {
	ready = append(ready, func() {
		go func() {
			task()
			stalled <- struct{}{}
		}()
	})
}

// Sleep lets other tasks run for that time.
func Sleep(duration time.Duration) {
	id := abiDelay(uint64(max(duration, 0) / time.Millisecond))
	take(id)
	abandon(id)
}

// take waits for the next value of an operation; nil if a delay is over or a watch has ended.
func take(id uint64) []byte {
	box := boxOf(id)
	if len(box.values) == 0 && !box.isOver {
		box.waiting = true
		stalled <- struct{}{}
		<-box.resume
	}
	if len(box.values) == 0 {
		return nil
	}
	value := box.values[0]
	box.values = box.values[1:]
	return value
}

// boxOf returns the inbox of an operation, which the host has just begun or which is under way.
func boxOf(id uint64) *inbox {
	box := inboxes[id]
	if box == nil {
		box = &inbox{resume: make(chan struct{})}
		inboxes[id] = box
	}
	return box
}

// abandon ends the interest in an operation. It does not end a watch in the host, but nothing more is heard of it.
func abandon(id uint64) {
	box := boxOf(id)
	box.values, box.isAbandoned = nil, true
	if box.isOver {
		delete(inboxes, id)
	}
}

func runUntilStalled() {
	for len(ready) > 0 {
		step := ready[0]
		ready = ready[1:]
		step()
		<-stalled
	}
}

func deliver(id uint64, value []byte, isLast bool) {
	box := inboxes[id]
	if box == nil || box.isOver {
		panic(fmt.Sprintf("a wake-up of operation %d, which was never asked for, or is over", id))
	}
	box.isOver = isLast
	switch {
	case box.isAbandoned && isLast:
		delete(inboxes, id)
	case !box.isAbandoned:
		if value != nil {
			box.values = append(box.values, value)
		}
		if box.waiting {
			box.waiting = false
			ready = append(ready, func() { box.resume <- struct{}{} })
		}
	}
	runUntilStalled()
}

// value takes over the memory that the host wrote a value to; pointer 0 is no value.
func value(pointer, length uint32) []byte {
	if pointer == 0 {
		return nil
	}
	bytes, isOurs := written[pointer]
	if !isOurs {
		panic("a value in memory that was not allocated for it")
	}
	delete(written, pointer)
	return bytes[:length]
}

//go:wasmexport run
func run() {
	Go(start)
	runUntilStalled()
}

//go:wasmexport allocate
func allocate(size uint32) uint32 {
	// A slice without elements would have no address of its own.
	bytes := make([]byte, max(size, 1))
	pointer := uint32(uintptr(unsafe.Pointer(&bytes[0])))
	written[pointer] = bytes
	return pointer
}

//go:wasmexport wakeup_future
func wakeupFuture(id uint64, pointer, length uint32) {
	deliver(id, value(pointer, length), true)
}

//go:wasmexport wakeup_stream
func wakeupStream(id uint64, pointer, length uint32) {
	deliver(id, value(pointer, length), pointer == 0)
}
