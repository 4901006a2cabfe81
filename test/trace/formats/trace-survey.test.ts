/** What a conversion must know about a whole trace: the objects it contains, and the lives of its pods. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { openDecoder } from "../../../src/trace/files/codecs.ts"
import { surveyTrace } from "../../../src/trace/formats/convert.ts"
import { decodedItems } from "../../../src/trace/formats/decoded-items.ts"
import { NdjsonWriter } from "../../../src/trace/formats/ndjson/ndjson-writer.ts"
import { withoutOwned } from "../../../src/trace/formats/owned-items.ts"
import { stablePodSpecHash } from "../../../src/trace/formats/simkube/hash/stable-pod-spec.ts"
import { isJsonObject, parseExactJson } from "../../../src/trace/json/exact-json.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { converted } from "./traces.ts"

const start = 1_795_253_400
const deployment = "apps/v1.Deployment"
const replicaSet = "apps/v1.ReplicaSet"
const pod = "v1.Pod"

interface Step {
  readonly gvk: string
  readonly name: string
  /** Seconds since the window's start. */
  readonly at?: number
  readonly action?: "applied" | "deleted" | "vanished"
  readonly uid?: string
  readonly owner?: readonly [gvk: string, name: string]
  /** Seconds since the window's start. */
  readonly life?: { readonly start?: number; readonly end?: number }
  readonly isSnapshot?: boolean
  readonly namespace?: string
}

const instant = (seconds: number): string => new Date((start + seconds) * 1000).toISOString().replace(".000Z", "Z")

const stateOf = ({ start: begin, end }: NonNullable<Step["life"]>): object => {
  if (begin === undefined) return { waiting: {} }
  if (end === undefined) return { running: { startedAt: instant(begin) } }
  return { terminated: { startedAt: instant(begin), finishedAt: instant(end) } }
}

const spec = { containers: [{ name: "web", image: "web:1" }] }

const objectOf = ({ gvk, name, namespace = "shop", uid = `uid of ${name}`, owner, life }: Step): object => {
  const [apiVersion, kind] = [gvk.slice(0, gvk.lastIndexOf(".")), gvk.slice(gvk.lastIndexOf(".") + 1)]
  const references = owner && [
    {
      apiVersion: owner[0].slice(0, owner[0].lastIndexOf(".")),
      kind: owner[0].slice(owner[0].lastIndexOf(".") + 1),
      name: owner[1],
      uid: `uid of ${owner[1]}`,
      controller: true,
    },
  ]
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== "" && { namespace }), uid, ...(references && { ownerReferences: references }) },
    spec: gvk === pod ? spec : { template: { spec } },
    ...(gvk === pod && { status: life === undefined ? {} : { containerStatuses: [{ state: stateOf(life) }] } }),
  }
}

const header = {
  window: { start: start * 1_000_000, end: (start + 1000) * 1_000_000 },
  cut: 9,
  kinds: [deployment, replicaSet, pod],
  incomplete: [],
}

/** A recorder's NDJSON. */
const ndjson = (steps: ReadonlyArray<Step>, more: ReadonlyArray<TraceItem> = []): Buffer => {
  const writer = new NdjsonWriter(header)
  const pieces: Uint8Array[] = []
  for (const item of more) if (item.type !== "header") writer.addItem(item)
  for (const [index, step] of steps.entries()) {
    const { gvk, name, at = 0, action = "applied", uid = `uid of ${name}`, namespace = "shop", isSnapshot } = step
    const object = action === "vanished" ? Buffer.alloc(0) : Buffer.from(JSON.stringify(objectOf(step)))
    const time = (start + at) * 1_000_000
    const facts = { gvk, action, uid, namespace, name, resourceVersion: String(index), object }
    writer.addItem({
      type: "event",
      event: { type: "object", sequence: index + 1, time, ...facts },
      isSnapshot: isSnapshot === true,
    })
    const piece = writer.take()
    if (piece !== undefined) pieces.push(piece)
  }
  return Buffer.concat([...pieces, writer.end()])
}

