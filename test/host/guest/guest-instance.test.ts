/** Guests at work: what wakes them, what they may ask for, and how they end. */

import { describe, expect, test } from "vitest"
import { encodeGuestResponse } from "../../../src/host/guest/abi-values.ts"
import { GuestExit, GuestMemoryRefused, GuestTrap } from "../../../src/host/guest/errors.ts"
import type { GuestHost } from "../../../src/host/guest/guest-instance.ts"
import { encodeGuestRequest, encodeWatchRequest } from "./guest-side.ts"
import { compileText, errorOf, imports, instantiate, literal, mebibyte, NotingHost } from "./test-guests.ts"

const watch = encodeWatchRequest({
  apiVersion: "v1",
  group: "",
  kind: "Pod",
  version: "v1",
  resourceVersion: "0",
  includeUninitialized: false,
  allowBookmarks: true,
})
const request = encodeGuestRequest({ method: "GET", uri: "/version", headers: new Map(), body: new Uint8Array() })
const response = encodeGuestResponse({ status: 200, headers: new Map(), body: Buffer.from("{}") })
const bytes = (text: string): Uint8Array => Buffer.from(text)

/** A guest that watches, requests and waits, and writes down in its memory, from 1024 on, how it was woken: id, pointer, length. */
const asking = {
  fields: `${imports}
    (data (i32.const 16) ${literal(watch)})
    (data (i32.const 512) ${literal(request)})
    (global $note (mut i32) (i32.const 1024))
    (func $write (param $id i64) (param $pointer i32) (param $length i32)
      (i64.store (global.get $note) (local.get $id))
      (i32.store offset=8 (global.get $note) (local.get $pointer))
      (i32.store offset=12 (global.get $note) (local.get $length))
      (global.set $note (i32.add (global.get $note) (i32.const 16))))`,
  run: `
    (drop (call $watch (i32.const 16) (i32.const ${watch.length})))
    (drop (call $request (i32.const 512) (i32.const ${request.length})))
    (drop (call $delay (i64.const -1)))`,
  future: "(call $write (local.get $id) (local.get $pointer) (local.get $length))",
  stream: "(call $write (local.get $id) (local.get $pointer) (local.get $length))",
}
const compiledAsking = compileText(asking)

const notes = (memory: Uint8Array, count: number): ReadonlyArray<readonly [bigint, number, number]> => {
  const view = new DataView(memory.buffer)
  return Array.from({ length: count }, (_, index) => {
    const at = 1024 + 16 * index
    return [view.getBigUint64(at, true), view.getUint32(at + 8, true), view.getUint32(at + 12, true)] as const
  })
}

const started = () => {
  const parts = instantiate(compiledAsking)
  parts.guest.start()
  return parts
}

