/** A recording that is made up as it is asked for, of any size: namespaces of Deployments that own Pods, some of which crash. The same questions have the same answers. */

import { type Finding, type Lane, type LaneObject, marks, tones } from "../../src/timeline/index.ts"
import type { HistorySource, LaneTile, ObjectChange, Overview, Span } from "../../src/ui/source/source.ts"

export interface FakeRecording {
  readonly span: Span
  readonly namespaces: ReadonlyArray<string>
  /** Deployments in each namespace; each owns three pods. */
  readonly deployments: number
  readonly isLive?: boolean
}

const podsEach = 3

const laneOf = (id: string, object: LaneObject, children: number): Lane => ({
  ...{ id, type: "object", object, children, objects: children },
})

/** A number that depends on the text only, 0 to 1. */
const chanceOf = (text: string): number => {
  let hash = 2166136261
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619)
  // Similar texts differ in the low bits only.
  return ((Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 8) % 65536) / 65536
}

export const fakeSource = ({ span, namespaces, deployments, isLive = false }: FakeRecording): HistorySource => {
  const namespaceLanes = namespaces.map((name): Lane => {
    const object = { gvk: "", namespace: "", name, uid: "" }
    return {
      ...{ id: `namespace/${name}`, type: "namespace", object, children: deployments },
      objects: deployments * (1 + podsEach),
    }
  })
  const deploymentLane = (namespace: string, index: number): Lane => {
    const name = `${["web", "cart", "checkout", "mail", "search"][index % 5]}-${Math.floor(index / 5)}`
    const object = { gvk: "apps/v1.Deployment", namespace, name, uid: `d-${namespace}-${index}` }
    return laneOf(`deployment.${namespace}.${index}`, object, podsEach)
  }
  const podLane = (namespace: string, index: number, pod: number): Lane => {
    const name = `${deploymentLane(namespace, index).object.name}-7d9f8c${pod}`
    const object = { gvk: "v1.Pod", namespace, name, uid: `p-${namespace}-${index}-${pod}` }
    return laneOf(`pod.${namespace}.${index}.${pod}`, object, 0)
  }
  const below = (parent: string | undefined): readonly [total: number, at: (place: number) => Lane | undefined] => {
    if (parent === undefined) return [namespaces.length, (place) => namespaceLanes[place]]
    const [type, first = "", second = ""] = parent.split(/[./]/)
    if (type === "namespace") return [deployments, (place) => deploymentLane(first, place)]
    return type === "deployment" ? [podsEach, (place) => podLane(first, Number(second), place)] : [0, () => undefined]
  }
  const middle = (span.from + span.to) / 2
  const toneAt = (lane: string, time: number): number => {
    if (time < span.from || time > span.to) return tones.unknown
    const chance = chanceOf(lane)
    if (chance < 0.15 && time > middle) return (time / 20e6 + chance * 9) % 1 < 0.4 ? tones.waiting : tones.bad
    if (chance > 0.9 && time > middle + (span.to - middle) * chanceOf(`${lane} end`)) return tones.absent
    return time < span.from + 30e6 * chance ? tones.waiting : tones.good
  }
  const tile = (lane: string, { from, to }: Span, width: number): Uint8Array => {
    const chance = chanceOf(lane)
    return Uint8Array.from({ length: width }, (_, column) => {
      const time = from + ((column + 1) * (to - from)) / width
      const before = toneAt(lane, time - (to - from) / width)
      const tone = toneAt(lane, time)
      const isGap = chance < 0.3 && Math.abs(time - (span.from + (middle - span.from) / 2)) < 15e6
      return tone | (tone === before ? 0 : marks.changed) | (isGap ? marks.gap : 0)
    })
  }
  const overview: Overview = {
    ...{ name: "demo.kubereel", span, isLive, lacks: [] },
    kinds: ["v1.Pod", "apps/v1.Deployment"].map((gvk) => ({
      ...{ gvk, since: span.from, until: span.to, namespaced: true },
    })),
  }
  const bad = (): Finding[] =>
    namespaces.flatMap((namespace) =>
      Array.from({ length: Math.min(deployments, 40) }, (_, index) => index).flatMap((index) =>
        Array.from({ length: podsEach }, (_, pod) => podLane(namespace, index, pod))
          .filter(({ id }) => chanceOf(id) < 0.15)
          .map(({ id, object }) => ({
            ...{ code: "crash-loop" as const, lane: id, object, from: middle, count: 7 },
            message: "back-off 5m0s restarting failed container",
          })),
      ),
    )
  const nothing = async (): Promise<void> => undefined
  return {
    overview: async () => overview,
    lanes: async ({ parent, offset, limit }) => {
      const [total, at] = below(parent)
      const places = Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, index) => offset + index)
      return { total, lanes: places.flatMap((place) => at(place) ?? []), lacks: [] }
    },
    laneOf: async ({ namespace, name }) => {
      for (let index = 0; index < deployments; index++)
        for (let pod = 0; pod < podsEach; pod++) {
          const lane = podLane(namespace, index, pod)
          if (lane.object.name !== name) continue
          return { lane, above: [`namespace/${namespace}`, deploymentLane(namespace, index).id] }
        }
      return undefined
    },
    tiles: async ({ lanes, width, parts, ...asked }, each) => {
      for (const lane of lanes) {
        const columns = tile(lane, asked, width)
        const changes = columns.filter((value) => (value & marks.changed) !== 0).length
        each({ lane, columns, changes })
        const condition: LaneTile = { lane, part: { id: "condition/Ready", label: "Ready" }, columns, changes }
        if (parts) each(condition)
      }
    },
    histogram: async ({ width }) =>
      Float64Array.from({ length: width }, (_, index) => Math.round(chanceOf(`bar ${index}`) ** 4 * 40)),
    findings: async (_, each) => {
      for (const finding of bad()) each(finding)
      each({ progress: 1 })
    },
    changes: async ({ object, from }, each) => {
      const change: ObjectChange = {
        ...{ type: "changed", object, resourceVersion: "2", time: from + 1000, sequence: 1, managers: [] },
        ...{ differences: [{ path: "status.phase", before: "Pending", after: "Running" }], hasMoreDifferences: false },
      }
      each(change)
      return { lacks: [] }
    },
    stateAt: async ({ name, namespace }, time) => ({ state: { kind: "Pod", metadata: { name, namespace } }, time }),
    differences: nothing,
  }
}
