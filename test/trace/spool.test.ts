import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fileSpool, memorySpool, type Spool, SpoolError, spoolWithReserve } from "../../src/trace/index.ts"

let directory = ""
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-spool-"))
})
afterAll(() => rmSync(directory, { recursive: true }))

const large = fc.tuple(fc.integer({ min: 60_000, max: 140_000 }), fc.nat(255))
const parts = fc.array(
  fc.oneof(
    fc.uint8Array(),
    large.map(([length, byte]) => new Uint8Array(length).fill(byte)),
  ),
)

/** A file on a disk with that much room: the bytes that do not fit are written in part. */
const fullAfter = (room: number) => (): Spool => {
  const file = fileSpool(directory)
  return {
    get length() {
      return file.length
    },
    append: (bytes) => {
      const left = room - file.length
      file.append(bytes.subarray(0, left))
      if (bytes.length > left) throw new SpoolError({ operation: "append", directory, code: "ENOSPC" })
    },
    read: (from) => file.read(from),
    copyOf: (start, length) => file.copyOf(start, length),
    [Symbol.dispose]: () => file[Symbol.dispose](),
  }
}

const missing = (): Spool => fileSpool(join(directory, "missing"))

const kinds: ReadonlyArray<[name: string, make: () => Spool]> = [
  ["in memory", memorySpool],
  ["in a file", () => fileSpool(directory)],
  ["in a file that is full at once, with a reserve", () => spoolWithReserve(fullAfter(0), () => fileSpool(directory))],
  ["in a file that fills up, with a reserve", () => spoolWithReserve(fullAfter(150_000), () => fileSpool(directory))],
  ["in a directory that is missing, with a reserve", () => spoolWithReserve(missing, () => fileSpool(directory))],
]

describe.each(kinds)("a spool %s", (_, make) => {
  test("returns what was appended, in order, in small pieces, any number of times", () => {
    fc.assert(
      fc.property(parts, (appended) => {
        using spool = make()
        for (const part of appended) {
          // Appended bytes belong to the caller again afterwards.
          const lent = Uint8Array.from(part)
          spool.append(lent)
          lent.fill(0)
        }
        const expected = Buffer.concat(appended)
        expect(spool.length).toBe(expected.length)
        for (let time = 0; time < 2; time++) {
          const pieces = [...spool.read()].map((piece) => piece.length)
          expect(Math.max(0, ...pieces)).toBeLessThanOrEqual(65_536)
          const copies: Uint8Array[] = []
          for (const piece of spool.read()) copies.push(Uint8Array.from(piece))
          expect(Buffer.compare(Buffer.concat(copies), expected)).toBe(0)
        }
      }),
      { numRuns: 20 },
    )
  })
})

describe("a spool in a file", () => {
  test("has no name, so that nothing is left of it", () => {
    using spool = fileSpool(directory)
    spool.append(Uint8Array.of(1))
    expect(readdirSync(directory)).toEqual([])
  })

  test("names the directory in which it could not be created", () => {
    expect(() => fileSpool(join(directory, "missing"))).toThrow(
      new SpoolError({ operation: "create", directory: join(directory, "missing"), code: "ENOENT" }),
    )
  })

  test("on a full disk suggests a remedy", () => {
    expect(new SpoolError({ operation: "append", directory: "/data", code: "ENOSPC" }).message).toBe(
      "cannot append the spool file in /data: ENOSPC. The disk is full: free some space there",
    )
  })

  test("whose reserve is full as well fails with the reserve's error", () => {
    using spool = spoolWithReserve(fullAfter(10), fullAfter(100))
    spool.append(new Uint8Array(50))
    expect(() => spool.append(new Uint8Array(51))).toThrow("ENOSPC")
  })

  test("that is closed fails with its own error", () => {
    const spool = fileSpool(directory)
    spool.append(Uint8Array.of(1))
    spool[Symbol.dispose]()
    expect(() => spool.append(Uint8Array.of(1))).toThrow(SpoolError)
    expect(() => [...spool.read()]).toThrow(SpoolError)
  })
})
