/** Traces of real programs, replayed into controllers: every change arrives, in order, the same in each run. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { type DefinedController, defineController } from "../../src/host/controllers.ts"
import { replayInto } from "../../src/library/rehearsal.ts"
import { openDecoder, type TraceItem } from "../../src/trace/index.ts"
import { publishedNames, publishedTrace, whyNoPublished } from "../trace/formats/traces.ts"

const recording = (name: string): string =>
  fileURLToPath(new URL(`../data/${name}/simkube-2.7.sktrace`, import.meta.url))

/** Notes each state that it is woken for, and marks the object. */
const marker = (kind: string, seen: string[]): DefinedController =>
  defineController({
    name: "marker",
    for: kind,
    reconcile: async ({ key, object, cluster }) => {
      seen.push(object === undefined ? `${key} gone` : `${key} ${JSON.stringify(object.spec).length}`)
      if (object !== undefined && object.metadata.annotations?.marked !== "yes")
        await cluster.patch(object, "merge", { metadata: { annotations: { marked: "yes" } } })
    },
  })

const decoded = async (bytes: Uint8Array): Promise<ReadonlyArray<TraceItem>> => {
  const decoder = await openDecoder("simkube")
  return [...decoder.push(bytes), ...decoder.end()]
}

const rehearsed = async (trace: string | ReadonlyArray<TraceItem>, kind: string) => {
  const seen: string[] = []
  const result = await replayInto(marker(kind, seen), trace)
  expect(result.trouble).toEqual([])
  return { seen, result }
}

describe("A controller on a trace of SimKube's", () => {
  test.each([
    ["recording", "apps/v1.Deployment"],
    ["recording-2", "apps/v1.Deployment"],
  ])("sees the last state of every object of %s, and keeps what it wrote", async (name, kind) => {
    const first = await rehearsed(recording(name), kind)
    const second = await rehearsed(recording(name), kind)
    expect(second.result.toString()).toBe(first.result.toString())
    expect(first.seen.length).toBeGreaterThan(0)
    const last = new Map<string, unknown>()
    for (const item of await decoded(readFileSync(recording(name)))) {
      if (item.type !== "event" || item.event.type !== "object" || item.event.gvk !== kind) continue
      const { namespace, name: object, action } = item.event
      if (action === "applied")
        last.set(`${namespace}/${object}`, JSON.parse(Buffer.from(item.event.object).toString()))
      else last.delete(`${namespace}/${object}`)
    }
    const present = first.result.objects(kind)
    expect(present.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()).toEqual(
      [...last.keys()].sort(),
    )
    for (const object of present) {
      expect(object.metadata.annotations).toMatchObject({ marked: "yes" })
      expect(last.get(`${object.metadata.namespace}/${object.metadata.name}`)).toMatchObject({ spec: object.spec })
    }
  })

  test.for(publishedNames)("rehearses the published %s the same each time", async (name, context) => {
    if (whyNoPublished !== undefined) context.skip(whyNoPublished)
    const kinds = {
      "bare-pods.sktrace": "v1.Pod",
      "cronjob.sktrace": "batch/v1.CronJob",
      "dsb-scaling.sktrace": "apps/v1.Deployment",
    }
    const read = () => decoded(publishedTrace(name))
    const [first, second] = [await rehearsed(await read(), kinds[name]), await rehearsed(await read(), kinds[name])]
    expect(first.seen.length).toBeGreaterThan(0)
    expect(second.result.toString()).toBe(first.result.toString())
  })
})
