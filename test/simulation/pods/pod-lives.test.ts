/** What the webhook answers, and what is decided later, with pods in a real API server. */
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  ApiClient,
  type ContainerStatus,
  kinds,
  type Metadata,
  type OwnerReference,
  type Pod,
} from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { recordedHash } from "../../../src/simulation/pods/pod-identity.ts"
import { lifeTiming, PodLives, type PodLivesOptions } from "../../../src/simulation/pods/pod-lives.ts"
import {
  LifeMatching,
  ownerKey,
  type RecordedLife,
  RecordedLives,
} from "../../../src/simulation/pods/recorded-lives.ts"

import { ReplayClock, type Speed } from "../../../src/simulation/schedule/replay-clock.ts"
import type { PatchOperation, PodReview } from "../../../src/simulation/webhook/webhook-server.ts"
import { type JsonObject, stablePodSpecHash } from "../../../src/trace/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

let sandbox: Sandbox
let client: ApiClient
beforeEach(async () => {
  sandbox = await Sandbox.start()
  client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
})
afterEach(async () => {
  client.close()
  await sandbox.close()
})

const placement = { nodeSelector: { type: "virtual" }, taintKey: "kwok-provider" }
const identity = { namespacePrefix: "virtual", placement }
const spec = { containers: [{ name: "main", image: "main:1" }] }
const life: RecordedLife = { startMs: 4000, readyMs: 2000, runMs: 37_000, exitCode: 3, restarts: 1 }
const web = ownerKey("apps/v1.Deployment", "shop", "web")

interface Setting {
  readonly owner?: string
  readonly known?: RecordedLife
  readonly speed?: Speed
  readonly chain?: ReadonlyArray<OwnerReference>
  readonly more?: Partial<PodLivesOptions>
}

const settingOf = ({ owner = web, known, speed = 10, chain = [], more = {} }: Setting) => {
  const clock = new ManualClock()
  const recorded = new RecordedLives()
  const learn = (learnt: RecordedLife): void => recorded.add(owner, stablePodSpecHash(spec), learnt, 1)
  if (known !== undefined) learn(known)
  const problems: string[] = []
  const schedule = new ReplayClock(0, speed, clock.monotonicMs())
  const lives = new PodLives({
    ...identity,
    own: { replay: "test" },
    client,
    clock,
    timing: lifeTiming(
      clock,
      () => schedule.speed,
      () => schedule,
    ),
    matching: new LifeMatching(recorded),
    ownersOf: async () => chain,
    isLearning: () => false,
    learn: async () => undefined,
    onProblem: (problem) => problems.push(problem),
    ...more,
  })
  return { clock, learn, lives, problems, schedule }
}

const podOf = (metadata: Partial<Metadata> = {}, more: object = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "", ...metadata },
  spec,
  ...more,
})

const creation = (pod: Pod, isDryRun = false): PodReview => ({
  uid: "r",
  operation: "CREATE",
  namespace: "virtual-shop",
  pod,
  before: undefined,
  isDryRun,
})

