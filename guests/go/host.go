//go:build wasip1

// Package host lets a program that was written for a process of its own run as a guest of ABI rust_v1alpha1, with its goroutines, timers and
// HTTP clients: controller-runtime's manager, for one.
//
// The host enters the guest through the exported functions below, and each must return once nothing can go on. They let all other goroutines
// run until every one waits, and ask the host to wake the guest when the next timer is due. So goroutines may wait for whatever they like,
// except for WASI: there are no sockets and no files, and reading standard input holds up the host's thread.
//
// Build with Go 1.26, GOOS=wasip1 GOARCH=wasm, -buildmode=c-shared and -ldflags=-checklinkname=0: Go has no public way to ask when the
// next timer is due.
package host

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"time"
	"unsafe"
)

//go:wasmimport http-proxy-abi request
func abiRequest(pointer unsafe.Pointer, length uint32) uint64

//go:wasmimport delay-abi delay
func abiDelay(milliseconds uint64) uint64

//go:wasmimport kube-watch-abi watch
func abiWatch(pointer unsafe.Pointer, length uint32) uint64

// nextTimer is when the next timer is due, by nanotime.
//
//go:linkname nextTimer runtime.timeSleepUntil
func nextTimer() int64

//go:linkname nanotime runtime.nanotime
func nanotime() int64

var (
	start func() error
	// waiting has the goroutines that wait for operations. The last value of an operation closes its channel.
	waiting = map[uint64]*inbox{}
	// alarms has the delays under way, and the timers for which they were asked for, by nanotime.
	alarms   = map[uint64]int64{}
	runnable = []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	// written is the memory that the host was given for values, kept from the garbage collector until the value is delivered.
	written = map[uint32][]byte{}
)

// Main sets what the host starts the guest with. Call it from an init function: nobody calls main. An error ends the guest, which the host
// starts again after a pause.
func Main(program func() error) { start = program }

// settle lets goroutines run until all of them wait.
func settle() {
	for {
		runtime.Gosched()
		if metrics.Read(runnable); runnable[0].Value.Uint64() == 0 {
			break
		}
	}
	next := nextTimer()
	if next == math.MaxInt64 {
		return
	}
	for _, due := range alarms {
		if due <= next {
			return
		}
	}
	// A millisecond later rather than earlier. If the timer is not due then, by the guest's clock, it is asked for again.
	pause := time.Duration(max(next-nanotime(), 0))
	alarms[abiDelay(uint64(pause/time.Millisecond)+1)] = next
}

// inbox has the values of an operation that were not taken yet.
type inbox struct {
	values [][]byte
	isOver bool
	// changed has one element if something has come since it was last looked at.
	changed chan struct{}
}

func inboxOf(id uint64) *inbox {
	box := &inbox{changed: make(chan struct{}, 1)}
	waiting[id] = box
	return box
}

func deliver(id uint64, value []byte, isLast bool) {
	if box := waiting[id]; box != nil {
		if value != nil {
			box.values = append(box.values, value)
		}
		if isLast {
			box.end(id)
		}
		box.wake()
	}
	settle()
}

// end says that nothing more comes, or is wanted.
func (b *inbox) end(id uint64) {
	b.isOver = true
	delete(waiting, id)
}

func (b *inbox) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// take waits for the next value; nil if there are no more.
func (b *inbox) take(ctx context.Context) ([]byte, error) {
	for len(b.values) == 0 && !b.isOver {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.changed:
		}
	}
	if len(b.values) == 0 {
		return nil, nil
	}
	value := b.values[0]
	b.values = b.values[1:]
	return value, nil
}

// value takes over the memory that the host wrote a value to; pointer 0 is no value.
func value(pointer, length uint32) []byte {
	if pointer == 0 {
		return nil
	}
	bytes := written[pointer]
	delete(written, pointer)
	return bytes[:length]
}

//go:wasmexport run
func run() {
	go func() {
		if err := start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}()
	settle()
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
	delete(alarms, id)
	deliver(id, value(pointer, length), true)
}

//go:wasmexport wakeup_stream
func wakeupStream(id uint64, pointer, length uint32) {
	deliver(id, value(pointer, length), pointer == 0)
}