describe("A guest that is started", () => {
  test("runs its start function, _initialize and run, in this order and once", () => {
    const order = (name: string, letter: number) =>
      `(func ${name} (i32.store8 (global.get $at) (i32.const ${letter})) (global.set $at (i32.add (global.get $at) (i32.const 1))))`
    const compiled = compileText({
      fields: `(global $at (mut i32) (i32.const 100)) ${order("$first", 65)} (start $first)
        ${order('$second (export "_initialize")', 66)} ${order("$third", 67)}`,
      run: "(call $third)",
    })
    const { guest } = instantiate(compiled)
    guest.start()
    expect(Buffer.from(guest.memory.subarray(100, 104)).toString()).toBe("ABC\0")
    expect(() => guest.start()).toThrow("started already")
  })

  test("asks for watches, requests and delays with ids of one counter", () => {
    const { guest, host } = started()
    expect([...host.watches]).toEqual([[0n, expect.objectContaining({ kind: "Pod", resourceVersion: "0" })]])
    expect([...host.requests]).toEqual([[1n, expect.objectContaining({ method: "GET", uri: "/version" })]])
    expect([...host.delays]).toEqual([[2n, 2n ** 64n - 1n]])
    expect([...guest.operations]).toEqual([
      [0n, "watch"],
      [1n, "request"],
      [2n, "delay"],
    ])
  })

  test("is woken with copies of values, and with pointer 0 where there is none", () => {
    const { guest } = started()
    expect(guest.wakeStream(0n, bytes("first"))).toBe(true)
    expect(guest.wakeFuture(1n, response)).toBe(true)
    expect(guest.wakeFuture(2n, undefined)).toBe(true)
    expect(guest.wakeStream(0n, undefined)).toBe(true)
    const { memory } = guest
    expect(notes(memory, 5)).toEqual([
      [0n, 4096, 5],
      [1n, 4101, response.length],
      [2n, 0, 0],
      [0n, 0, 0],
      [0n, 0, 0],
    ])
    expect(Buffer.from(memory.subarray(4096, 4101 + response.length))).toEqual(
      Buffer.concat([bytes("first"), response]),
    )
    expect(guest.operations.size).toBe(0)
  })

  test("is not entered for operations that it does not have, or that have ended", () => {
    const { guest } = started()
    expect(guest.wakeFuture(3n, undefined)).toBe(false)
    expect(guest.wakeStream(2n ** 64n - 1n, bytes("x"))).toBe(false)
    guest.wakeFuture(2n, undefined)
    guest.wakeStream(0n, undefined)
    expect(guest.wakeFuture(2n, undefined)).toBe(false)
    expect(guest.wakeStream(0n, undefined)).toBe(false)
    expect(guest.wakeStream(0n, bytes("late"))).toBe(false)
    expect(notes(guest.memory, 3)[2]).toEqual([0n, 0, 0])
  })

  test("may have its memory grow when it is asked for room for a value", () => {
    const { guest } = instantiate(
      compileText({
        ...asking,
        allocate: "(i32.mul (memory.grow (i32.const 3)) (i32.const 65536))",
      }),
    )
    guest.start()
    guest.wakeStream(0n, Buffer.alloc(100_000, "v"))
    const { memory } = guest
    expect(notes(memory, 1)).toEqual([[0n, 65_536, 100_000]])
    expect(memory.subarray(65_536, 165_536).every((byte) => byte === 118)).toBe(true)
  })

  test("has addresses in the upper half of 4 GB, which are negative numbers in JavaScript", { timeout: 60_000 }, () => {
    const compiled = compileText({ ...asking, memory: "32770", allocate: "(i32.const 0x80000010)" })
    const { guest } = instantiate(compiled, { maximumMemoryBytes: 2 ** 31 + 10 * 65_536 })
    guest.start()
    expect(guest.wakeStream(0n, bytes("high"))).toBe(true)
    expect(guest.hasTrapped).toBe(false)
  })
})

describe("The caller", () => {
  test("is told that the guest has no such operation if it is of another kind", () => {
    const { guest } = started()
    expect([guest.wakeFuture(0n, response), guest.wakeStream(1n, response)]).toEqual([false, false])
    expect(guest.wakeFuture(1n, response)).toBe(true)
  })

  test("cannot wake the guest while it runs, nor while it is told what the guest asked for", () => {
    const wasi = '(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))'
    const compiled = compileText({
      fields: `${wasi} ${imports}`,
      run: "(drop (call $delay (i64.const 1))) (drop (call $random (i32.const 0) (i32.const 8)))",
    })
    const refusals: string[] = []
    const wake = (): void => void refusals.push(errorOf(Error, () => guest.wakeFuture(0n, undefined)).message)
    class Hasty extends NotingHost implements GuestHost {
      override delay = wake
    }
    const { guest } = instantiate(compiled, { host: new Hasty(), random: wake })
    guest.start()
    const refusal = "module test is running run and cannot be entered again"
    expect(refusals).toEqual([refusal, refusal])
    expect(guest.wakeFuture(0n, undefined)).toBe(true)
  })
})

