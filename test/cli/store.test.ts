/** `reel store` on recordings: what it says, what it leaves, and what it refuses. Damage is tested in test/archive/damage. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { ArchiveReader, ArchiveWriter, takeLease } from "../../src/archive/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { storeCommand } from "../../src/cli/store.ts"
import { START } from "../archive/sample-frames.ts"
import { recordSample, sampleKinds } from "../archive/sample-recording.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { ran } from "./commands-in.ts"

const run = (...words: ReadonlyArray<string>) => ran(storeCommand(), words)

/** Of a recording that was ended in order. */
const sample = (): string => {
  const directory = temporaryDirectory()
  recordSample(directory).close()
  return directory
}

/** Everything that a recording has from a moment on, and the state there. */
const contentOf = (directory: string, from = 0): ReadonlyArray<unknown> => {
  const reader = ArchiveReader.open(directory)
  try {
    const plain = (items: Iterable<object>): ReadonlyArray<object> =>
      Array.from(items, (item) => ("object" in item ? { ...item, object: String(item.object) } : { ...item }))
    const state = plain(reader.snapshotAt({ time: from })).map((item) => ({ ...item, sequence: 0 }))
    return [state, plain(reader.events({ fromTime: from }))]
  } finally {
    reader.close()
  }
}

describe("info", () => {
  test("says what is recorded since when, what it takes, and who reads it", async () => {
    const directory = sample()
    const lease = takeLease(directory, { fromTime: START, purpose: "an export" })
    onTestFinished(() => lease.release())
    const { code, output } = await run("info", "--data-dir", directory)
    expect(code).toBe(exitCodes.ok)
    expect(output).toMatch(/^KIND +FROM +UNTIL +EVENTS +BYTES +PER EVENT +GAPS\n/)
    for (const gvk of sampleKinds) expect(output).toMatch(new RegExp(`^${gvk} .* 120 .* 1$`, "m"))
    expect(output).toMatch(/^on disk: [\d.]+ \w+, of which .* free, and .* of log; \d+ blocks$/m)
    expect(output).toMatch(/^growth: [\d.]+ \w+ a day; .* free on the disk/m)
    expect(output).toContain(`by process ${process.pid} on`)
  })

  test("says the same to programs", async () => {
    const directory = sample()
    const { output } = await run("info", "--data-dir", directory, "-o", "json")
    const found = JSON.parse(output)
    expect(
      found.kinds.slice(0, 3).map(({ gvk, events, gaps }: Record<string, unknown>) => [gvk, events, gaps]),
    ).toEqual(sampleKinds.map((gvk) => [gvk, 120, 1]))
    for (const { since, until, removedThrough, bytesPerEvent } of found.kinds.slice(0, 3)) {
      expect([typeof since, typeof until, removedThrough]).toEqual(["string", "string", null])
      expect(bytesPerEvent).toBeGreaterThan(10)
    }
    expect(found.databaseBytes).toBeGreaterThan(found.freeBytes)
    expect(found.growthPerDay).toBeGreaterThan(0)
    expect(found.leases).toEqual([])
  })

  test("works while a recorder writes", async () => {
    const directory = temporaryDirectory()
    const writer = recordSample(directory)
    onTestFinished(() => writer.close())
    expect((await run("info", "--data-dir", directory)).output).toMatch(/and [1-9][\d.]* \w+ of log/)
  })
})

