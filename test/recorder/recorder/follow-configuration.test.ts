/** An invalid configuration is reported as an Event, and a waiting Event is dropped once it is valid again. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { defaultDetect, defaultIgnore } from "../../../src/kube/index.ts"
import { loadConfiguration } from "../../../src/recorder/configuration/load-configuration.ts"
import { followConfiguration, Reloads } from "../../../src/recorder/configuration/reload/follow-configuration.ts"
import { WantedKinds } from "../../../src/recorder/configuration/reload/server-kinds.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const widget = {
  gvk: { group: "example.com", version: "v1", kind: "Widget" },
  plural: "widgets",
  verbs: ["list", "watch"],
  isNamespaced: true,
}

const load = { secretsInPlainText: false, defaults: { defaultDetect, defaultIgnore } }

test("changed limits of every kind are in force without a watcher that starts anew", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-follow-"))
  const file = join(directory, "tracer.yml")
  const told: unknown[] = []
  const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined }
  try {
    writeFileSync(file, 'trackedObjects: {"*": {}, v1.Pod: {}}\n')
    const program = Effect.gen(function* () {
      const { configuration } = yield* loadConfiguration(file, load)
      const wanted = new WantedKinds(configuration, { ...load, namespaces: [] })
      const before = wanted.discover([widget])
      const reconfigure = async (kinds: unknown) => {
        expect(kinds).toEqual(before)
        return { added: [], restarted: [], kept: [], removed: [], isComplete: true }
      }
      const setRetention = (settings: unknown): void => void told.push(settings)
      const reload = yield* followConfiguration(
        { reconfigure, setRetention },
        { file, configuration, load, kindsOf: (changed) => wanted.configure(changed), limits: undefined },
        quiet,
        new Reloads(new ManualClock()),
      )
      writeFileSync(file, 'trackedObjects: {"*": {retainFor: 1h, retainBytes: 2Mi}, v1.Pod: {}}\n')
      yield* Effect.promise(reload)
    })
    await Effect.runPromise(Effect.scoped(program))
    expect(told).toEqual([{ each: { forMicros: 3_600_000_000, bytes: 2 * 1024 * 1024 }, kinds: [{ gvk: "v1.Pod" }] }])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

test("a mistake is reported with its position, and is fixed by the old text as by a new one", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-follow-"))
  const file = join(directory, "tracer.yml")
  const good = "trackedObjects:\n  v1.ConfigMap: {}\n"
  const told: string[] = []
  const log: string[] = []
  const say = (line: string): void => void log.push(line)
  try {
    writeFileSync(file, good)
    const program = Effect.gen(function* () {
      const { configuration } = yield* loadConfiguration(file, load)
      const reconfigure = async () => ({ added: [], restarted: [], kept: [], removed: [], isComplete: true })
      const reload = yield* followConfiguration(
        { reconfigure, setRetention: () => undefined },
        { file, configuration, load, kindsOf: ({ kinds }) => kinds, limits: undefined },
        { error: say, warn: say, info: say, debug: say },
        new Reloads(new ManualClock()),
        {
          warn: ({ reason, action, note }) => told.push(`${reason} ${action}: ${note}`),
          mended: () => told.push("mended"),
        },
      )
      const write = (text: string) =>
        Effect.promise(() => {
          writeFileSync(file, text)
          return reload()
        })
      yield* write("trackedObjects:\n  v1.ConfigMap: {detekt: all}\n")
      yield* write(good)
      yield* write("trackedObjects: [\n")
      yield* write("trackedObjects:\n  v1.Service: {}\n")
    })
    await Effect.runPromise(Effect.scoped(program))
    const [detekt, old, bracket, other] = told
    expect(detekt).toMatch(
      /^ConfigurationInvalid Reload: The changed configuration is invalid; the previous one stays in force\. .*tracer\.yml:2:\d+: unknown key "detekt"/,
    )
    expect(bracket).toMatch(/^ConfigurationInvalid Reload: .*tracer\.yml:\d/)
    expect([old, other, told.length]).toEqual(["mended", "mended", 4])
    expect(log).toContain("the changed configuration is invalid; the previous one stays in force")
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
