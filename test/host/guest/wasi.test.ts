/** WASI preview 1 as guests see it: each function called by a guest, with its memory before and after. */

import { describe, expect, test } from "vitest"
import { compileGuest } from "../../../src/host/guest/compiled-guest.ts"
import { GuestTrap } from "../../../src/host/guest/errors.ts"
import { errno } from "../../../src/host/guest/wasi.ts"
import { memberOf } from "../../../src/own-member.ts"
import { assemble, errorOf, guestText, instantiate, literal } from "./test-guests.ts"

type Value = number | bigint
type Call = readonly [string, ...Value[]]

const types: Readonly<Record<string, string>> = { i: "i32", I: "i64" }

/** Parameters of WASI's functions, as its witx files have them. All return an i32. */
const parameters: Readonly<Record<string, string>> = {
  args_get: "ii",
  args_sizes_get: "ii",
  environ_get: "ii",
  environ_sizes_get: "ii",
  clock_res_get: "ii",
  clock_time_get: "iIi",
  fd_close: "i",
  fd_fdstat_get: "ii",
  fd_fdstat_set_flags: "ii",
  fd_filestat_get: "ii",
  fd_pread: "iiiIi",
  fd_prestat_get: "ii",
  fd_prestat_dir_name: "iii",
  fd_read: "iiii",
  fd_readdir: "iiiIi",
  fd_seek: "iIii",
  fd_sync: "i",
  fd_tell: "ii",
  fd_write: "iiii",
  path_open: "iiiiiIIii",
  path_unlink_file: "iii",
  poll_oneoff: "iiii",
  proc_raise: "i",
  random_get: "ii",
  sched_yield: "",
  sock_send: "iiiii",
}

/** A guest that makes the calls in `run`, and stores their results from address 0 on. */
const calling = (calls: ReadonlyArray<Call>, data: string) => {
  const names = [...new Set(calls.map(([name]) => name))]
  const lettersOf = (name: string) => [...(memberOf(parameters, name) ?? "")]
  const fields = names.map((name) => {
    const parameters = lettersOf(name).map((letter) => `(param ${types[letter]})`)
    return `(import "wasi_snapshot_preview1" "${name}" (func $${name} ${parameters.join("")} (result i32)))`
  })
  const run = calls.map(([name, ...values], index) => {
    const parameters = values.map((value, at) => `(${types[lettersOf(name)[at] ?? "i"]}.const ${value})`)
    return `(i32.store (i32.const ${4 * index}) (call $${name} ${parameters.join(" ")}))`
  })
  return compileGuest(assemble(guestText({ fields: fields.join("") + data, run: run.join("\n") })), "test")
}

const run = (calls: ReadonlyArray<Call>, data = "", options: Parameters<typeof instantiate>[1] = {}) => {
  const { guest, host, clock } = instantiate(calling(calls, data), options)
  clock.advance(1234.5)
  guest.start()
  const memory = Buffer.from(guest.memory)
  return { results: calls.map((_, index) => memory.readInt32LE(4 * index)), memory, lines: host.lines }
}

const text = (at: number, content: string | Uint8Array) => `(data (i32.const ${at}) ${literal(Buffer.from(content))})`
/** Pairs of 32-bit numbers, as `fd_write` wants addresses and lengths. */
const numbers = (at: number, ...values: number[]) => text(at, new Uint8Array(Uint32Array.from(values).buffer))

describe("A guest's clocks", () => {
  test("are the host's wall clock, and a monotonic one that began when the guest did", () => {
    const { results, memory } = run([
      ["clock_time_get", 0, 0n, 1000],
      ["clock_time_get", 1, 0n, 1008],
      ["clock_res_get", 0, 1016],
    ])
    expect(results).toEqual([0, 0, 0])
    expect(memory.readBigUInt64LE(1000)).toBe(1_700_000_001_234_500_000n)
    expect(memory.readBigUInt64LE(1008)).toBe(1_000_000_000n + 1_234_500_000n)
    expect(memory.readBigUInt64LE(1016)).toBe(1000n)
  })

  test("are two: there is no CPU time", () => {
    const calls = [2, 3, -1].map((id): Call => ["clock_time_get", id, 0n, 1000])
    expect(run(calls).results).toEqual([errno.invalid, errno.invalid, errno.invalid])
  })
})

