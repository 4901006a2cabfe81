import { gzipSync, zstdCompressSync } from "node:zlib"
import { afterEach, describe, expect, test } from "vitest"
import type { LogListener } from "../../../src/audit/reading/log-file.ts"
import { mergedWrites } from "../../../src/audit/reading/merged-writes.ts"
import type { JsonValue, TraceInput } from "../../../src/trace/index.ts"
import { auditEvent, begin } from "../audit-events.ts"

const line = (value: JsonValue): string => `${JSON.stringify(value)}\n`
const at = (seconds: number, verb = "update"): string => line(auditEvent({ at: seconds, verb, name: `w${seconds}` }))

let open = 0
let mostOpen = 0
afterEach(() => {
  expect(open).toBe(0)
  mostOpen = 0
})

async function* watched(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  open++
  mostOpen = Math.max(mostOpen, open)
  try {
    for (let start = 0; start < bytes.length; start += 100) yield bytes.subarray(start, start + 100)
  } finally {
    open--
  }
}

const ignore = (): void => undefined
const quiet: LogListener = { text: ignore, unknownText: ignore, time: ignore, read: ignore }

/** The seconds of the writes, in their order. */
const merged = async (
  logs: ReadonlyArray<string | Uint8Array>,
  { isPipe = false, listener = quiet } = {},
): Promise<ReadonlyArray<number>> => {
  const orders = logs.map((log, index) => {
    const bytes = Buffer.from(log)
    const input = (): TraceInput => ({ bytes: watched(bytes), size: isPipe ? undefined : bytes.length })
    return { name: `log-${index}`, open: async () => input(), signal: new AbortController().signal }
  })
  const seconds: number[] = []
  for await (const { time } of mergedWrites(orders, listener)) seconds.push((time - begin) / 1_000_000)
  return seconds
}

describe("several logs are one sequence in the order of time", () => {
  test("rotated files, in whatever order they are named", async () => {
    expect(await merged([at(20) + at(30), at(40), at(1) + at(10)])).toEqual([1, 10, 20, 30, 40])
  })

  test("logs of API servers beside one another", async () => {
    expect(await merged([at(1) + at(11) + at(21), at(2) + at(12) + at(22), at(3) + at(13)])).toEqual([
      1, 2, 3, 11, 12, 13, 21, 22,
    ])
  })

  test("pipes, which can be opened only once", async () => {
    expect(await merged([at(20) + at(30), at(1) + at(10)], { isPipe: true })).toEqual([1, 10, 20, 30])
  })

  test("compressed ones", async () => {
    expect(await merged([gzipSync(at(20)), zstdCompressSync(at(1)), at(10)])).toEqual([1, 10, 20])
  })

  test("writes that are out of order by a few seconds, also across files", async () => {
    expect(await merged([at(13) + at(10) + at(14), at(4) + at(1) + at(11)])).toEqual([1, 4, 10, 11, 13, 14])
  })
})

test("a file whose time has not come is not open", async () => {
  const files = Array.from({ length: 20 }, (_, file) => at(100 * file) + at(100 * file + 1))
  expect(await merged(files.toReversed())).toHaveLength(40)
  expect(mostOpen).toBeLessThanOrEqual(2)
})

test("a file that begins with reads is opened when it begins", async () => {
  const reads = at(1, "get").repeat(3)
  expect(await merged([at(20), reads + at(5), at(10)])).toEqual([5, 10, 20])
})

test("files without a time, and empty ones, do no harm", async () => {
  const unknown: Array<string> = []
  const listener = {
    ...quiet,
    unknownText: ({ log, line }: { log: string; line: number }) => unknown.push(`${log}:${line}`),
  }
  expect(await merged(["", "no log\nnone\n", at(1)], { listener })).toEqual([1])
  expect(unknown).toEqual(["log-1:1", "log-1:2"])
})

test("damage is named with its log", async () => {
  const damaged = gzipSync(at(20).repeat(50)).subarray(0, 60)
  await expect(merged([at(1), damaged])).rejects.toThrow(/^log-1: the gzip data is damaged after byte \d+/)
})

test("logs that are not read to their end are closed", async () => {
  const bytes = Buffer.from(at(1).repeat(100))
  const order = {
    name: "log",
    open: async () => ({ bytes: watched(bytes), size: 1 }),
    signal: new AbortController().signal,
  }
  for await (const _ of mergedWrites([order], quiet)) break
  expect(open).toBe(0)
})
