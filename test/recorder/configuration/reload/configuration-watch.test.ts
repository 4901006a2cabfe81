/** A configuration file that changes is noticed, also as a ConfigMap volume, once, and never when it cannot be used. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { afterEach, beforeEach, expect, test } from "vitest"
import { systemClock } from "../../../../src/clock.ts"
import { defaultDetect, defaultIgnore } from "../../../../src/kube/scanner/object/detect-rules.ts"
import { loadConfiguration } from "../../../../src/recorder/configuration/load-configuration.ts"
import {
  type ConfigurationChange,
  ConfigurationWatch,
  type ConfigurationWatchOptions,
  type WatchDirectory,
} from "../../../../src/recorder/configuration/reload/configuration-watch.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { turn, until } from "../../../runtime/until.ts"

const load = { defaults: { defaultDetect, defaultIgnore } }
const of = (...kinds: ReadonlyArray<string>): string =>
  `trackedObjects:\n${kinds.map((kind) => `  ${kind}: {}\n`).join("")}`
const invalid = "trackedObjects:\n  apps/v1.Deployment:\n    detekt: all\n"

let directory: string
let file: string
const watches: Array<ConfigurationWatch> = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-configuration-"))
  file = join(directory, "config.yml")
})

afterEach(() => {
  for (const watch of watches.splice(0)) watch.close()
  rmSync(directory, { recursive: true, force: true })
})

/** A change in brief: the kinds, or the message. */
const brief = (change: ConfigurationChange): string => {
  if (change.tag === "changed") return change.configuration.kinds.map(({ gvkText }) => gvkText).join(" ")
  return change.tag === "invalid" ? change.error.message : change.tag
}

/** A directory watch that the test sets off. */
class ToldDirectory {
  readonly watched: Array<string> = []
  changed: () => void = () => undefined
  failed: () => void = () => undefined
  open = 0
  readonly watch: WatchDirectory = (watched, changed, failed) => {
    this.watched.push(watched)
    this.changed = changed
    this.failed = failed
    this.open++
    return () => {
      this.open--
    }
  }
}

/** Watches `file`, read as it is now, with a clock that the test moves. `reads` counts readings that are complete. */
const watched = async (options: Partial<ConfigurationWatchOptions> = {}) => {
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  const clock = new ManualClock()
  const told = new ToldDirectory()
  const noticed: Array<string> = []
  let reads = 0
  const readBeginning = async (path: string): Promise<Uint8Array> => {
    try {
      return readFileSync(path)
    } finally {
      reads++
    }
  }
  const watch = new ConfigurationWatch({
    file,
    configuration,
    load: { ...load, readBeginning },
    clock,
    run: Effect.runPromise,
    noticed: (change) => noticed.push(brief(change)),
    watchDirectory: told.watch,
    ...options,
  })
  watches.push(watch)
  /** Moves the clock and waits for what that sets off. */
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left))
      for (let turns = 0; turns < 5; turns++) await turn()
    }
  }
  await until(() => reads === 1 && clock.pending >= 1)
  // What is not yet told of the first look.
  await advance(200)
  return { watch, clock, told, noticed, advance, reads: () => reads }
}

test("a change is found within 5 s without a word from the file system, and told once", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { noticed, advance } = await watched({
    watchDirectory: () => {
      throw new Error("ENOSPC: no inotify watches are left")
    },
  })
  await advance(6000)
  expect(noticed).toEqual([])
  writeFileSync(file, of("v1.Pod", "v1.Node"))
  await advance(5400)
  expect(noticed).toEqual(["v1.Pod v1.Node"])
  await advance(20_000)
  expect(noticed).toEqual(["v1.Pod v1.Node"])
})

test("a word from the file system brings it at once, however many there are", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { noticed, advance, told, reads } = await watched()
  expect(told.watched).toEqual([directory])
  writeFileSync(file, of("v1.Node"))
  const before = reads()
  for (let index = 0; index < 20; index++) told.changed()
  await advance(400)
  expect(noticed).toEqual(["v1.Node"])
  expect(reads() - before).toBe(2)
})

test("a file that is still being written does not count", async () => {
  writeFileSync(file, of("v1.Pod", "v1.Node"))
  const { noticed, advance, told } = await watched()
  writeFileSync(file, of("v1.Pod"))
  told.changed()
  await advance(200)
  writeFileSync(file, of("v1.Pod", "v1.Node", "v1.Service"))
  await advance(400)
  expect(noticed).toEqual(["v1.Pod v1.Node v1.Service"])
})

