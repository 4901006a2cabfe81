/** A client that follows a recording loses what it may not see any more, also if no one can say what it may; and is told why. */
import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import type { Decision } from "../../../src/recorder/access/access.ts"
import { type RightsEnding, rightsChanged, rightsMs, undecidedMs } from "../../../src/recorder/http/changed-rights.ts"
import type { ShownKind } from "../../../src/recorder/http/past.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const reader = { identity: { username: "ann" }, mayRead: async () => true }
const allowed: Decision = { tag: "allowed", who: "ann", reader }
const refused = (status: 401 | 403 | 503): Decision => ({ tag: "refused", status, message: "" })
const pods: ReadonlyArray<ShownKind> = [{ gvk: "v1.Pod", namespaces: ["shop"] }]
const unreviewed = { status: 503, message: "", retryAfterSeconds: 1 } as const

/** What the API server says next, as long as nothing else is set: who it is, and what that one may see. */
class Rights {
  decision: Decision = allowed
  shown: ReadonlyArray<ShownKind> | typeof unreviewed | { readonly status: 403; readonly message: string } = pods
  readonly clock = new ManualClock()
  looks = 0
  /** ms that a decision takes. */
  lookMs = 0
  ending: RightsEnding | undefined

  constructor() {
    const access = {
      decide: async () => {
        this.looks++
        if (this.lookMs > 0) await new Promise<void>((resolve) => this.clock.after(this.lookMs, resolve))
        return this.decision
      },
    }
    const shownTo = () =>
      "status" in this.shown ? Effect.fail(this.shown) : Effect.succeed(this.shown as ReadonlyArray<ShownKind>)
    const asked = { about: "events", from: 0, to: 0, shown: pods } as const
    void Effect.runPromise(rightsChanged({}, asked, { access, shownTo }, this.clock)).then((why) => {
      this.ending = why
    })
  }

  /** Lets the time between so many looks pass; returns why the connection ends meanwhile, `undefined`: it does not. */
  async after(looks: number, betweenMs = rightsMs): Promise<RightsEnding | undefined> {
    for (let look = 0; look < looks; look++) {
      this.clock.advance(betweenMs)
      // The decisions of one look are promises that are fulfilled already.
      for (let turns = 0; turns < 20; turns++) await new Promise<void>((resolve) => setImmediate(resolve))
    }
    return this.ending
  }
}

describe("the connection", () => {
  test("goes on as long as the same may be seen", async () => {
    const rights = new Rights()
    expect(await rights.after(20)).toBeUndefined()
    expect(rights.looks).toBe(20)
  })

  test("ends when something else may be seen, nothing, or the client is refused", async () => {
    for (const change of [
      { shown: [{ gvk: "v1.Pod" }] },
      { shown: [] },
      { shown: { status: 403, message: "" } as const },
      { decision: refused(403) },
      { decision: refused(401) },
      { decision: { tag: "allowed", who: "ann" } as const },
    ]) {
      const rights = new Rights()
      expect(await rights.after(1)).toBeUndefined()
      Object.assign(rights, change)
      expect(await rights.after(1)).toBe("rights-changed")
    }
  })

  test("outlives an API server that cannot say for less than a minute, as often as that happens", async () => {
    const rights = new Rights()
    for (const undecided of [{ decision: refused(503) }, { shown: unreviewed }]) {
      Object.assign(rights, undecided)
      expect(await rights.after(undecidedMs / rightsMs - 2)).toBeUndefined()
      Object.assign(rights, { decision: allowed, shown: pods })
      expect(await rights.after(1)).toBeUndefined()
    }
  })

  test("ends after a minute without a decision: a right may have been lost meanwhile", async () => {
    for (const undecided of [{ decision: refused(503) }, { shown: unreviewed }]) {
      const rights = new Rights()
      Object.assign(rights, undecided)
      expect(await rights.after(undecidedMs / rightsMs - 1)).toBeUndefined()
      expect(await rights.after(1)).toBe("rights-undecided")
    }
  })

  test("ends after that minute although each look waits for the API server", async () => {
    for (const lookMs of [7000, 15_000, 10 * undecidedMs]) {
      const rights = new Rights()
      Object.assign(rights, { decision: refused(503), lookMs })
      expect(await rights.after(undecidedMs / 1000 - 1, 1000)).toBeUndefined()
      expect(await rights.after(1, 1000)).toBe("rights-undecided")
    }
  })

  test("goes on if each decision takes long, but comes", async () => {
    const rights = new Rights()
    rights.lookMs = 15_000
    expect(await rights.after(300, 1000)).toBeUndefined()
    expect(rights.looks).toBe(12)
  })
})