test("Random bytes are the host's", () => {
  const { memory } = run([["random_get", 1000, 5]])
  expect([...memory.subarray(999, 1006)]).toEqual([0, 1, 2, 3, 4, 5, 0])
})

test("The only argument is the guest's name; the environment is the host's, in order", () => {
  const env = [
    { name: "NAMESPACE", value: "küche" },
    { name: "EMPTY", value: "" },
  ]
  const { results, memory } = run(
    [
      ["args_sizes_get", 1000, 1004],
      ["args_get", 1008, 1100],
      ["environ_sizes_get", 1012, 1016],
      ["environ_get", 1020, 1200],
    ],
    "",
    { env, name: "pods" },
  )
  expect(results).toEqual([0, 0, 0, 0])
  const words = (at: number, count: number) =>
    Array.from({ length: count }, (_, index) => memory.readUInt32LE(at + 4 * index))
  expect(words(1000, 3)).toEqual([1, 5, 1100])
  expect(memory.subarray(1100, 1105).toString()).toBe("pods\0")
  expect(words(1012, 4)).toEqual([2, 24, 1200, 1217])
  expect(memory.subarray(1200, 1224).toString()).toBe("NAMESPACE=küche\0EMPTY=\0")
})

describe("Standard output and error", () => {
  test("become lines of the log, whatever the parts in which they are written", () => {
    const { results, memory, lines } = run(
      [
        ["fd_write", 1, 1000, 2, 1100],
        ["fd_write", 2, 1016, 1, 1104],
        ["fd_write", 1, 1024, 1, 1108],
      ],
      numbers(1000, 2000, 3, 2003, 4, 2010, 5, 2007, 3) + text(2000, "one\ntwo three\r\n"),
    )
    expect(results).toEqual([0, 0, 0])
    expect([1100, 1104, 1108].map((at) => memory.readUInt32LE(at))).toEqual([7, 5, 3])
    // The last line has no end; it waits for more.
    expect(lines).toEqual(["stdout: one", "stderr: ree"])
  })

  test("take 64 KiB in one call and tell so, as a guest may pass the same bytes many times", () => {
    const { memory, lines } = run([["fd_write", 1, 1000, 3, 1100]], numbers(1000, 0, 60_000, 0, 60_000, 0, 60_000))
    expect(memory.readUInt32LE(1100)).toBe(65_536)
    expect(lines.every((line) => line.length < 10_000)).toBe(true)
  })

  test("are streams that cannot be sought in, look like terminals, and survive being closed", () => {
    const { results, memory } = run([
      ["fd_fdstat_get", 1, 1000],
      ["fd_seek", 1, 0n, 0, 1100],
      ["fd_fdstat_set_flags", 2, 4],
      ["fd_close", 1],
      ["fd_read", 0, 1000, 0, 1100],
      ["fd_sync", 1],
    ])
    expect(results).toEqual([0, errno.notSeekable, 0, 0, 0, errno.notSupported])
    expect([...memory.subarray(1000, 1024)]).toEqual([2, ...Array(7).fill(0), 64, ...Array(15).fill(0)])
  })
})

test("There are no files, directories and sockets: whatever is called with them is a bad descriptor", () => {
  const forFiles = Object.entries(parameters).filter(([name]) => /^(fd|path|sock)_/.test(name))
  const calls = forFiles.map(
    ([name, letters]): Call => [name, ...[...letters].map((letter) => (letter === "I" ? 3n : 3))],
  )
  expect(run(calls).results).toEqual(forFiles.map(() => errno.badFile))
})

test("Names that every JavaScript object has are functions of the host like any other unknown one", () => {
  expect(run([["toString"], ["constructor"]]).results).toEqual([errno.badFile, errno.badFile])
})

test("Signals are not supported, and giving way to other threads does nothing", () => {
  expect(run([["proc_raise", 9], ["sched_yield"]]).results).toEqual([errno.notSupported, 0])
})

