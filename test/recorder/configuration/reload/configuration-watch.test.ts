/** A change of the configuration file is detected once, also in a ConfigMap volume, and never applied if it is invalid. */
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

/** A directory watch that the test triggers. */
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

/** Watches `file`, read as it is now, with a clock that the test advances. `reads` counts complete readings. */
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
  /** Advances the clock and waits for the effects. */
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left))
      for (let turns = 0; turns < 5; turns++) await turn()
    }
  }
  await until(() => reads === 1 && clock.pending >= 1)
  // Changes of the first check that were not reported yet.
  await advance(200)
  return { watch, clock, told, noticed, advance, reads: () => reads }
}

test("a change is detected within 5 s without an event of the file system, and reported once", async () => {
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

test("an event of the file system triggers the check at once, for any number of events", async () => {
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

test("a file that is still being written is not accepted", async () => {
  writeFileSync(file, of("v1.Pod", "v1.Node"))
  const { noticed, advance, told } = await watched()
  writeFileSync(file, of("v1.Pod"))
  told.changed()
  await advance(200)
  writeFileSync(file, of("v1.Pod", "v1.Node", "v1.Service"))
  await advance(400)
  expect(noticed).toEqual(["v1.Pod v1.Node v1.Service"])
})

test("comments and layout are not changes; a setting is", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, noticed, advance } = await watched()
  writeFileSync(file, `# what we record\n${of("v1.Pod")}`)
  await advance(6000)
  expect(noticed).toEqual([])
  writeFileSync(file, "trackedObjects:\n  v1.Pod:\n    detect: spec\n")
  expect(await watch.check()).toMatchObject({ tag: "changed", configuration: { kinds: [{ detect: "spec" }] } })
})

test("an invalid file is reported once, with positions; the previous one stays in force, and a return to it is reported", async () => {
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

test("a missing file is reported once, and detected when it exists again", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { noticed, advance } = await watched()
  unlinkSync(file)
  await advance(20_000)
  expect(noticed).toEqual([expect.stringContaining("file not found")])
  writeFileSync(file, of("v1.Node"))
  await advance(6000)
  expect(noticed.slice(1)).toEqual(["v1.Node"])
})

test("an explicit check returns its result at once, and the result is not reported again", async () => {
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

test("a change between the start of the recorder and that of the watch is detected", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  writeFileSync(file, of("v1.Node"))
  const { noticed, advance } = await watched({ configuration })
  await advance(400)
  expect(noticed).toEqual(["v1.Node"])
})

test("a directory that can no longer be watched is watched again at the next poll", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, told, advance } = await watched()
  told.failed()
  expect(told.open).toBe(0)
  await advance(5200)
  expect([told.open, told.watched.length]).toEqual([1, 2])
  watch.close()
  expect(told.open).toBe(0)
})

test("after closing it no longer polls and leaves no timer", async () => {
  writeFileSync(file, of("v1.Pod"))
  const { watch, clock, noticed, told, advance } = await watched()
  writeFileSync(file, of("v1.Node"))
  told.changed()
  watch.close()
  told.changed()
  await advance(20_000)
  expect([noticed, clock.pending]).toEqual([[], 0])
})

test("a ConfigMap volume is detected when the kubelet replaces its link, by an event of the file system", async () => {
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