describe("The version of the ABI", () => {
  /** A guest that speaks this version, and writes the one that it is offered at 0. */
  const speaking = (version: number) => ({
    fields: `${imports}
      (func (export "negotiate") (param $newest i32) (result i32)
        (i32.store (i32.const 0) (local.get $newest)) (i32.const ${version}))`,
    run: "(i32.store (i32.const 4) (i32.load (i32.const 0)))",
  })

  test.each([1, 2])("is %i if the guest chooses that one of those up to 2, before it runs", (version) => {
    const { guest } = instantiate(compileText(speaking(version)))
    guest.start()
    expect([...guest.memory.subarray(0, 8)]).toEqual([2, 0, 0, 0, 2, 0, 0, 0])
  })

  test.each([0, 3, -1])(
    "cannot be %i: the guest ends before it runs, and the reason says which there are",
    (version) => {
      const { guest } = instantiate(compileText(speaking(version)))
      const error = errorOf(GuestTrap, () => guest.start())
      expect(error).toMatchObject({ fault: "abi-version", during: "negotiate" })
      expect(error.reason).toBe(`it speaks none of the versions 1 to 2 of the ABI (negotiate returned ${version})`)
      expect(guest.memory[4]).toBe(0)
    },
  )
})

describe("A watch that the guest cancels", () => {
  const cancelling = (cancelled: number) => ({
    ...asking,
    fields: `(import "kube-watch-abi" "cancel" (func $cancel (param i64))) ${asking.fields}`,
    future: `(call $cancel (i64.const ${cancelled}))`,
  })

  test("is no operation any more: the guest is not woken for it, and its host is told in turn", () => {
    const { guest, host } = instantiate(compileText(cancelling(0)))
    guest.start()
    guest.wakeFuture(2n, undefined)
    expect([[...host.watches.keys()], [...guest.operations.keys()]]).toEqual([[], [1n]])
    expect(guest.wakeStream(0n, bytes("{}"))).toBe(false)
  })

  test.each([1, 9])("has to be a watch: nothing happens to operation %i", (id) => {
    const { guest, host } = instantiate(compileText(cancelling(id)))
    guest.start()
    guest.wakeFuture(2n, undefined)
    expect([[...host.watches.keys()], [...guest.operations.keys()]]).toEqual([[0n], [0n, 1n]])
  })
})