/** What SimKube would read. */
const asSimkube = async (trace: Uint8Array) => {
  const { bytes } = await converted(trace, "ndjson", "simkube", 999)
  const decoder = await openDecoder("simkube")
  const lifecycles: string[] = []
  const owners = new Map<string, ReadonlyArray<string>>()
  let tracked: ReadonlyArray<string> = []
  for (const item of [...decoder.push(bytes), ...decoder.end()]) {
    if (item.type === "lifecycles") {
      for (const [hash, lives] of item.pods) {
        expect(hash).toBe(stablePodSpecHash(spec))
        for (const life of lives) {
          const times = life.state === "empty" ? "" : `${life.start - start}-`
          lifecycles.push(`${item.gvk} ${item.owner} ${times}${life.state === "finished" ? life.end - start : ""}`)
        }
      }
    }
    if (item.type === "config") {
      const { trackedObjects } = JSON.parse(Buffer.from(item.config).toString()) as {
        readonly trackedObjects: Readonly<Record<string, { readonly trackLifecycle?: boolean }>>
      }
      tracked = Object.keys(trackedObjects).filter((gvk) => trackedObjects[gvk]?.trackLifecycle === true)
    }
    if (item.type === "event" && item.event.type === "object") owners.set(item.event.name, ownersIn(item.event.object))
  }
  return { lifecycles, tracked, owners }
}

/** Names in the owner references of an object's JSON; with their UIDs, if they have any. */
const ownersIn = (json: Uint8Array): ReadonlyArray<string> => {
  const object = parseExactJson(json)
  const metadata = isJsonObject(object) ? object.metadata : undefined
  const references = isJsonObject(metadata) ? metadata.ownerReferences : undefined
  return Array.isArray(references) ? references.map(({ name, uid }) => [name, uid].filter(Boolean).join(" ")) : []
}

const web: Step = { gvk: deployment, name: "web" }
const between: Step = { gvk: replicaSet, name: "web-1", owner: [deployment, "web"] }
const running = (name: string, owner: Step["owner"], life: Step["life"], more: Partial<Step> = {}): Step => ({
  gvk: pod,
  name,
  ...(owner !== undefined && { owner }),
  ...(life !== undefined && { life }),
  ...more,
})