const deployment: ReadonlyArray<OwnerReference> = [
  { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-77", uid: "rs", controller: true },
  { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "d", controller: true },
]

/** All values that a patch sets, by pointer; maps that it adds whole count entry by entry. */
const valuesIn = (patch: ReadonlyArray<PatchOperation>): Record<string, unknown> =>
  Object.fromEntries(
    patch.flatMap(
      ({ path, value }): ReadonlyArray<readonly [string, unknown]> =>
        /s$/.test(path) && typeof value === "object" && !Array.isArray(value)
          ? Object.entries(value as object).map(([key, each]) => [`${path}/${key}`, each] as const)
          : [[path.replaceAll("~1", "/"), value]],
    ),
  )

describe("a pod that is created", () => {
  test("is told whose it is and how long it takes to start, at the speed of the replay", async () => {
    const { lives } = settingOf({ known: life, chain: deployment })
    const values = valuesIn(await lives.review(creation(podOf({ generateName: "web-77-" }))))
    expect(values).toEqual({
      "/metadata/labels/kubereel.dev/replay": "test",
      "/metadata/labels/simkube.io/simulation": "test",
      "/metadata/annotations/static.simkube.io/pod-spec-stable-hash": String(stablePodSpecHash(spec)),
      "/metadata/annotations/static.simkube.io/pod-sequence-number": "0",
      "/metadata/annotations/simkube.io/kwok-stage-create-delay": "400ms",
      "/metadata/annotations/simkube.io/kwok-stage-create-delay-jitter": "400ms",
      "/metadata/annotations/simkube.io/kwok-stage-ready-delay": "200ms",
      "/metadata/annotations/simkube.io/kwok-stage-ready-delay-jitter": "200ms",
      "/metadata/annotations/kubereel.dev/run-time": "37000ms",
      "/spec/nodeSelector": { type: "virtual" },
      "/spec/tolerations": [{ key: "kwok-provider", operator: "Exists", effect: "NoSchedule" }],
    })
  })

  test("keeps what it has", async () => {
    const { lives } = settingOf({})
    const labels = { "kubereel.dev/replay": "test", app: "web" }
    const toleration = { key: "kwok-provider", operator: "Exists", effect: "NoSchedule" }
    const placed = { ...spec, nodeSelector: { disk: "ssd" }, tolerations: [toleration] }
    const patch = await lives.review(creation({ ...podOf({ labels }), spec: placed }))
    expect(patch.map(({ path }) => path)).toEqual([
      "/metadata/labels/simkube.io~1simulation",
      "/metadata/annotations",
      "/spec/nodeSelector/type",
    ])
  })

  test("has the hash that was recorded, although the replay has placed it on virtual nodes (W-38)", () => {
    const toleration = { key: "kwok-provider", operator: "Exists", effect: "NoSchedule" }
    const own = { key: "gpu", operator: "Exists" }
    const recorded = { ...spec, priorityClassName: "fast", tolerations: [own] }
    const virtual = {
      ...recorded,
      priorityClassName: "virtual-fast",
      nodeSelector: { type: "virtual" },
      tolerations: [own, toleration],
    }
    expect(recordedHash(virtual as unknown as JsonObject, identity)).toBe(stablePodSpecHash(recorded))
    expect(recordedHash({ ...spec, nodeSelector: { type: "other" } }, identity)).not.toBe(stablePodSpecHash(spec))
  })

  test("but not stored takes no number", async () => {
    const { lives } = settingOf({ chain: deployment })
    const number = async (isDryRun: boolean) =>
      valuesIn(await lives.review(creation(podOf(), isDryRun)))[
        "/metadata/annotations/static.simkube.io/pod-sequence-number"
      ]
    expect([await number(false), await number(true), await number(false)]).toEqual(["0", "1", "1"])
    // The trace knows no life for them.
    expect(lives.count).toEqual({ created: 2, told: 0 })
  })

  test("waits for its life while the trace is being read", async () => {
    const setting: ReturnType<typeof settingOf> = settingOf({
      chain: deployment,
      more: { isLearning: () => true, learn: async () => setting.learn(life) },
    })
    const values = valuesIn(await setting.lives.review(creation(podOf())))
    expect(values["/metadata/annotations/kubereel.dev/run-time"]).toBe("37000ms")
  })
})

describe("a pod that runs", () => {
  /** Creates it as the webhook would have it, and returns its state with a status. */
  const running = async (lives: PodLives): Promise<PodReview> => {
    await client.create(kinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "virtual-shop" } })
    const values = valuesIn(await lives.review(creation(podOf())))
    const annotations = Object.fromEntries(
      Object.entries(values).flatMap(([path, value]) =>
        path.startsWith("/metadata/annotations/") ? [[path.slice("/metadata/annotations/".length), String(value)]] : [],
      ),
    )
    const created = await client.create(kinds.pods, podOf({ name: "p", namespace: "virtual-shop", annotations }))
    const pod = { ...created, status: { phase: "Running" } }
    return { uid: "r", operation: "UPDATE", namespace: "virtual-shop", pod, before: created, isDryRun: false }
  }
  const stored = async () => (await client.get(kinds.pods, { namespace: "virtual-shop", name: "p" })).metadata

  test("is told when it ends, with exit code and restarts, and only once", async () => {
    const { lives, clock } = settingOf({ known: life, owner: ownerKey("v1.Pod", "shop", "p") })
    const review = await running(lives)
    const values = valuesIn(await lives.review(review))
    expect(values).toEqual({
      "/metadata/labels/simkube.io/kwok-stage-complete": "true",
      "/metadata/annotations/simkube.io/kwok-stage-complete-time": new Date(
        clock.wallMicros() / 1000 + 3700,
      ).toISOString(),
      "/metadata/annotations/kubereel.dev/exit-code": "3",
      "/metadata/annotations/kubereel.dev/restarts": "1",
    })
    const labels = { "simkube.io/kwok-stage-complete": "true" }
    const again = { ...review, pod: { ...review.pod, metadata: { ...review.pod.metadata, labels } } }
    expect(await lives.review(again)).toEqual([])
  })

  test("is told with a later report if the server has not asked when it started", async () => {
    const { lives } = settingOf({ known: life, owner: ownerKey("v1.Pod", "shop", "p") })
    const review = await running(lives)
    const startedAt = "2026-11-23T04:00:07Z"
    const containerStatuses = [
      { name: "main", state: { running: { startedAt } } },
    ] as unknown as ReadonlyArray<ContainerStatus>
    const pod = { ...review.pod, status: { phase: "Running", containerStatuses } }
    expect(valuesIn(await lives.review({ ...review, pod, before: pod }))).toMatchObject({
      "/metadata/annotations/simkube.io/kwok-stage-complete-time": "2026-11-23T04:00:10.700Z",
    })
  })

  test("runs on if it was not recorded to end", async () => {
    const { lives } = settingOf({ known: { ...life, runMs: undefined }, owner: ownerKey("v1.Pod", "shop", "p") })
    expect(await lives.review(await running(lives))).toEqual([])
  })

  test("is told later if its life is read later, as if it had been known", async () => {
    const learning = { is: true }
    const { lives, clock, learn, problems } = settingOf({
      owner: ownerKey("v1.Pod", "shop", "p"),
      more: { isLearning: () => learning.is },
    })
    const review = await running(lives)
    const startedMs = clock.wallMicros() / 1000
    expect(await lives.review(review)).toEqual([])
    await clock.advance(2000)
    learn(life)
    await clock.advance(1000)
    await expect.poll(stored).toMatchObject({
      labels: { "simkube.io/kwok-stage-complete": "true" },
      annotations: { "simkube.io/kwok-stage-complete-time": new Date(startedMs + 3700).toISOString() },
    })
    expect(problems).toEqual([])
    lives.close()
  })

  test("is told after a pause when it ends, and the pause does not count", async () => {
    const { lives, clock, schedule } = settingOf({ known: life, owner: ownerKey("v1.Pod", "shop", "p") })
    const review = await running(lives)
    schedule.pause(clock.monotonicMs())
    expect(await lives.review(review)).toEqual([])
    await clock.advance(60_000)
    schedule.setSpeed(20, clock.monotonicMs())
    schedule.resume(clock.monotonicMs())
    const resumedMs = clock.wallMicros() / 1000
    await clock.advance(1000)
    await expect.poll(stored).toMatchObject({
      annotations: { "simkube.io/kwok-stage-complete-time": new Date(resumedMs + 1850).toISOString() },
    })
    lives.close()
  })
})