describe("A guest that fails", () => {
  const faultOf = (parts: Parameters<typeof compileText>[0], options: Parameters<typeof instantiate>[1] = {}) => {
    const { guest, host } = instantiate(compileText(parts), options)
    const error = errorOf(GuestTrap, () => guest.start())
    expect(guest.hasTrapped).toBe(true)
    expect(host.watches.size + host.requests.size + host.delays.size).toBe(0)
    return error
  }

  test("traps: unreachable code, memory that it does not have, a division by zero", () => {
    expect(faultOf({ run: "unreachable" })).toMatchObject({ fault: "trap", reason: "unreachable", during: "run" })
    expect(faultOf({ run: "(i32.store (i32.const -4) (i32.const 1))" }).reason).toBe("memory access out of bounds")
    expect(faultOf({ run: "(drop (i32.div_u (i32.const 1) (i32.const 0)))" }).reason).toBe("divide by zero")
  })

  test("is never entered again, and says each time why it ended", () => {
    const { guest } = instantiate(compileText({ ...asking, future: "unreachable" }))
    guest.start()
    const error = errorOf(GuestTrap, () => guest.wakeFuture(2n, undefined))
    expect(error.during).toBe("wakeup_future")
    for (const again of [
      () => guest.wakeFuture(1n, response),
      () => guest.wakeStream(0n, undefined),
      () => guest.wakeFuture(99n, undefined),
    ])
      expect(errorOf(GuestTrap, again)).toBe(error)
  })

  test("takes nothing with it that it asked for in the call in which it failed", () => {
    expect(faultOf({ ...asking, run: `${asking.run} unreachable` }).fault).toBe("trap")
  })

  test("leaves other instances of the same module alone", () => {
    const compiled = compileText({ ...asking, future: "unreachable" })
    const [first, second] = [instantiate(compiled).guest, instantiate(compiled).guest]
    first.start()
    second.start()
    errorOf(GuestTrap, () => first.wakeFuture(2n, undefined))
    expect(second.wakeStream(0n, bytes("x"))).toBe(true)
  })

  test("calls itself without end", () => {
    const fields = "(func $deeper (call $deeper) (call $deeper))"
    expect(faultOf({ fields, run: "(call $deeper)" }).fault).toBe("stack-overflow")
  })

  test("calls itself without end, asks for something at the end of the stack, and catches every exception", () => {
    const fields = `${imports} (func $deeper
      (drop (call $delay (i64.const 1)))
      (block $out (try_table (catch_all $out) (call $deeper))))`
    expect(faultOf({ fields, run: "(call $deeper)" }, { limits: { operations: 1e9 } }).fault).toBe("stack-overflow")
  })

  test("throws an exception and does not catch it", () => {
    expect(faultOf({ fields: "(tag $oops)", run: "(throw $oops)" }).fault).toBe("exception")
  })

  test("has no memory for a value, or memory that is not its own", () => {
    for (const address of ["0", "65533", "-1"]) {
      const { guest } = instantiate(compileText({ ...asking, allocate: `(i32.const ${address})` }))
      guest.start()
      expect(errorOf(GuestTrap, () => guest.wakeStream(0n, bytes("1234"))).fault).toBe("bad-allocation")
    }
  })

  test("passes bytes that it does not have, or that are no request", () => {
    for (const call of ["$watch", "$request"]) {
      const ask = (pointer: number, length: number) =>
        faultOf({ run: `(drop (call ${call} (i32.const ${pointer}) (i32.const ${length})))` })
      for (const [pointer, length] of [
        [65_530, 7],
        [-1, 1],
        [-1, -1],
        [0, -1],
        [0, 0],
        [0, 64],
      ] as const)
        expect(ask(pointer, length)).toMatchObject({ fault: "bad-value", during: "run" })
    }
    const reason = faultOf({ run: "(drop (call $watch (i32.const 0) (i32.const 3)))" }).reason
    expect(reason).toBe("it passed an invalid value: WatchRequest at byte 0: 8 bytes are expected, and 3 are left")
  })

  test("asks without end for delays", () => {
    const run = "(loop $again (drop (call $delay (i64.const 1))) (br $again))"
    const error = faultOf({ run })
    expect(error.fault).toBe("too-many-operations")
    expect(error.reason).toContain("16384 operations")
  })

  test("asks for more bytes in one call than the host wants to hold", () => {
    const run = `(loop $again ${asking.run} (br $again))`
    expect(faultOf({ ...asking, run }, { limits: { bytesPerCall: 10_000 } }).fault).toBe("too-many-bytes")
  })

  test("names its innermost functions and its memory", () => {
    const fields = "(func $reconcile unreachable)"
    const binary = compileText({ fields, run: "(call $reconcile)" })
    const error = errorOf(GuestTrap, () => instantiate(binary).guest.start())
    expect(error.frames[0]).toBe("reconcile")
    expect(error.message).toMatch(
      /^module test failed in run: unreachable \(in reconcile < .+\); it had 65536 of 16777216 bytes of memory$/,
    )
  })
})

describe("A guest that exits", () => {
  const exit = '(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))'

  test("ends with its code, and does not end the process", () => {
    const { guest } = instantiate(compileText({ fields: exit, run: "(call $exit (i32.const 3))" }))
    const error = errorOf(GuestExit, () => guest.start())
    expect(error).toMatchObject({ code: 3, during: "run" })
    expect(error.message).toBe("module test ended itself in run with exit code 3")
    expect(errorOf(GuestExit, () => guest.wakeFuture(0n, undefined))).toBe(error)
  })

  test("ends although it catches the exception, and cannot call the host any more", () => {
    const run = `
      (block $out (try_table (catch_all $out) (call $exit (i32.const 0))))
      (drop (call $delay (i64.const 5)))`
    const { guest, host } = instantiate(compileText({ fields: `${exit} ${imports}`, run }))
    expect(errorOf(GuestExit, () => guest.start()).code).toBe(0)
    expect(host.delays.size).toBe(0)
  })
})