describe("the lives of pods in a recorder's NDJSON", () => {
  test("are computed from their status, and are listed under the outermost owner in the trace, which tracks them then", async () => {
    const steps = [web, between, running("a", [replicaSet, "web-1"], { start: 5, end: 50 })]
    for (const order of [steps, [...steps].reverse()]) {
      const { lifecycles, tracked } = await asSimkube(ndjson(order))
      expect(lifecycles).toEqual([`${deployment} shop/web 5-50`])
      expect(tracked).toEqual([deployment])
    }
  })

  test("of a pod below owners that own each other are listed under the nearest of them: none is the outermost", async () => {
    const one: Step = { gvk: deployment, name: "one", owner: [deployment, "two"] }
    const two: Step = { gvk: deployment, name: "two", owner: [deployment, "one"] }
    const below: Step = { gvk: deployment, name: "below", owner: [deployment, "one"] }
    const pods = ["one", "two", "below"].map((name, at) => running(`of ${name}`, [deployment, name], { start: at }))
    const { lifecycles } = await asSimkube(ndjson([one, two, below, ...pods]))
    expect(lifecycles).toEqual([`${deployment} shop/one 0-`, `${deployment} shop/one 2-`, `${deployment} shop/two 1-`])
  })

  test("of a pod without owners are listed under itself, and of one whose owners are not in the trace nowhere", async () => {
    const { lifecycles, tracked } = await asSimkube(
      ndjson([running("bare", undefined, { start: 5 }), running("lost", [replicaSet, "elsewhere"], { start: 6 })]),
    )
    expect(lifecycles).toEqual([`${pod} shop/bare 5-`])
    expect(tracked).toEqual([pod])
  })

  test("end when the pod is deleted or has vanished, and continue across restarts of containers", async () => {
    const owner = [deployment, "web"] as const
    const { lifecycles } = await asSimkube(
      ndjson([
        web,
        running("deleted", owner, { start: 1 }, { at: 1 }),
        running("vanished", owner, { start: 2 }, { at: 2 }),
        running("again", owner, { start: 3, end: 4 }, { at: 4 }),
        running("again", owner, { start: 6 }, { at: 6 }),
        running("again", owner, { start: 6, end: 7 }, { at: 7 }),
        running("waiting", owner, {}),
        running("deleted", owner, { start: 1 }, { at: 40, action: "deleted" }),
        { gvk: pod, name: "vanished", at: 60, action: "vanished" },
      ]),
    )
    expect(lifecycles).toEqual(["1-40", "2-60", "3-7"].map((life) => `${deployment} shop/web ${life}`))
  })

  test("under a reused name are two, distinguished by UID", async () => {
    const owner = [deployment, "web"] as const
    const { lifecycles } = await asSimkube(
      ndjson([
        web,
        running("db-0", owner, { start: 1 }, { uid: "one" }),
        running("db-0", owner, { start: 1 }, { uid: "one", at: 9, action: "deleted" }),
        running("db-0", owner, { start: 20 }, { uid: "two", at: 20 }),
      ]),
    )
    expect(lifecycles).toEqual(["1-9", "20-"].map((life) => `${deployment} shop/web ${life}`))
  })

  test("are cut at the window's start, and those outside of it are left out", async () => {
    const owner = [deployment, "web"] as const
    const { lifecycles } = await asSimkube(
      ndjson([
        { ...web, isSnapshot: true },
        running("spanning", owner, { start: -100, end: 2000 }, { isSnapshot: true }),
        running("before", owner, { start: -100, end: -50 }, { isSnapshot: true }),
        running("after", owner, { start: 1500 }),
      ]),
    )
    expect(lifecycles).toEqual([`${deployment} shop/web 0-2000`])
  })

  test("are those that the trace lists, if it lists any", async () => {
    const listed: TraceItem = {
      type: "lifecycles",
      gvk: deployment,
      owner: "shop/web",
      pods: new Map([[stablePodSpecHash(spec), [{ state: "running", start: start + 77 }]]]),
    }
    const trace = ndjson([web, running("a", [deployment, "web"], { start: 5 })], [listed])
    expect((await asSimkube(trace)).lifecycles).toEqual([`${deployment} shop/web 77-`])
  })

  test("are listed under the first owner that the trace's configuration tracks, if it has one", async () => {
    const config = (kinds: object): TraceItem => ({
      type: "config",
      config: Buffer.from(JSON.stringify({ trackedObjects: kinds })),
    })
    const steps = [web, between, running("a", [replicaSet, "web-1"], { start: 5 })]
    const tracking = { trackLifecycle: true }
    expect(
      (await asSimkube(ndjson(steps, [config({ [deployment]: tracking, [replicaSet]: tracking, [pod]: {} })])))
        .lifecycles,
    ).toEqual([`${replicaSet} shop/web-1 5-`])
    expect((await asSimkube(ndjson(steps, [config({ [deployment]: {}, [pod]: tracking })]))).lifecycles).toEqual([])
  })

  test("are read even if some pods cannot be understood", async () => {
    const odd = (name: string, status: string): string =>
      JSON.stringify({ metadata: { name, namespace: "shop", uid: name }, spec, status: JSON.parse(status) as unknown })
    const writer = new NdjsonWriter(header)
    for (const [index, object] of [
      odd("a", '{"containerStatuses":7}'),
      odd("b", "null"),
      odd("c", '{"containerStatuses":[{"state":{"running":{"startedAt":"soon"}}}]}'),
      JSON.stringify(objectOf(running("d", undefined, { start: 5 }))),
    ].entries()) {
      const name = "abcd"[index] ?? ""
      const facts = { gvk: pod, action: "applied", uid: name, namespace: "shop", name, resourceVersion: "1" } as const
      writer.addItem({
        type: "event",
        event: { type: "object", sequence: index + 1, time: start * 1_000_000, ...facts, object: Buffer.from(object) },
        isSnapshot: false,
      })
    }
    expect((await asSimkube(writer.end())).lifecycles).toEqual([`${pod} shop/d 5-`])
  })
})

