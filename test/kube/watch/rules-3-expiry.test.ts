/** Rule 3 of docs/facts/watch-protocol.md: a version that the server no longer has. */
import { describe, expect, test } from "vitest"
import { holding, type Watched, watchedSandboxes } from "./watched-sandbox.ts"

const { start, watching } = watchedSandboxes()

/** While disconnected, more happens than the server remembers: `b` is deleted, `c` created again. */
const missEverything = async (watched: Watched): Promise<void> => {
  await watched.sandbox.faults.refuseConnections()
  watched.delete("b")
  watched.delete("c")
  watched.put("c")
  for (let change = 0; change < 5; change++) watched.put("d")
  await watched.waits()
  await watched.sandbox.faults.acceptConnections()
  await watched.passes()
  await watched.sees(() => watched.notebook.of("list completed").length === 2)
  await watched.isWatching()
}

describe("rule 3", () => {
  test("rule 3: HTTP 410 and in-stream 410 both lead to one list of the present state, and the watch after it", async () => {
    const stories: Array<ReadonlyArray<string>> = []
    const answered: string[] = []
    for (const expiredAs of ["http", "stream"] as const) {
      const watched = await watching({ before: holding("a", "b", "c"), sandbox: { expiredAs, historyLimit: 3 } })
      const version = watched.session.delivered
      await missEverything(watched)
      expect(watched.notebook.of("list started")).toEqual(["first", "expired"])
      expect(watched.notebook.alive).toEqual(["a", "c", "d"])
      const resumed = watched.queries("watch").find((query) => !query.has("sendInitialEvents"))
      expect(resumed?.get("resourceVersion")).toBe(version)
      const relist = watched.queries("watch").at(-1)
      expect([relist?.get("sendInitialEvents"), relist?.get("resourceVersion")]).toEqual(["true", null])
      expect(watched.notebook.state).toBe("watching")
      answered.push(`state watching: from version ${version}`)
      // After a failure, a list is reported only once the server has accepted it.
      const relisting = "state listing: expired"
      const { story } = watched.notebook
      expect(story).toContain(relisting)
      stories.push(
        story.filter(
          (line) =>
            !line.startsWith("cluster ") && !/connection (?:refused|was closed)/.test(line) && line !== relisting,
        ),
      )
    }
    const [byStatus = [], inStream = []] = stories
    // The 200 before an error in the stream is reported as such.
    const at = inStream.lastIndexOf(answered[1] ?? "")
    expect(inStream.toSpliced(at, 1)).toEqual(byStatus)
    expect([byStatus, inStream].map((story) => story.filter((line) => answered.includes(line)).length)).toEqual([1, 2])
  })

  test("rule 3: with pages, too, the list after an expiry names no version, and the watch continues after it", async () => {
    const watched = await watching({
      before: holding("a", "b", "c"),
      sandbox: { historyLimit: 3, streamingList: "rejected" },
    })
    await missEverything(watched)
    const lists = watched.queries("list").filter((query) => query.get("limit") === "500")
    expect(lists.map((query) => query.get("resourceVersion"))).toEqual([null, null])
    expect(watched.notebook.alive).toEqual(["a", "c", "d"])
    const change = watched.put("a")
    await watched.caughtUp()
    expect(watched.notebook.events.at(-1)).toBe(`applied ${change}`)
  })

  test("rule 3: a watch that gets 410 in its middle has delivered everything before it", async () => {
    const watched = await watching({ before: holding("a") })
    const change = watched.put("b")
    watched.sandbox.faults.expireWatches()
    watched.delete("a")
    await watched.sees(() => watched.notebook.of("list completed").length === 2)
    expect(watched.notebook.events).toEqual([`applied ${change}`])
    expect(watched.notebook.alive).toEqual(["b"])
    // Events before the 410 do not wait for the next read.
    expect(watched.notebook.unfinished).toBe(0)
  })

  test("rule 3: a list that gets 410 is repeated from the latest state", async () => {
    const watched = await start({
      before: (sandbox) => {
        holding("a")(sandbox)
        sandbox.faults.forceExpired("configmaps", 1, { initial: true })
      },
    })
    expect(await watched.passes()).toBe(800)
    await watched.isWatching()
    expect(watched.notebook.of("list started")).toEqual(["first", "first"])
    expect(watched.notebook.alive).toEqual(["a"])
  })
})
