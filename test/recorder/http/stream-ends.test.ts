/** Why the recorder ends a stream of events, as clients are told over real connections; and that nothing stays open of those that have left. */
import { afterEach, describe, expect, test, vi } from "vitest"
import { QueriedRecording } from "../../../src/archive/index.ts"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { eventsCommand } from "../../../src/cli/events.ts"
import { Reviews } from "../../../src/kube/index.ts"
import { grantedMs, kubernetesAccess } from "../../../src/recorder/access/kubernetes-access.ts"
import { clientTimeoutMs } from "../../../src/recorder/export/response-sink.ts"
import { rightsMs, undecidedMs } from "../../../src/recorder/http/changed-rights.ts"
import { lastItemMs } from "../../../src/recorder/http/event-body.ts"
import { START } from "../../archive/sample-frames.ts"
import { capturedTerminal } from "../../cli/captured-terminal.ts"
import { until } from "../../runtime/until.ts"
import { type ReviewReply, ReviewServer } from "../access/review-server.ts"
import { FollowedRecording, type Follower } from "./followed-recording.ts"

afterEach(() => void vi.restoreAllMocks())

const events = "/v1/events?after=0"
/** More than a connection on this machine holds. */
const large = { changes: 150, bytes: 120_000 }

/** The changes of one object, each once and in order, without the last item. Returns the last sequence number. */
const expectChanges = ({ items }: Follower): number => {
  const changes = items.filter(({ type }) => type === "appeared" || type === "changed")
  const first = changes[0]?.sequence ?? 0
  expect(changes.map(({ sequence }) => sequence)).toEqual(changes.map((_, index) => first + index))
  return first + changes.length - 1
}