describe("an owner reference is kept exactly if its owner is anywhere in the trace", () => {
  const names = ["a", "b", "c", "d"]
  const step = fc.record({
    name: fc.constantFrom(...names),
    owner: fc.option(fc.constantFrom(...names, "elsewhere"), { nil: undefined }),
  })

  test.each(["simkube", "kwok"] as const)("in whatever order they occur, as %s", async (format) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const held = new Set(steps.map(({ name }) => name))
        const trace = ndjson(
          steps.map(({ name, owner }, index) => ({
            gvk: deployment,
            name,
            at: index,
            ...(owner !== undefined && { owner: [deployment, owner] as const }),
          })),
        )
        const { bytes } = await converted(trace, "ndjson", format)
        const decoder = await openDecoder(format)
        const found = new Map<string, ReadonlyArray<string>>()
        for (const item of [...decoder.push(bytes), ...decoder.end()])
          if (item.type === "event" && item.event.type === "object")
            found.set(item.event.name, ownersIn(item.event.object))
        for (const name of held) {
          const owner = steps.findLast((each) => each.name === name)?.owner
          // Without its UID, which differs in every other cluster.
          expect([name, found.get(name)]).toEqual([name, owner !== undefined && held.has(owner) ? [owner] : []])
        }
      }),
      { numRuns: 60 },
    )
  })

  test("and if it is the same object, not another of its name", async () => {
    const owned = { gvk: deployment, name: "web", owner: [deployment, "top"] as const }
    for (const [uid, owners] of [
      ["uid of top", ["top"]],
      ["uid of its successor", []],
    ] as const) {
      const trace = ndjson([{ gvk: deployment, name: "top", uid }, owned])
      expect((await asSimkube(trace)).owners.get("web")).toEqual(owners)
    }
  })

  test("and if the format can represent its kind", async () => {
    const owned = { gvk: deployment, name: "web", owner: ["v1.ConfigMap", "settings"] as const }
    const trace = ndjson([{ gvk: "v1.ConfigMap", name: "settings" }, owned])
    expect((await asSimkube(trace)).owners.get("web")).toEqual([])
  })
})

describe("a trace without what its objects own", () => {
  const filterOf = async (steps: ReadonlyArray<Step>, to: "ndjson" | "simkube" = "ndjson") => {
    const decoder = await openDecoder("ndjson")
    const trace = ndjson(steps)
    const survey = await surveyTrace(decodedItems(pieces(trace), await openDecoder("ndjson")))
    const filter = withoutOwned(survey, (gvk) => to === "ndjson" || gvk !== "v1.ConfigMap")
    const kept = [...decoder.push(trace), ...decoder.end()].flatMap((given) => {
      const item = filter.filtered(given)
      return item?.type === "event" && item.event.type === "object" ? [`${item.event.action} ${item.event.name}`] : []
    })
    return { kept, warnings: filter.warnings }
  }
  const kept = async (...given: Parameters<typeof filterOf>): Promise<ReadonlyArray<string>> =>
    (await filterOf(...given)).kept

  test("warns of owners whose kind it does not have, because the owners' owners may create their objects again", async () => {
    const pods = [running("a", [replicaSet, "web-1"], {}), running("bare", undefined, {})]
    const { kept: all, warnings } = await filterOf([web, ...pods])
    expect(all).toEqual(["applied web", "applied a", "applied bare"])
    expect(warnings).toEqual([expect.stringContaining(`no ${replicaSet}, so what they own could not be told apart`)])
    expect((await filterOf([web, between, ...pods])).warnings).toEqual([])
  })

  test("has the outermost owners, in whatever order they occur", async () => {
    const steps = [web, between, running("a", [replicaSet, "web-1"], { start: 5 }), running("bare", undefined, {})]
    expect(await kept(steps)).toEqual(["applied web", "applied bare"])
    expect(await kept([...steps].reverse())).toEqual(["applied bare", "applied web"])
  })

  test("has what is owned by objects that are not in it, or that the format cannot represent", async () => {
    const owned: Step = { gvk: deployment, name: "web", owner: ["v1.ConfigMap", "settings"] }
    expect(await kept([owned])).toEqual(["applied web"])
    const both = [{ gvk: "v1.ConfigMap", name: "settings" }, owned]
    expect(await kept(both)).toEqual(["applied settings"])
    expect(await kept(both, "simkube")).toEqual(["applied settings", "applied web"])
  })

  test("has objects that own each other", async () => {
    expect(
      await kept([
        { gvk: deployment, name: "one", owner: [deployment, "other"] },
        { gvk: deployment, name: "other", owner: [deployment, "one"] },
        { gvk: deployment, name: "child", owner: [deployment, "one"] },
      ]),
    ).toEqual(["applied one", "applied other"])
  })

  test("ends an adopted object, and shows an abandoned one", async () => {
    const pet = (owner?: Step["owner"], action: Step["action"] = "applied"): Step => ({
      gvk: replicaSet,
      name: "pet",
      action,
      ...(owner !== undefined && { owner }),
    })
    const owner = [deployment, "web"] as const
    expect(await kept([web, pet(), pet(owner), pet(owner, "deleted")])).toEqual([
      "applied web",
      "applied pet",
      "vanished pet",
    ])
    expect(await kept([web, pet(owner), pet(), pet(undefined, "deleted")])).toEqual([
      "applied web",
      "applied pet",
      "deleted pet",
    ])
  })
})

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes
}