test("comments and layout are no change; a setting is", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, noticed, advance } = await watched()
  writeFileSync(file, `# what we record\n${of("v1.Pod")}`)
  await advance(6000)
  expect(noticed).toEqual([])
  writeFileSync(file, "trackedObjects:\n  v1.Pod:\n    detect: spec\n")
  expect(await watch.check()).toMatchObject({ tag: "changed", configuration: { kinds: [{ detect: "spec" }] } })
})

test("one that cannot be used is told once, with its place; the one before it stays, and a return to it is told", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, noticed, advance } = await watched()
  writeFileSync(file, invalid)
  await advance(20_000)
  expect(noticed).toHaveLength(1)
  expect(noticed[0]).toContain(`${file}:3:5: unknown key "detekt"`)
  expect(brief(await watch.check())).toBe(noticed[0])
  writeFileSync(file, of("v1.Pod"))
  await advance(6000)
  expect(noticed.slice(1)).toEqual(["unchanged"])
  writeFileSync(file, of("v1.Node"))
  await advance(6000)
  expect(noticed.slice(2)).toEqual(["v1.Node"])
})

test("a file that is gone is told once, and noticed when it is there again", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { noticed, advance } = await watched()
  unlinkSync(file)
  await advance(20_000)
  expect(noticed).toEqual([expect.stringContaining("file not found")])
  writeFileSync(file, of("v1.Node"))
  await advance(6000)
  expect(noticed.slice(1)).toEqual(["v1.Node"])
})

test("asked for, it answers at once, and what it answers is not told again", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, noticed, advance } = await watched()
  expect(await watch.check()).toEqual({ tag: "unchanged" })
  writeFileSync(file, of("v1.Node", "v1.Pod"))
  const [first, second] = await Promise.all([watch.check(), watch.check()])
  expect([brief(first), brief(second)]).toEqual(["v1.Node v1.Pod", "unchanged"])
  writeFileSync(file, invalid)
  expect((await watch.check()).tag).toBe("invalid")
  await advance(20_000)
  expect(noticed).toEqual([])
})

test("what was changed between the start of the recorder and that of the watch is noticed", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  writeFileSync(file, of("v1.Node"))
  const { noticed, advance } = await watched({ configuration })
  await advance(400)
  expect(noticed).toEqual(["v1.Node"])
})

test("a directory that cannot be watched any more is watched again with the next look", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, told, advance } = await watched()
  told.failed()
  expect(told.open).toBe(0)
  await advance(5200)
  expect([told.open, told.watched.length]).toEqual([1, 2])
  watch.close()
  expect(told.open).toBe(0)
})

test("closed, it looks no more and leaves no timer", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, clock, noticed, told, advance } = await watched()
  writeFileSync(file, of("v1.Node"))
  told.changed()
  watch.close()
  told.changed()
  await advance(20_000)
  expect([noticed, clock.pending]).toEqual([[], 0])
})

test("a ConfigMap volume is noticed when the kubelet exchanges its link, by the file system's own word", async () => {
  const publish = (name: string, text: string): void => {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, "config.yml"), text)
    symlinkSync(name, join(directory, "..data_tmp"))
    renameSync(join(directory, "..data_tmp"), join(directory, "..data"))
  }
  publish("..2026_11_21_18_00", of("v1.Pod"))
  symlinkSync("..data/config.yml", file)
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  const noticed: Array<string> = []
  const watch = new ConfigurationWatch({
    file,
    configuration,
    load,
    clock: systemClock,
    run: Effect.runPromise,
    noticed: (change) => noticed.push(brief(change)),
    pollMs: 3_600_000,
    settleMs: 20,
  })
  watches.push(watch)
  await watch.check()
  publish("..2026_11_21_18_01", of("v1.Node"))
  rmSync(join(directory, "..2026_11_21_18_00"), { recursive: true })
  await until(() => noticed.length > 0)
  publish("..2026_11_21_18_02", invalid)
  await until(() => noticed.length > 1)
  expect(noticed).toEqual(["v1.Node", expect.stringContaining(`${file}:3:5: unknown key "detekt"`)])
})
