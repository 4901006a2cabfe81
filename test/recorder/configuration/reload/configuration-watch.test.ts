/** A change of the configuration file is detected once, also in a ConfigMap volume, and never applied if it is invalid. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterEach, beforeEach, expect, test } from "vitest"
import { defaultDetect, defaultIgnore } from "../../../../src/kube/index.ts"
import { loadConfiguration } from "../../../../src/recorder/configuration/load-configuration.ts"
import {
  type ConfigurationChange,
  watchConfiguration,
} from "../../../../src/recorder/configuration/reload/configuration-watch.ts"
import { until } from "../../../runtime/until.ts"

const load = { defaults: { defaultDetect, defaultIgnore } }
const of = (...kinds: ReadonlyArray<string>): string =>
  `trackedObjects:\n${kinds.map((kind) => `  ${kind}: {}\n`).join("")}`
const invalid = "trackedObjects:\n  apps/v1.Deployment:\n    detekt: all\n"
const mistake = expect.stringContaining('config.yml:3:5: unknown key "detekt"')

let directory: string
let file: string
let scope: Scope.Closeable

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-configuration-"))
  file = join(directory, "config.yml")
  scope = Scope.makeUnsafe()
})

afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

/** A change in brief: the kinds, or the message. */
const brief = (change: ConfigurationChange): string => {
  if (change.tag === "changed") return change.configuration.kinds.map(({ gvkText }) => gvkText).join(" ")
  return change.tag === "invalid" ? change.error.message : change.tag
}

/** Watches `file`, whose configuration when the recorder was started was `text`, and reads it every `pollMs`. */
const watched = async (text: string, pollMs = 5) => {
  writeFileSync(file, text)
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  const noticed: string[] = []
  let reads = 0
  const readBeginning = async (path: string): Promise<Uint8Array> => {
    reads++
    return readFile(path)
  }
  const watching = watchConfiguration({
    ...{ file, configuration, pollMs },
    load: { ...load, readBeginning },
    noticed: (change) => Effect.sync(() => void noticed.push(brief(change))),
  })
  const check = await Effect.runPromise(watching.pipe(Effect.provideService(Scope.Scope, scope)))
  /** Waits until what is there now has been read often enough. */
  const settled = async (): Promise<void> => {
    const before = reads
    await until(() => reads > before + 4)
  }
  return { noticed, settled, check: () => Effect.runPromise(check), reads: () => reads }
}

test("a change is reported once; comments and layout are none, a setting is", async () => {
  const { noticed, settled, check } = await watched(of("v1.Pod"))
  writeFileSync(file, `# what we record\n${of("v1.Pod")}`)
  await settled()
  expect(noticed).toEqual([])
  writeFileSync(file, of("v1.Pod", "v1.Node"))
  await settled()
  await settled()
  expect(noticed).toEqual(["v1.Pod v1.Node"])
  writeFileSync(file, "trackedObjects:\n  v1.Pod: {}\n  v1.Node: {detect: spec}\n")
  await settled()
  expect(noticed.slice(1)).toEqual(["v1.Pod v1.Node"])
  expect(await check()).toEqual({ tag: "unchanged" })
})

test("a file that is still being written is not accepted", async () => {
  const texts = [of("v1.Pod"), of("v1.Pod", "v1.Node"), of("v1.Pod", "v1.Node", "v1.Service")]
  writeFileSync(file, of("v1.Pod", "v1.Node"))
  const { configuration } = await Effect.runPromise(loadConfiguration(file, load))
  const noticed: string[] = []
  // Every reading finds another content, until the last one.
  const readBeginning = async (): Promise<Uint8Array> =>
    Buffer.from(texts.length > 1 ? `${texts.shift()}` : `${texts[0]}`)
  const watching = watchConfiguration({
    ...{ file, configuration, pollMs: 5, load: { ...load, readBeginning } },
    noticed: (change) => Effect.sync(() => void noticed.push(brief(change))),
  })
  await Effect.runPromise(watching.pipe(Effect.provideService(Scope.Scope, scope)))
  await until(() => noticed.length > 0)
  expect(noticed).toEqual(["v1.Pod v1.Node v1.Service"])
})

test("an invalid or missing file is reported once; the previous one stays in force, and a return to it is reported", async () => {
  const { noticed, settled, check } = await watched(of("v1.Pod"))
  writeFileSync(file, invalid)
  await settled()
  await settled()
  expect(noticed).toEqual([mistake])
  expect(brief(await check())).toEqual(mistake)
  writeFileSync(file, of("v1.Pod"))
  await settled()
  expect(noticed.slice(1)).toEqual(["unchanged"])
  unlinkSync(file)
  await settled()
  expect(noticed.slice(2)).toEqual([expect.stringContaining("file not found")])
  writeFileSync(file, of("v1.Node"))
  await settled()
  expect(noticed.slice(3)).toEqual(["v1.Node"])
})

test("an explicit check returns its result at once, and the result is not reported again", async () => {
  const { noticed, check } = await watched(of("v1.Pod"), 3_600_000)
  expect(await check()).toEqual({ tag: "unchanged" })
  writeFileSync(file, of("v1.Node", "v1.Pod"))
  const [first, second] = await Promise.all([check(), check()])
  expect([brief(first), brief(second)]).toEqual(["v1.Node v1.Pod", "unchanged"])
  writeFileSync(file, invalid)
  expect((await check()).tag).toBe("invalid")
  expect(noticed).toEqual([])
})

test("a ConfigMap volume is detected when the kubelet replaces its link", async () => {
  const publish = (name: string, text: string): void => {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, "config.yml"), text)
    symlinkSync(name, join(directory, "..data_tmp"))
    renameSync(join(directory, "..data_tmp"), join(directory, "..data"))
  }
  publish("..2026_11_21_18_00", of("v1.Pod"))
  symlinkSync("..data/config.yml", file)
  const { noticed, settled } = await watched(of("v1.Pod"))
  publish("..2026_11_21_18_01", of("v1.Node"))
  rmSync(join(directory, "..2026_11_21_18_00"), { recursive: true })
  await settled()
  publish("..2026_11_21_18_02", invalid)
  await settled()
  expect(noticed).toEqual(["v1.Node", mistake])
})

test("nothing is read after the end of the scope", async () => {
  const { noticed, settled, reads } = await watched(of("v1.Pod"))
  await settled()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  writeFileSync(file, of("v1.Node"))
  const before = reads()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([noticed, reads() - before]).toEqual([[], 0])
})