describe("with reviews of an API server", () => {
  const user = { username: "ann", groups: ["system:authenticated"] }
  const bearer = { "Kubereel-Authorization": "Bearer presented" }
  /** What the API server answers when it is asked which rights a user has; it always knows the user, and that it may not export. */
  const start = async (rights: () => ReviewReply) => {
    const server = await ReviewServer.start(({ path, spec }) => {
      if (path.endsWith("/tokenreviews")) return { status: { authenticated: true, user } }
      const { group } = (spec as { readonly resourceAttributes: { readonly group: string } }).resourceAttributes
      return group === "kubereel.dev" ? { status: { allowed: false } } : rights()
    })
    const credentials = {
      endpoint: async () => ({ server: server.url, headers: [] }),
      onUnauthorized: async () => undefined,
    }
    const recording = await FollowedRecording.start((clock) =>
      kubernetesAccess({
        reviews: new Reviews(credentials, "kubereel/test"),
        ...{ namespace: "kubereel", clock, trouble: () => undefined },
      }),
    )
    return { recording, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }
  const pods = `${events}&kind=v1.Pod`

  test.each<[string, ReviewReply]>([
    ["fails", { code: 500, body: "" }],
    ["does not answer", "nothing"],
  ])(
    "an open stream ends after a minute in which the API server %s, and is told so; a new one is 503",
    async (_, reply) => {
      let rights: ReviewReply = { status: { allowed: true } }
      await using started = await start(() => rights)
      const { recording } = started
      const follower = (await recording.follow(pods, bearer)).read()
      expect(follower.status).toBe(200)
      await until(() => follower.items.length > 0)
      rights = reply
      const beginMs = recording.clock.monotonicMs()
      while (recording.subscriptions.count > 0) await recording.passes(1000)
      const tookMs = recording.clock.monotonicMs() - beginMs
      expect(tookMs).toBeGreaterThanOrEqual(undecidedMs)
      // What was decided at first counts for some seconds.
      expect(tookMs).toBeLessThanOrEqual(undecidedMs + grantedMs + rightsMs)
      await until(() => follower.isWhole)
      expect(follower.items.at(-1)).toEqual({ type: "end", reason: "rights-undecided", sequence: 1 })
      expect(recording.clock.pending).toBe(0)
      if (reply === "nothing") return
      for (const path of [pods, "/v1/changes?kind=v1.Pod"]) {
        const refused = await recording.follow(path, bearer)
        expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"])
        expect(await refused.rest()).toContain("the API server could not check access")
      }
    },
  )

  test("a stream whose client has lost its rights ends with that reason, and is refused when it goes on", async () => {
    let allowed = true
    await using started = await start(() => ({ status: { allowed } }))
    const { recording } = started
    const path = `${events}&kind=v1.Pod`
    const follower = (await recording.follow(path, { ...bearer, Accept: "text/event-stream" })).read()
    await until(() => follower.text.includes("event: appeared"))
    allowed = false
    while (recording.subscriptions.count > 0) await recording.passes(1000)
    await until(() => follower.isWhole)
    expect(follower.text).toMatch(
      /\n\nid: 1\nevent: end\ndata: {"type":"end","reason":"rights-changed","sequence":1}\n\n$/,
    )
    expect((await recording.follow(path, bearer)).status).toBe(403)
  })

  test("reel events --follow says why it was ended, and ends with the exit code of a lost permission", async () => {
    let allowed = true
    await using started = await start(() => ({ status: { allowed } }))
    const { recording } = started
    const terminal = capturedTerminal({ environment: { KUBEREEL_TOKEN: "presented" } })
    const words = ["-f", "--since", "0", "-k", "v1.Pod", "--server", recording.url]
    const following = eventsCommand(() => START + 60_000_000).run(words, terminal)
    await until(() => recording.subscriptions.count === 1)
    allowed = false
    while (recording.subscriptions.count > 0) await recording.passes(1000)
    expect(await following).toBe(exitCodes.notPermitted)
    expect(terminal.standardError.text()).toMatch(
      /ended the stream: what you may read has changed; trying again in 0\.5 s\n.*status 403.*ann may not list pods/,
    )
  })
})

test("reel events --follow of a directory goes on with what is recorded in it meanwhile", async () => {
  const recording = await FollowedRecording.start()
  const terminal = capturedTerminal()
  const words = ["-f", "--since", "0", "--data-dir", recording.directory]
  const following = eventsCommand(() => START + 60_000_000).run(words, terminal)
  await until(() => terminal.standardOutput.text().includes("first seen"))
  recording.change(10)
  await until(() => terminal.standardOutput.text().includes("changed"))
  terminal.interrupt()
  expect(await following).toBe(exitCodes.ok)
  expect(terminal.standardError.text()).not.toContain("trying again")
})

test("a slow stream that retention overtakes gets what is under way, then the reason; going on is 410", async () => {
  const recording = await FollowedRecording.start()
  for (let count = 0; count < large.changes; count++) recording.change(large.bytes)
  const follower = await recording.follow(events)
  await recording.stalled()
  recording.retain(10)
  follower.read()
  await until(() => follower.isWhole)
  const last = expectChanges(follower)
  expect(last).toBeGreaterThan(1)
  expect(last).toBeLessThan(large.changes - 10)
  expect(follower.items.at(-1)).toEqual({ type: "end", reason: "retention", sequence: last })
  const again = await recording.follow(`/v1/events?after=${last}`)
  expect([again.status, await again.rest()]).toEqual([410, expect.stringContaining("removed by retention")])
})

test("a stream whose recording cannot be read any further ends after what could be read", async () => {
  const recording = await FollowedRecording.start()
  const follower = (await recording.follow(events)).read()
  await until(() => follower.items.length > 0)
  vi.spyOn(QueriedRecording.prototype, "refresh").mockImplementation(() => {
    throw new Error("a bad sector")
  })
  recording.change(10)
  await until(() => follower.isWhole)
  expect(follower.items).toEqual([
    expect.objectContaining({ type: "appeared", sequence: 1 }),
    { type: "end", reason: "failed", sequence: 1 },
  ])
})

describe("a recorder that stops", () => {
  test("tells clients that read, and does not wait for the others for long", async () => {
    const recording = await FollowedRecording.start()
    for (let count = 0; count < large.changes; count++) recording.change(large.bytes)
    const quick = (await recording.follow("/v1/events")).read()
    await until(() => quick.items.length > 0)
    const slow = await recording.follow(events)
    await recording.stalled()
    const stopped = recording.stop()
    await until(() => quick.isWhole)
    expect(quick.items.at(-1)).toEqual({ type: "end", reason: "stopping", sequence: large.changes + 1 })
    await recording.passes(lastItemMs - 1)
    expect(recording.subscriptions.count).toBe(1)
    await recording.passes(1)
    await stopped
    await slow.rest()
    expect(slow.isWhole).toBe(false)
    expectChanges(slow)
    expect(slow.items.some(({ type }) => type === "end")).toBe(false)
  })
})

describe("a client that takes nothing for minutes", () => {
  test.each([true, false])("is disconnected, and told why if it reads again at once: %s", async (readsAgain) => {
    const recording = await FollowedRecording.start()
    for (let count = 0; count < large.changes; count++) recording.change(large.bytes)
    const follower = await recording.follow(events)
    await recording.stalled()
    const beginMs = recording.clock.monotonicMs()
    // Then two timers are left: that of the longest stream, and that of its last item.
    while (recording.clock.pending > 2) await recording.passes(1000)
    expect(recording.clock.monotonicMs() - beginMs).toBeLessThanOrEqual(clientTimeoutMs)
    if (!readsAgain) await recording.passes(lastItemMs)
    await follower.rest()
    const last = expectChanges(follower)
    expect(last).toBeLessThan(large.changes)
    expect(follower.isWhole).toBe(readsAgain)
    if (readsAgain) expect(follower.items.at(-1)).toEqual({ type: "end", reason: "slow-client", sequence: last })
    await until(() => recording.subscriptions.count === 0)
    expect(recording.clock.pending).toBe(0)
  })
})

describe("of a client that leaves, nothing stays open", () => {
  test.each([
    ["a stream that it does not read", events, false],
    ["a stream that it reads", events, true],
    ["a question that it does not read", "/v1/changes?kind=v1.Pod&objects=true", false],
  ])("%s: no query, no lease, no timer, no place", async (_, path, reads) => {
    const recording = await FollowedRecording.start()
    for (let count = 0; count < large.changes; count++) recording.change(large.bytes)
    const [opened, closed] = [vi.spyOn(QueriedRecording, "open"), vi.spyOn(QueriedRecording.prototype, "close")]
    const queries = (): number => opened.mock.calls.length - closed.mock.calls.length
    const follower = await recording.follow(path, { Accept: "application/x-ndjson" })
    if (reads) {
      follower.read()
      await until(() => follower.text.length > 100_000)
    } else await recording.stalled()
    expect([queries(), recording.leases]).toEqual([1, path === events ? 0 : 1])
    expect(recording.clock.pending).toBeGreaterThan(0)
    follower.leave()
    await until(() => queries() === 0 && recording.leases === 0 && recording.clock.pending === 0)
    let connections = 1
    while (connections > 0) connections = await recording.connections()
    expect([recording.subscriptions.count, recording.underWay]).toEqual([0, 0])
  })
})