describe("A failure of the host", () => {
  test("in its clock or random numbers reaches the caller as it is, and ends the guest", () => {
    const fields = '(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))'
    const failure = new Error("no entropy")
    const { guest } = instantiate(compileText({ fields, run: "(drop (call $random (i32.const 0) (i32.const 1)))" }), {
      random: () => {
        throw failure
      },
    })
    expect(errorOf(Error, () => guest.start())).toBe(failure)
    expect(errorOf(GuestTrap, () => guest.wakeFuture(0n, undefined)).fault).toBe("host-failure")
  })

  test("in its log, once the guest has returned, takes nothing from the guest", () => {
    const failure = new Error("disk full")
    class Failing extends NotingHost implements GuestHost {
      override log(stream: string, line: string): void {
        if (stream === "stderr") throw failure
        super.log(stream, line)
      }
    }
    const fields = `(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
      ${imports} (data (i32.const 0) ${literal(new Uint8Array(Uint32Array.of(100, 600).buffer))})
      (data (i32.const 100) "${"\\n".repeat(600)}")`
    const run = `(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (drop (call $delay (i64.const 1)))`
    const host = new Failing()
    const { guest } = instantiate(compileText({ fields, run }), { host })
    // The line that says how many were left out goes to standard error.
    expect(errorOf(Error, () => guest.start())).toBe(failure)
    expect(host.delays.size).toBe(1)
    expect(guest.wakeFuture(0n, undefined)).toBe(true)
  })

  test("when it takes an operation reaches the caller, and ends the guest, which would wait for ever", () => {
    const failure = new Error("mailbox closed")
    class Failing extends NotingHost implements GuestHost {
      override request(): void {
        throw failure
      }
    }
    const { guest } = instantiate(compiledAsking, { host: new Failing() })
    expect(errorOf(Error, () => guest.start())).toBe(failure)
    expect(guest.hasTrapped).toBe(true)
  })
})

describe("The memory limit", () => {
  const growing = {
    // Grows by a page until that fails, and notes the number of pages.
    run: "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (i32.store (i32.const 0) (memory.size))",
  }
  const pagesOf = (memory: string, limit: number): number => {
    const { guest } = instantiate(compileText({ ...growing, memory }), { maximumMemoryBytes: limit })
    guest.start()
    expect(guest.memoryBytes).toBe(guest.memory.length)
    return guest.memoryBytes / 65_536
  }

  test("holds for a module that declares no maximum, one that declares more, and one that declares all", () => {
    expect(pagesOf("1", 10 * 65_536)).toBe(10)
    expect(pagesOf("1 20", 10 * 65_536)).toBe(10)
    expect(pagesOf("1 65536", 10 * 65_536)).toBe(10)
  })

  test("is not more than the module declares, and counts whole pages only", () => {
    expect(pagesOf("1 5", 10 * 65_536)).toBe(5)
    expect(pagesOf("1", 3 * 65_536 - 1)).toBe(2)
  })

  test("refuses a module that begins with more, such as one that asks for 4 GB", () => {
    const error = errorOf(GuestMemoryRefused, () => instantiate(compileText({ memory: "65536" })))
    expect(error).toMatchObject({ wantedBytes: 2 ** 32, limitBytes: 16 * mebibyte })
    expect(error.message).toBe("module test needs 4294967296 bytes of memory to start, and may have 16777216")
  })

  test("is that of the instance: two of one module have different ones", () => {
    const compiled = compileText(growing)
    const sizes = [2, 7].map((pages) => {
      const { guest } = instantiate(compiled, { maximumMemoryBytes: pages * 65_536 })
      guest.start()
      return guest.memoryBytes / 65_536
    })
    expect(sizes).toEqual([2, 7])
  })

  test("is not evaded with a table: none can grow", () => {
    const { guest } = instantiate(
      compileText({
        fields: "(table $t 2 funcref)",
        run: "(i32.store (i32.const 0) (table.grow $t (ref.null func) (i32.const 1)))",
      }),
    )
    guest.start()
    expect(new DataView(guest.memory.buffer).getInt32(0, true)).toBe(-1)
  })

  test("a module whose data does not fit into its memory fails before it runs", () => {
    const compiled = compileText({ fields: '(data (i32.const 65530) "0123456789")' })
    expect(errorOf(GuestTrap, () => instantiate(compiled).guest.start())).toMatchObject({
      fault: "trap",
      during: "instantiation",
    })
  })
})

test("A module that imports nothing is a guest, too", () => {
  const { guest } = instantiate(compileText({ fields: "" }))
  guest.start()
  expect(guest.operations.size).toBe(0)
})