describe("compact", () => {
  test("removes nothing without limits, and what is left is the same", async () => {
    const directory = sample()
    const before = contentOf(directory)
    const { code, output } = await run("compact", "--data-dir", directory)
    expect([code, output]).toEqual([exitCodes.ok, expect.stringMatching(/^[\d.]+ \w+ before, [\d.]+ \w+ now\n$/)])
    expect(contentOf(directory)).toEqual(before)
  })

  test("removes what is older than that, and leaves the state at the new beginning", async () => {
    const directory = sample()
    // The sample is of 2025, so that all of it is too old.
    const last = contentOf(directory, START + 200 * 1_000_000)
    const { code, output } = await run("compact", "--data-dir", directory, "--retain-for", "30d")
    expect(code).toBe(exitCodes.ok)
    expect(output).toMatch(/ now, \d+ events removed\n$/)
    const info = JSON.parse((await run("info", "--data-dir", directory, "-o", "json")).output)
    expect(info.kinds.every(({ removedThrough }: Record<string, unknown>) => removedThrough !== null)).toBe(true)
    expect((await run("info", "--data-dir", directory)).output).toContain("* retention has removed what was before")
    expect(contentOf(directory, START + 200 * 1_000_000)).toEqual(last)
    expect((await run("verify", "--data-dir", directory)).code).toBe(exitCodes.ok)
  })

  test("is refused while a recorder has the directory", async () => {
    const directory = temporaryDirectory()
    const writer = recordSample(directory)
    onTestFinished(() => writer.close())
    const { code, error } = await run("compact", "--data-dir", directory)
    expect([code, error]).toEqual([exitCodes.failed, expect.stringContaining("in use")])
  })
})

describe("backup", () => {
  test("copies what was committed when it began, also while a recorder writes, and the copy is sound", async () => {
    const directory = temporaryDirectory()
    const writer = recordSample(directory)
    onTestFinished(() => writer.close())
    const target = join(temporaryDirectory(), "copy")
    const { code, output } = await run("backup", "--data-dir", directory, "--to", target)
    expect([code, output]).toEqual([exitCodes.ok, expect.stringMatching(/^copied to .* and verified: \d+ blocks\n$/)])
    expect(contentOf(target)).toEqual(contentOf(directory))
    // A recorder can go on with the copy.
    const another = ArchiveWriter.open(target, { now: () => START })
    another.close()
  })

  test("overwrites nothing, and leaves nothing if it fails", async () => {
    const directory = sample()
    const target = sample()
    const before = contentOf(target)
    const { code, error } = await run("backup", "--data-dir", directory, "--to", target)
    expect([code, error]).toEqual([
      exitCodes.failed,
      expect.stringContaining("contains a recording. Choose another one."),
    ])
    expect(contentOf(target)).toEqual(before)
    const nothing = temporaryDirectory()
    const empty = join(nothing, "copy")
    expect((await run("backup", "--data-dir", nothing, "--to", empty)).code).toBe(exitCodes.failed)
    expect(existsSync(join(empty, "recording.db"))).toBe(false)
  })
})

test.each([
  [[], "say what to do: info, verify, compact, backup or salvage"],
  [["shrink", "--data-dir", "."], "is none of"],
  [["info"], "info needs --data-dir"],
  [["backup", "--data-dir", "."], "backup needs --to"],
  [["verify", "--data-dir", ".", "--to", "x"], "only salvage and backup have --to"],
  [["info", "--data-dir", ".", "--retain-for", "1d"], "only compact has --retain-for and --retain-bytes"],
  [["compact", "--data-dir", ".", "--retain-bytes", "1"], "must be a size such as"],
])("reel store %j is a usage error", async (words, problem) => {
  const { code, error } = await run(...words)
  expect([code, error]).toEqual([exitCodes.usage, expect.stringContaining(problem)])
})

test("a directory without a recording, and one that holds something else, are named", async () => {
  const directory = temporaryDirectory()
  for (const what of ["info", "verify", "compact"]) {
    const { code, error } = await run(what, "--data-dir", directory)
    expect([what, code, error]).toEqual([what, exitCodes.failed, expect.stringContaining(directory)])
  }
  mkdirSync(join(directory, "other"))
  writeFileSync(join(directory, "other", "recording.db"), "not a database, but some text that is long enough to be one")
  expect(await run("info", "--data-dir", join(directory, "other"))).toMatchObject({
    code: exitCodes.failed,
    output: "",
  })
})
