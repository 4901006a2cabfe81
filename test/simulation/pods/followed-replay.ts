/** Replays whose pods follow recorded lives, and what becomes of those pods, in any cluster. */
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../../../src/clock.ts"
import { type ApiClient, kinds, type Pod } from "../../../src/kube/index.ts"
import { followRecordedLives } from "../../../src/simulation/pods/followed-pods.ts"
import { LifeScout } from "../../../src/simulation/pods/life-source.ts"
import { Replay, type ReplayOptions } from "../../../src/simulation/replay/replay.ts"
import type { ReplayReport } from "../../../src/simulation/report/replay-report.ts"
import { registeredWebhook } from "../../../src/simulation/webhook/pod-webhook.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { plainReplay } from "../replay/plain-replay.ts"
import { event, start } from "./recorded-pod.ts"

/** Everything about one pod that tests look at; times are ms since the Unix epoch by this process's clock. */
export interface LivedPod {
  readonly owner: string
  pod: Pod
  /** When each phase was first seen: it began by then. */
  readonly phases: Map<string, number>
  /** When the look began that was the last without it: it had not begun by then. */
  readonly notBefore: Map<string, number>
  readyAt: number | undefined
}

export interface Followed {
  readonly report: ReplayReport
  /** By name. */
  readonly pods: ReadonlyMap<string, LivedPod>
  readonly problems: ReadonlyArray<string>
}

/** SimKube's trace with these objects at its start, an end `seconds` later, and lives of pods. */
export const simkubeTrace = (
  seconds: number,
  objects: ReadonlyArray<readonly [gvk: string, name: string, object: object]>,
  lives: ReadonlyArray<readonly [gvk: string, name: string, ...runs: ReadonlyArray<number>]>,
): ReadonlyArray<TraceItem> => {
  const tracked = Object.fromEntries(objects.map(([gvk]) => [gvk, { trackLifecycle: true }]))
  const from = start / 1_000_000
  return [
    { type: "config", config: Buffer.from(JSON.stringify({ trackedObjects: tracked })) },
    { type: "batch", time: start },
    ...objects.map(([gvk, name, object]): TraceItem => {
      return { type: "event", isSnapshot: false, event: { ...event(0, gvk, name, object), uid: "" } }
    }),
    { type: "batch", time: start + seconds * 1_000_000 },
    ...lives.map(([gvk, name, ...runs]): TraceItem => {
      const pods = runs.map((run) => ({ state: "finished" as const, start: from, end: from + run }))
      return { type: "lifecycles", gvk, owner: `shop/${name}`, pods: new Map([[7n, pods]]) }
    }),
  ]
}

/** An item of a trace, or what the replay waits for before it reads on. Whoever reads the trace ahead does not wait. */
export type PacedItem = TraceItem | (() => Promise<unknown>)

async function* ahead(items: ReadonlyArray<PacedItem>): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  for (const item of items) if (typeof item !== "function") yield [item]
}

async function* paced(items: ReadonlyArray<PacedItem>): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
  for (const item of items)
    if (typeof item === "function") await item()
    else yield [item]
}

/** `clients`: one for the replay, one for its webhook. The trace does not end, and nothing is removed, before `during` has. */
export const followedReplay = async (
  [client, podsClient]: readonly [ApiClient, ApiClient],
  name: string,
  items: ReadonlyArray<PacedItem>,
  more: Partial<ReplayOptions> & { readonly isFollowed?: boolean } = {},
  during: (pods: ReadonlyMap<string, LivedPod>) => Promise<void> = async () => undefined,
): Promise<Followed> => {
  const { isFollowed = true, ...options } = more
  const problems: string[] = []
  const followPods = followRecordedLives({
    client: podsClient,
    source: () => new LifeScout(async () => ahead(items)),
    webhook: registeredWebhook(podsClient, { host: "127.0.0.1", listen: { address: "127.0.0.1", port: 0 } }),
    random: () => 0,
    onProblem: (problem) => problems.push(problem),
  })
  const pods = new Map<string, LivedPod>()
  const acting = Promise.withResolvers<void>()
  const replay = new Replay({
    ...plainReplay(client, name, paced([...items, () => acting.promise]), systemClock.wallMicros()),
    ...options,
    ...(isFollowed && { followPods }),
  })
  let isOver = false
  const looking = look(podsClient, `${options.namespacePrefix ?? "virtual"}-shop`, pods, () => isOver)
  const running = replay.run().finally(() => {
    isOver = true
  })
  const [report] = await Promise.all([running, looking, during(pods).finally(acting.resolve)])
  return { report, pods, problems }
}

/** ms between two looks: how exact times are. */
const lookMs = 40

const look = async (
  client: ApiClient,
  namespace: string,
  pods: Map<string, LivedPod>,
  isOver: () => boolean,
): Promise<void> => {
  for (let lastMs = Date.now(); !isOver(); await sleep(lookMs)) {
    const beganMs = Date.now()
    const { items } = await client.list<Pod>(kinds.pods, { namespace })
    const now = Date.now()
    for (const pod of items) {
      const { name, ownerReferences } = pod.metadata
      const owner = ownerReferences?.find(({ controller }) => controller === true)?.kind ?? ""
      const known: LivedPod = pods.get(name) ?? {
        owner,
        pod,
        phases: new Map(),
        notBefore: new Map(),
        readyAt: undefined,
      }
      pods.set(name, known)
      known.pod = pod
      const phase = pod.status?.phase ?? ""
      if (!known.phases.has(phase)) {
        known.phases.set(phase, now)
        known.notBefore.set(phase, lastMs)
      }
      if (pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"))
        known.readyAt ??= now
    }
    lastMs = beganMs
  }
}

/** ms from the first sight of a phase to that of another. */
export const msBetween = ({ phases }: LivedPod, from: string, to: string): number =>
  (phases.get(to) ?? Number.NaN) - (phases.get(from) ?? Number.NaN)

/** When it was first seen to have succeeded. */
export const ended = ({ phases }: LivedPod): number => phases.get("Succeeded") ?? Number.POSITIVE_INFINITY

/** Waits for a condition of what is seen; a replay that ends without it would never fulfil it. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  const longestMs = patient(10_000)
  for (const deadline = Date.now() + longestMs; !(await condition()); await sleep(lookMs))
    if (Date.now() > deadline) throw new Error(`waited ${longestMs / 1000} s in vain`)
}
