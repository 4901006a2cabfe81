import { describe, expect, test } from "vitest"
import type { LookUpOutcome } from "../../../src/actors/owner-resolver/look-up.ts"
import { defaultLookUpLimits } from "../../../src/actors/owner-resolver/look-up-queue.ts"
import { type EarlierAnswer, OwnerResolver } from "../../../src/actors/owner-resolver/resolver.ts"
import type { OwnerAnswer, OwnerQuestion } from "../../../src/wire/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const reference = (kind: string, uid: string, apiVersion = "apps/v1") => ({
  apiVersion,
  kind,
  name: `name of ${uid}`,
  uid,
})
const referencing = (...references: ReadonlyArray<ReturnType<typeof reference>>): string => JSON.stringify(references)

const questionOf = (uid: string, gvk = "apps/v1.ReplicaSet"): OwnerQuestion => ({
  uid,
  gvk,
  namespace: "shop",
  name: `name of ${uid}`,
})

interface BenchOptions {
  /** Previous results, by UID; an empty one is an object of the recording. */
  readonly graph?: Readonly<Record<string, Partial<EarlierAnswer> | "recorded">>
  /** UIDs of owners in the database that are to be looked up. */
  readonly open?: ReadonlyArray<string>
  /** Results of the API server; nothing for those not listed. */
  readonly server?: Readonly<Record<string, LookUpOutcome>>
  readonly recordedKinds?: ReadonlyArray<string>
  readonly maximumPending?: number
}

const bench = ({
  graph: stored = {},
  open = [],
  server = {},
  recordedKinds = [],
  maximumPending = 100,
}: BenchOptions) => {
  const clock = new ManualClock()
  const graph: Record<string, Partial<EarlierAnswer> | "recorded"> = { ...stored }
  const asked: Array<string> = []
  const answers: Array<OwnerAnswer> = []
  const resolver = new OwnerResolver({
    graph: {
      answerOf: ({ uid }) => {
        const known = graph[uid]
        return known === undefined || known === "recorded"
          ? undefined
          : { namespace: "shop", ownerReferences: "", found: true, ...known }
      },
      isRecorded: ({ uid }) => graph[uid] === "recorded",
      open: () => open.filter((uid) => graph[uid] === undefined).map((uid) => questionOf(uid)),
    },
    ask: ({ uid }) => {
      asked.push(uid)
      const outcome = server[uid]
      return outcome === undefined ? new Promise(() => undefined) : Promise.resolve(outcome)
    },
    recordedKinds: new Set(recordedKinds),
    clock,
    random: () => 0.5,
    limits: { ...defaultLookUpLimits, maximumPending },
    listener: {
      // As in the store: what was learnt is kept when the owner goes.
      answered: (answer) => {
        answers.push(answer)
        const { uid, found: isFound, namespace, recorded } = answer
        if (recorded) return
        const ownerReferences = Buffer.from(answer.ownerReferences).toString()
        if (isFound || graph[uid] === undefined) graph[uid] = { namespace, ownerReferences, found: isFound }
      },
      failed: () => undefined,
    },
  })
  return { clock, asked, answers, resolver, server: server as Record<string, LookUpOutcome> }
}

