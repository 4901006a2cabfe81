/** Long random lives of the state machine: whatever inputs arrive in whatever order, it stays consistent and continues. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Input } from "../../../src/kube/watch/protocol/protocol.ts"
import { complete, status, truncated, World } from "./machine-world.ts"

/** The next input; a stream is chosen among the open ones, the closed ones and unknown ones. */
interface Happening {
  readonly name: string
  readonly pick: number
  readonly code: number
  readonly flag: boolean
  readonly passedMs: number
}

const names = [
  ["discovered", "not-installed", "discovery-failed", "probed", "probe-failed", "retry", "retry", "successor-due"],
  ["opened", "refused", "first-bytes", "page-complete", "initial-events-end", "initial-events-end", "bookmark"],
  [
    "error-event",
    "malformed-line",
    "ended",
    "silent",
    "stalled",
    "changes-begin",
    "out-of-order",
    "delivered",
    "start",
    "restored-elsewhere",
  ],
  ["look", "look", "look", "caught-up"],
].flat()

const happening: fc.Arbitrary<Happening> = fc.record({
  name: fc.constantFrom(...names),
  pick: fc.nat(9),
  code: fc.constantFrom(400, 401, 403, 404, 410, 422, 429, 500, 503, 504),
  flag: fc.boolean(),
  passedMs: fc.constantFrom(0, 1, 500, 5000, 60_000, 300_000),
})
const life = fc.array(happening, { minLength: 1, maxLength: 120 })

const inputOf = (world: World, { name, pick, code, flag }: Happening): Input | undefined => {
  const open = [...world.open]
  const stream = pick < 8 && open.length > 0 ? (open[pick % open.length] ?? 0) : pick
  const version = String(Number(world.delivered ?? 100) + (pick === 0 ? -50 : pick))
  const message = flag ? "sendInitialEvents is forbidden" : "Too large resource version"
  const refusal = status(code, code >= 422 ? { message, ...(flag ? { retryAfterSeconds: pick } : {}) } : {})
  const uid = pick === 9 ? "other" : flag ? "uid" : undefined
  switch (name) {
    case "delivered":
      // An event, which only the current stream can bring, and only after a list.
      if (world.phase === "watching") {
        world.delivered = String(Number(world.delivered) + 1)
        world.progressed = true
      }
      return undefined
    case "start":
      return { type: "start", resumeVersion: version, clusterUid: uid, tellsCatchUp: flag }
    case "look":
      return { type: "look", hasMoved: pick === 0 }
    case "caught-up":
      return { type: "caught-up" }
    case "discovered":
      return { type: "discovered", clusterUid: uid }
    case "not-installed":
    case "retry":
    case "successor-due":
      return { type: name }
    case "discovery-failed":
    case "probe-failed":
      return { type: name, status: refusal }
    case "probed":
      return { type: "probed", version, clusterUid: uid }
    case "refused":
    case "error-event":
      return { type: name, stream, status: refusal }
    case "page-complete":
      return { type: "page-complete", stream, version, continueToken: flag ? "more" : undefined }
    case "initial-events-end":
      return { type: "initial-events-end", stream, version }
    case "restored-elsewhere":
      return { type: "restored-elsewhere", detail: "another says so", clusterUid: uid }
    case "malformed-line":
      return { type: "malformed-line", stream, description: "" }
    case "ended":
      return { type: "ended", stream, outcome: flag ? complete : truncated, whileBlocked: pick % 2 === 0 }
    default:
      return { type: name as "opened" | "first-bytes" | "bookmark" | "silent" | "stalled" | "out-of-order", stream }
  }
}

/** Runs a life and calls `look` with the result of each input. */
const live = (
  resumeVersion: string | undefined,
  happenings: ReadonlyArray<Happening>,
  look: (world: World) => void,
): World => {
  const world = new World()
  world.delivered = resumeVersion
  world.feed({ type: "start", resumeVersion, clusterUid: undefined, tellsCatchUp: true })
  look(world)
  for (const happening of happenings) {
    world.nowMs += happening.passedMs
    world.random = happening.pick / 10
    const input = inputOf(world, happening)
    // A timer that is not set does not fire.
    if (input === undefined || (input.type === "retry" && !world.isRetryDue)) continue
    world.feed(input)
    look(world)
  }
  return world
}

const resumed = fc.constantFrom(undefined, "100")

describe("whatever inputs arrive in whatever order", () => {
  test("there are never more than two streams, and none that the machine has forgotten", () => {
    fc.assert(
      fc.property(resumed, life, (resumeVersion, happenings) => {
        live(resumeVersion, happenings, (world) => {
          expect(world.open.size).toBeLessThanOrEqual(2)
          const known = [world.stream, world.successor].filter((stream) => stream > 0)
          expect([...world.open].sort()).toEqual(known.sort())
        })
      }),
    )
  })

  test("something will make it continue: a stream with a silence limit, one timer, or one enquiry", () => {
    fc.assert(
      fc.property(resumed, life, (resumeVersion, happenings) => {
        live(resumeVersion, happenings, (world) => {
          expect(world.goesOn).toBe(true)
          expect(world.isRetryDue).toBe(["absent", "backing-off"].includes(world.phase))
          expect(world.enquiry !== undefined).toBe(["discovering", "probing"].includes(world.phase))
        })
      }),
    )
  })

  test("a started list is completed before any watch starts, and keeps its reason until then", () => {
    fc.assert(
      fc.property(resumed, life, (resumeVersion, happenings) => {
        const { commands } = live(resumeVersion, happenings, () => undefined)
        let reason: string | undefined
        for (const command of commands) {
          if (command.type === "epoch-started") reason = "cluster-restored"
          // Then a list is due, unless it is the first one.
          if (command.type === "history-forgotten") reason = undefined
          if (command.type === "list-started") {
            if (reason !== undefined) expect(command.reason).toBe(reason)
            reason = command.reason
          }
          if (command.type === "list-completed") reason = undefined
          if (command.type === "open-watch") expect(reason).toBeUndefined()
        }
      }),
    )
  })

  test("after any life a healthy server brings it back to its watch in a few steps", () => {
    fc.assert(
      fc.property(resumed, life, (resumeVersion, happenings) => {
        const world = live(resumeVersion, happenings, () => undefined)
        for (let steps = 0; steps < 12 && world.phase !== "watching"; steps++) {
          const version = String(Number(world.delivered ?? 100) + 1)
          if (world.isRetryDue) world.feed({ type: "retry" })
          else if (world.enquiry === "discover") world.feed({ type: "discovered", clusterUid: "uid" })
          else if (world.enquiry === "probe") world.feed({ type: "probed", version, clusterUid: "uid" })
          else if (world.phase === "paging") {
            world.feed({ type: "page-complete", stream: world.stream, version, continueToken: undefined })
          } else world.feed({ type: "initial-events-end", stream: world.stream, version })
        }
        expect(world.phase).toBe("watching")
      }),
    )
  })
})
