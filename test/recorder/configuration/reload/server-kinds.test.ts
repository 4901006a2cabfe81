/** Kinds of a server that appear and go while a recorder of every kind runs. */

import * as Result from "effect/Result"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { KindDefinition } from "../../../../src/actors/index.ts"
import { HttpClient, type KindState } from "../../../../src/kube/index.ts"
import { parseConfiguration } from "../../../../src/recorder/configuration/parse-configuration.ts"
import { ServerKinds, WantedKinds } from "../../../../src/recorder/configuration/reload/server-kinds.ts"
import { Sandbox } from "../../../../src/sandbox/index.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"

const widget: KindDefinition = {
  ...{ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", singular: "widget", shortNames: [] },
  ...{ isNamespaced: true, isServed: false, isGone: false, atMicros: 1000 },
}
const name = "example.com/v1.Widget"

let sandbox: Sandbox
let client: HttpClient
let kinds: ServerKinds
let wanted: WantedKinds
const states = new Map<string, KindState>()
const story: string[] = []

beforeEach(async () => {
  story.length = 0
  states.clear()
  sandbox = await Sandbox.start()
  client = new HttpClient(sandbox.endpoint, { userAgent: "kubereel/test" })
  const options = {
    secretsInPlainText: false,
    defaults: { defaultDetect: () => "all" as const, defaultIgnore: () => [] },
  }
  const parsed = parseConfiguration(Buffer.from('trackedObjects: {"*": {except: [apps/*]}}'), {
    ...options,
    source: "test",
  })
  wanted = new WantedKinds(Result.getOrThrow(parsed).configuration, { ...options, namespaces: [] })
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined }
  kinds = new ServerKinds({ client, wanted, clock: new ManualClock(), log: log as never })
  await kinds.look()
  kinds.follow({
    get kinds() {
      return wanted.kinds
    },
    statuses: { stateOf: (gvk) => states.get(gvk), setUndiscovered: () => undefined },
    reconfigure: async (next) => {
      story.push(next.some(({ gvkText }) => gvkText === name) ? "recorded" : "not recorded")
      return { added: [], restarted: [], kept: [], removed: [], isComplete: true }
    },
    retry: (gvk) => void story.push(`retry ${gvk}`),
    noteGone: ({ gvk, fromMicros, toMicros }) => void story.push(`gone ${gvk} ${fromMicros} ${toMicros}`),
  })
})
afterEach(async () => {
  kinds.stop()
  client.close()
  await sandbox.close()
})

test("a kind is recorded when its definition is accepted, although discovery does not have it yet", async () => {
  await kinds.defined(widget)
  expect(story).toEqual([])
  await kinds.defined({ ...widget, isServed: true, atMicros: 2000 })
  expect([story, kinds.unseenSince(name)]).toEqual([["recorded"], 1000])
  // Discovery that lags does not end it.
  states.set(name, "waiting")
  await kinds.look()
  expect(story).toEqual(["recorded"])
  // A change of the definition of a kind that is waited for has it looked for.
  await kinds.defined({ ...widget, isServed: true, atMicros: 3000 })
  expect(story).toEqual(["recorded", `retry ${name}`])
  await kinds.defined({ ...widget, isServed: true, isGone: true, atMicros: 4000 })
  expect(story.at(-1)).toBe(`gone ${name} 1000 4000`)
  await kinds.look()
  expect(story.at(-1)).toBe("not recorded")
})

test("a definition that was there before is not noted when it goes, nor is one that is not to be recorded", async () => {
  await kinds.defined({ ...widget, isServed: true, isGone: true })
  const excepted = { ...widget, group: "apps", isServed: true }
  await kinds.defined(excepted)
  await kinds.defined({ ...excepted, isGone: true })
  expect(story).toEqual([])
})