const found = (ownerReferences = "", namespace = "shop"): LookUpOutcome => ({
  tag: "found",
  namespace,
  ownerReferences: Buffer.from(ownerReferences),
})

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe("the owner-resolver", () => {
  test("follows owners upwards until one has none", async () => {
    const { resolver, asked, answers } = bench({
      server: {
        rs: found(referencing(reference("Deployment", "web"))),
        web: found(referencing(reference("App", "app", "example.com/v1"))),
        app: found("", ""),
      },
    })
    resolver.consider(questionOf("rs"))
    await settled()
    expect(asked).toEqual(["rs", "web", "app"])
    expect(answers.map(({ uid, gvk, namespace, found: isFound }) => [uid, gvk, namespace, isFound])).toEqual([
      ["rs", "apps/v1.ReplicaSet", "shop", true],
      ["web", "apps/v1.Deployment", "shop", true],
      ["app", "example.com/v1.App", "", true],
    ])
  })

  test("never looks up a kind that is recorded whole", () => {
    const { resolver, asked } = bench({ recordedKinds: ["apps/v1.ReplicaSet"] })
    resolver.consider(questionOf("rs"))
    expect(asked).toEqual([])
  })

  test("looks up only what the database lacks, including owners of owners it has", () => {
    const { resolver, asked, answers } = bench({
      graph: { rs: { ownerReferences: referencing(reference("Deployment", "web")) }, app: "recorded" },
    })
    // A known owner is looked up again, because it may have been adopted since.
    resolver.consider(questionOf("rs"))
    expect(asked).toEqual(["rs", "web"])
    resolver.consider(questionOf("app"))
    expect(asked).toEqual(["rs", "web"])
    // No look-up was made, and the row need not stay open.
    expect(answers).toMatchObject([{ uid: "app", recorded: true }])
  })

  test("caches that an owner is gone for a while, then looks it up again", async () => {
    const { resolver, asked, answers, clock } = bench({ server: { rs: { tag: "gone", namespace: "shop" } } })
    resolver.consider(questionOf("rs"))
    await settled()
    resolver.consider(questionOf("rs"))
    expect(asked).toEqual(["rs"])
    expect(answers).toMatchObject([{ uid: "rs", found: false }])
    clock.advance(61_000)
    resolver.consider(questionOf("rs"))
    expect(asked).toEqual(["rs", "rs"])
  })

  test("looks a known owner up again after a while, so that an adoption is noticed", async () => {
    const { resolver, asked, clock } = bench({ server: { rs: found() } })
    resolver.consider(questionOf("rs"))
    await settled()
    clock.advance(9 * 60_000)
    resolver.consider(questionOf("rs"))
    expect(asked).toEqual(["rs"])
    clock.advance(2 * 60_000)
    resolver.consider(questionOf("rs"))
    expect(asked).toEqual(["rs", "rs"])
  })

  test("reads an adoption of an owner once a new object names it, and follows it", async () => {
    const { resolver, asked, clock, server } = bench({ server: { rs: found(), web: found() } })
    resolver.consider(questionOf("rs"))
    await settled()
    server.rs = found(referencing(reference("Deployment", "web")))
    clock.advance(11 * 60_000)
    resolver.consider(questionOf("rs"))
    await settled()
    expect(asked).toEqual(["rs", "rs", "web"])
  })

  test("repeats nothing when it reads the database: at a start, before an export", async () => {
    const graph = {
      rs: { ownerReferences: referencing(reference("Deployment", "web")) },
      lost: { found: false },
      web: {},
    } as const
    const { resolver, asked, clock } = bench({ graph, open: ["rs", "lost"] })
    resolver.rescan()
    clock.advance(3_600_000)
    expect(await resolver.settle(1000)).toEqual([])
    expect(asked).toEqual([])
  })

  test("no export waits for an owner of which something is known", async () => {
    const { resolver, asked } = bench({ graph: { rs: {}, lost: { found: false } } })
    resolver.consider(questionOf("rs"))
    resolver.consider(questionOf("lost"))
    expect(asked).toEqual(["rs", "lost"])
    expect(resolver.statistics.pending).toBe(0)
    expect(await resolver.settle(1000)).toEqual([])
  })

  test("terminates on circles of owners", async () => {
    const { resolver, asked } = bench({
      server: {
        a: found(referencing(reference("ReplicaSet", "b"))),
        b: found(referencing(reference("ReplicaSet", "a"))),
      },
    })
    resolver.consider(questionOf("a"))
    await settled()
    expect(asked).toEqual(["a", "b"])
    const inDatabase = bench({
      graph: {
        a: { ownerReferences: referencing(reference("ReplicaSet", "b")) },
        b: { ownerReferences: referencing(reference("ReplicaSet", "a")) },
      },
    })
    inDatabase.resolver.consider(questionOf("a"))
    expect(inDatabase.asked).toEqual(["a", "b"])
  })

  test("finds questions that it had to drop again in the database", async () => {
    const uids = Array.from({ length: 10 }, (_, index) => `rs-${index}`)
    const { resolver, asked } = bench({
      open: uids,
      server: Object.fromEntries(uids.map((uid) => [uid, found()])),
      maximumPending: 4,
    })
    resolver.rescan()
    await settled()
    expect(new Set(asked)).toEqual(new Set(uids))
    expect(asked).toHaveLength(10)
  })

  test("settles at once if nothing is open, else when all is known, and names what is open at the deadline", async () => {
    const { resolver, clock } = bench({ server: { rs: found() } })
    expect(await resolver.settle(1000)).toEqual([])
    resolver.consider(questionOf("rs"))
    expect(await resolver.settle(1000)).toEqual([])
    resolver.consider(questionOf("silent"))
    const settling = resolver.settle(1000)
    clock.advance(1000)
    expect((await settling).map(({ uid }) => uid)).toEqual(["silent"])
    expect(clock.pending).toBe(0)
  })

  test("callers that wait are released when it is closed", async () => {
    const { resolver } = bench({})
    resolver.consider(questionOf("silent"))
    const settling = resolver.settle(1000)
    resolver.close()
    expect(await settling).toEqual([])
  })
})
