/** Rule 15 of docs/facts/watch-protocol.md: a stream that is resumed is behind until it has brought what happened meanwhile. */
import { describe, expect, test } from "vitest"
import type { WatchSink } from "../../../src/kube/watch/session-options.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import type { Notebook } from "./notebook.ts"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { start, watching } = watchedSandboxes()

/** Notes in the story when the kind is behind. */
const sink = (notebook: Notebook): WatchSink =>
  Object.assign(notebook, { behind: (isBehind: boolean) => void notebook.story.push(`behind ${isBehind}`) })

/** Resumes at the version that `before` returns. */
const resumedAt = (
  before: (sandbox: Sandbox) => string,
  bookmarkInterval: number,
  stalls = false,
): Promise<Watched> => {
  let resumeVersion = ""
  return start({
    ...{ sink, sandbox: { bookmarkInterval } },
    before: (sandbox) => {
      resumeVersion = before(sandbox)
      if (stalls) sandbox.faults.stall("configmaps")
    },
    get resumeVersion() {
      return resumeVersion
    },
    liveUntil: 1_700_000_000_000_000 - 60_000_000,
  })
}

const put = (sandbox: Sandbox, kind: string, name: string): string =>
  sandbox.put(kind, { metadata: { name } }).metadata.resourceVersion ?? ""

/** States as they were reported, without their details; the same one twice is one. */
const states = ({ notebook }: Watched): ReadonlyArray<string> =>
  notebook.of("state").flatMap((text, index, all) => {
    const state = text.split(":")[0] ?? ""
    return all[index - 1]?.startsWith(`${state}:`) ? [] : [state]
  })

const isState = (watched: Watched, state: string): boolean =>
  watched.notebook.of("state").at(-1)?.startsWith(`${state}:`) === true

/** Lets looks pass until the kind is watched; returns how many s that took. */
const untilWatching = async (watched: Watched): Promise<number> => {
  let ms = 0
  while (!isState(watched, "watching") && ms < 120_000) {
    watched.clock.advance(250)
    ms += 250
    for (let turns = 0; turns < 40; turns++) await new Promise(setImmediate)
  }
  return ms / 1000
}

describe("rule 15", () => {
  test("rule 15: a stream that is resumed is behind until the version has arrived that was current before", async () => {
    const watched = await resumedAt(
      (sandbox) => {
        const version = put(sandbox, "v1.ConfigMap", "a")
        for (const name of ["b", "c", "d"]) put(sandbox, "v1.ConfigMap", name)
        return version
      },
      0,
      true,
    )
    await watched.sees(() => isState(watched, "catching-up"))
    expect(watched.session.isBehind).toBe(true)
    expect(watched.notebook.of("state").at(-1)).toMatch(/^catching-up: at version \d+ of \d+ \(0 %\)$/)
    watched.sandbox.faults.resume()
    await watched.sees(() => isState(watched, "watching"))
    expect(watched.notebook.story.filter((line) => /^(behind|applied)/.test(line))).toEqual([
      "behind true",
      ...watched.ledger().slice(1),
      "behind false",
    ])
    expect(states(watched)).toEqual(["catching-up", "watching"])
  })

  test("rule 15: nothing is to be caught up with if nothing has happened in the cluster", async () => {
    const watched = await resumedAt((sandbox) => put(sandbox, "v1.ConfigMap", "a"), 0)
    await watched.sees(() => isState(watched, "watching"))
    expect(states(watched)).toEqual(["watching"])
  })

  test("rule 15: a quiet kind asks for a bookmark, by a watch of three seconds", async () => {
    const watched = await resumedAt((sandbox) => {
      const version = put(sandbox, "v1.ConfigMap", "a")
      put(sandbox, "v1.Secret", "s")
      return version
    }, 600_000)
    await watched.isWatching()
    await watched.sees(() => isState(watched, "catching-up"))
    expect(await untilWatching(watched)).toBeLessThan(3)
    expect(watched.queries("watch").map((query) => Number(query.get("timeoutSeconds")))).toEqual([300, 3])
    // A lasting one follows before its end.
    watched.clock.advance(250)
    await watched.sees(() => watched.queries("watch").length === 3)
    expect(watched.queries("watch").at(-1)?.get("timeoutSeconds")).toBe("300")
    watched.clock.advance(3000)
    const change = watched.put("b")
    await watched.caughtUp()
    expect([watched.notebook.events.at(-1), states(watched)]).toEqual([
      `applied ${change}`,
      ["catching-up", "watching"],
    ])
  })

  test("rule 15: without bookmarks it has to do that such a watch ends in order, without a change", async () => {
    const watched = await resumedAt((sandbox) => {
      const version = put(sandbox, "v1.ConfigMap", "a")
      put(sandbox, "v1.Secret", "s")
      return version
    }, 0)
    await watched.isWatching()
    await watched.sees(() => isState(watched, "catching-up"))
    const seconds = await untilWatching(watched)
    expect([seconds > 3, seconds < 5]).toEqual([true, true])
  })

  test("rule 15: a connection that stalls has not caught up, however long it is silent", async () => {
    const watched = await resumedAt(
      (sandbox) => {
        const version = put(sandbox, "v1.ConfigMap", "a")
        put(sandbox, "v1.ConfigMap", "b")
        return version
      },
      600_000,
      true,
    )
    await watched.sees(() => isState(watched, "catching-up"))
    for (let looks = 0; looks < 120; looks++) {
      watched.clock.advance(250)
      await new Promise(setImmediate)
    }
    expect([isState(watched, "catching-up"), watched.notebook.events]).toEqual([true, []])
    watched.sandbox.faults.resume()
    await watched.sees(() => isState(watched, "watching"))
    expect(watched.notebook.events).toEqual(watched.ledger().slice(1))
  })

  test("rule 15: after an interruption the kind is behind before the server has answered again", async () => {
    const watched = await watching({ sink, before: holding("a") })
    watched.sandbox.faults.hangUp("configmaps")
    watched.put("b")
    await watched.recovers()
    await watched.sees(() => isState(watched, "watching"))
    expect(states(watched)).toEqual(["listing", "watching", "catching-up", "watching"])
  })
})