test("Addresses outside of the guest's memory are a fault, for every function that takes one", () => {
  const calls: ReadonlyArray<Call> = [
    ["args_sizes_get", 65_533, 0],
    ["args_sizes_get", 500, -1],
    ["args_get", 65_533, 0],
    ["args_get", 0, 65_533],
    ["environ_get", -4, 0],
    ["clock_time_get", 0, 0n, 65_529],
    ["clock_res_get", 1, -8],
    ["fd_fdstat_get", 1, 65_513],
    ["fd_write", 1, 65_529, 1, 100],
    ["fd_write", 1, 1000, 1, 65_533],
    ["fd_write", 1, 1008, 1, 100],
    ["fd_read", 0, 0, 0, -4],
    ["random_get", 65_530, 7],
    ["random_get", 0, -1],
    ["poll_oneoff", 65_489, 0, 1, 0],
    ["poll_oneoff", 0, 65_505, 1, 0],
    ["poll_oneoff", 0, 0, 1, 65_533],
    ["poll_oneoff", 0, 0, -1, 0],
  ]
  const env = [{ name: "A", value: "B" }]
  expect(run(calls, numbers(1000, 0, 1, 65_530, 7), { env }).results).toEqual(calls.map(() => errno.fault))
})

test("More parts than any program writes at once are invalid", () => {
  expect(run([["fd_write", 1, 0, 1025, 100]]).results).toEqual([errno.invalid])
})

describe("A poll", () => {
  const subscription = (userData: bigint, type: number, fill: (view: DataView) => void): Uint8Array => {
    const view = new DataView(new ArrayBuffer(48))
    view.setBigUint64(0, userData, true)
    view.setUint8(8, type)
    fill(view)
    return new Uint8Array(view.buffer)
  }
  const clock = (userData: bigint, id: number, nanos: bigint, flags = 0) =>
    subscription(userData, 0, (view) => {
      view.setUint32(16, id, true)
      view.setBigUint64(24, nanos, true)
      view.setUint16(40, flags, true)
    })
  const file = (userData: bigint, type: number, number: number) =>
    subscription(userData, type, (view) => view.setUint32(16, number, true))
  const poll = (...subscriptions: Uint8Array[]) => {
    const { results, memory } = run(
      [["poll_oneoff", 1000, 2000, subscriptions.length, 3000]],
      text(1000, Buffer.concat(subscriptions)),
    )
    const events = Array.from({ length: memory.readUInt32LE(3000) }, (_, index) => {
      const event = memory.subarray(2000 + 32 * index)
      return [event.readBigUInt64LE(0), event.readUInt16LE(8), event.readUInt8(10), event.readUInt16LE(24)]
    })
    return { result: results[0], events }
  }

  test("reports times that have come, and waits of up to 1 ms", () => {
    const { result, events } = poll(
      clock(1n, 1, 0n),
      clock(2n, 0, 1_000_000n),
      clock(3n, 1, 1_000_000_001n, 1),
      clock(4n, 0, 1_600_000_000_000_000_000n, 1),
      clock(5n, 1, 60_000_000_000n),
    )
    expect(result).toBe(0)
    expect(events).toEqual([1n, 2n, 3n, 4n].map((id) => [id, 0, 0, 0]))
  })

  test("reports that standard output can be written, that standard input has ended, and files that are not open", () => {
    expect(poll(file(7n, 2, 1), file(8n, 1, 0), file(9n, 1, 3), clock(10n, 2, 0n)).events).toEqual([
      [7n, 0, 2, 0],
      [8n, 0, 1, 1],
      [9n, errno.badFile, 1, 0],
      [10n, errno.invalid, 0, 0],
    ])
  })

  test("that would sleep ends the guest, and tells for how long", () => {
    for (const subscription of [clock(1n, 1, 2_500_000_000n), clock(1n, 1, 4_734_500_000n, 1)]) {
      const error = errorOf(GuestTrap, () => poll(subscription, clock(2n, 1, 9_000_000_000n)))
      expect(error.fault).toBe("sleep")
      expect(error.reason).toContain("sleep for 2500 ms")
    }
  })

  test("of nothing, or of something unknown, is invalid", () => {
    expect(poll().result).toBe(errno.invalid)
    expect(poll(file(1n, 3, 0)).result).toBe(errno.invalid)
  })
})
