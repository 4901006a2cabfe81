/** What a session adds to the machine and its readers, with a server that the test simulates by hand. */
import { describe, expect, test } from "vitest"
import type { HttpStream, ResponseHandler } from "../../../src/kube/http/transport.ts"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { defaultWatchPolicy } from "../../../src/kube/watch/protocol/policy.ts"
import type { Input } from "../../../src/kube/watch/protocol/protocol.ts"
import { WatchSession } from "../../../src/kube/watch/session.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { Notebook } from "./notebook.ts"

const event = (type: string, version: number, more: object = {}): string =>
  `${JSON.stringify({ type, object: { metadata: { name: "a", uid: "u", resourceVersion: String(version), ...more } } })}\n`
const initialEventsEnd = { annotations: { "k8s.io/initial-events-end": "true" } }

/** One request, simulated by the test. */
class Request implements HttpStream {
  readonly path: string
  readonly #handler: ResponseHandler
  isAborted = false
  isPaused = false
  bytesReceived = 0

  constructor(path: string, handler: ResponseHandler) {
    this.path = path
    this.#handler = handler
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  abort(): void {
    this.isAborted = true
  }

  head(headers: ReadonlyMap<string, string> = new Map()): void {
    this.#handler.head(200, headers)
  }

  /** One network read. Like the real client, it does not report a read in whose middle it was aborted. */
  read(...lines: ReadonlyArray<string>): void {
    const bytes = Buffer.from(lines.join(""))
    this.bytesReceived += bytes.length
    this.#handler.data(bytes, 0, bytes.length)
    if (!this.isAborted) this.#handler.readDone?.()
  }

  end(): void {
    this.#handler.end({ tag: "complete" })
  }
}

const play = async (discovered: Input = { type: "discovered" }) => {
  const requests: Request[] = []
  const clock = new ManualClock()
  const notebook = new Notebook()
  const session = new WatchSession({
    transport: {
      get: (path, _headers, handler) => {
        const request = new Request(path, handler)
        requests.push(request)
        return request
      },
    },
    enquiries: {
      discover: async (found) => {
        found("/api/v1/configmaps")
        return discovered
      },
      probe: async () => ({ type: "probed", version: "1000", clusterUid: undefined }),
    },
    sink: notebook,
    listener: notebook,
    clock,
    random: () => 0,
    policy: defaultWatchPolicy,
    gvk: { group: "", version: "v1", kind: "ConfigMap" },
    rules: compileDetectRules({ gvk: { group: "", version: "v1", kind: "ConfigMap" }, detect: "all", ignore: [] }),
    labelSelector: undefined,
    fieldSelector: undefined,
    resumeVersion: undefined,
    clusterUid: undefined,
  })
  session.start()
  await turn()
  const last = (): Request => {
    const request = requests.at(-1)
    if (request === undefined) throw new Error("nothing was asked for")
    return request
  }
  return { requests, last, clock, notebook, session }
}
/** Listed at version 10, and watching on the same stream. */
const playWatching = async () => {
  const played = await play()
  played.last().head()
  played.last().read(event("ADDED", 5), event("BOOKMARK", 10, initialEventsEnd))
  return played
}

describe("a session", () => {
  test("never lowers completeness when a successor's bookmark lags behind the old watch", async () => {
    const { requests, last, clock, notebook, session } = await playWatching()
    const [old] = requests
    clock.advance(295_000)
    old?.read(event("MODIFIED", 11), event("MODIFIED", 15))
    last().head()
    last().read(event("MODIFIED", 11), event("BOOKMARK", 12))
    expect(notebook.of("complete through")).toEqual(["15"])
    last().read(event("MODIFIED", 15), event("MODIFIED", 16))
    expect([session.delivered, session.statistics.repeated]).toEqual(["16", 2])
    expect(notebook.events).toEqual(["applied a@11", "applied a@15", "applied a@16"])
    expect([old?.isAborted, requests.length]).toEqual([true, 2])
  })

  test("sends what came before a failure in the same read at once", async () => {
    for (const bad of [event("ERROR", 0), "nonsense\n"]) {
      const { last, notebook } = await playWatching()
      last().read(event("MODIFIED", 11), bad, event("MODIFIED", 12))
      expect(notebook.events).toEqual(["applied a@11"])
      expect([notebook.unfinished, last().isAborted]).toEqual([0, true])
    }
  })

  test("does not catch an exception of the recorder", async () => {
    const { last, notebook } = await playWatching()
    notebook.onObserved = () => {
      throw new Error("a bug")
    }
    expect(() => last().read(event("MODIFIED", 11))).toThrow("a bug")
  })

  test("knows how far the server's clock is ahead, until a server does not send its time", async () => {
    const { last, clock, session } = await play()
    last().head(new Map([["date", new Date(clock.wallMicros() / 1000 + 3000).toUTCString()]]))
    expect(session.statistics.clockSkewMs).toBe(3000)
    last().read(event("BOOKMARK", 10, initialEventsEnd))
    last().end()
    await turn()
    last().head()
    expect(session.statistics.clockSkewMs).toBe(3000)
  })

  test("counts reads, not events, and every byte", async () => {
    const { last, notebook, session } = await playWatching()
    const lines = [event("MODIFIED", 11), event("MODIFIED", 12), event("MODIFIED", 13)]
    const [reads, bytes] = [notebook.reads, session.statistics.bytes]
    last().read(...lines)
    expect(notebook.reads - reads).toBe(1)
    expect(session.statistics.bytes - bytes).toBe(Buffer.byteLength(lines.join("")))
  })

  const object = (version: number, created: string): object => ({
    name: `object-${version + 10}`,
    uid: `u${version}`,
    creationTimestamp: created,
  })
  const begun = "2026-11-25T10:00:00Z"

  test("gives a streaming list that goes on with further objects all the time it needs", async () => {
    const { last, clock, notebook, session } = await play()
    last().head(new Map([["date", new Date(begun).toUTCString()]]))
    for (let version = 1; version <= 20; version++) {
      last().read(event("ADDED", version, object(version, "2026-11-25T09:00:00Z")))
      clock.advance(3900)
    }
    expect(session.phase.tag).toBe("streaming-list")
    last().read(event("BOOKMARK", 30, initialEventsEnd))
    expect([session.phase.tag, notebook.of("list completed")]).toEqual(["watching", ["30"]])
    // Nothing is left to end the stream but its silence.
    last().read(event("MODIFIED", 31))
    clock.advance(200_000)
    expect(last().isAborted).toBe(false)
  })

  test.each([
    ["created since it began", (version: number) => event("ADDED", version, object(version, "2026-11-25T10:00:09Z"))],
    ["added before", (version: number) => event("ADDED", version, object(1, "2026-11-25T09:00:00Z"))],
    ["changed", (version: number) => event("MODIFIED", version, object(version, "2026-11-25T09:00:00Z"))],
    ["deleted", (version: number) => event("DELETED", version, object(version, "2026-11-25T09:00:00Z"))],
  ])("leaves a streaming list that brings only objects that were %s within 5 s", async (_, next) => {
    const { requests, last, clock, session } = await play()
    last().head(new Map([["date", new Date(begun).toUTCString()]]))
    last().read(event("ADDED", 1, object(1, "2026-11-25T09:00:00Z")))
    clock.advance(3900)
    for (let version = 2; version < 6; version++) {
      expect(session.phase.tag).toBe("streaming-list")
      last().read(next(version))
      clock.advance(1000)
    }
    expect(session.phase.tag).toBe("paging")
    expect([requests[0]?.isAborted, last().path]).toEqual([true, "/api/v1/configmaps?limit=500"])
  })

  test("does not hold against a streaming list the time for which its own sink was full", async () => {
    const { last, clock, notebook, session } = await play()
    last().head()
    notebook.isWritable = false
    last().read(event("ADDED", 1))
    clock.advance(600_000)
    notebook.isWritable = true
    session.resume()
    expect(session.phase.tag).toBe("streaming-list")
  })

  test("refuses a compressed response that it did not ask for by name", async () => {
    const { last, notebook } = await play()
    last().head(new Map([["content-encoding", "gzip"]]))
    expect(notebook.of("alarm")).toEqual(['the response has the content coding "gzip", which was not requested'])
  })

  test("reports a kind as watched when the server has accepted its watch, after its list was delivered", async () => {
    const { requests, last, notebook } = await play()
    last().head()
    // A streaming list that ends without its bookmark, from a server that does not support it.
    last().end()
    last().head()
    const items = [{ metadata: { name: "a", uid: "u", resourceVersion: "5" } }]
    last().read(JSON.stringify({ kind: "ConfigMapList", metadata: { resourceVersion: "10" }, items }))
    last().end()
    expect([requests.length, last().path.includes("watch=1"), notebook.story.at(-1)]).toEqual([
      3,
      true,
      "list completed 10",
    ])
    expect(notebook.state).toBe("listing")
    last().head()
    expect(notebook.story.at(-1)).toBe("state watching: from version 10")
  })

  test("pauses every stream when the sink is full, and resumes every one", async () => {
    const { requests, last, clock, notebook, session } = await playWatching()
    clock.advance(295_000)
    notebook.isWritable = false
    requests[0]?.read(event("MODIFIED", 11))
    expect(requests.map(({ isPaused }) => isPaused)).toEqual([true, true])
    session.resume()
    expect(requests.map(({ isPaused }) => isPaused)).toEqual([false, false])
    expect(last().path).toContain("resourceVersion=10")
  })

  test("when stopped, has aborted every stream, holds no timer, and ignores late results", async () => {
    const { requests, clock, notebook, session } = await playWatching()
    clock.advance(295_000)
    session.stop()
    const { length } = notebook.story
    expect(requests.map(({ isAborted }) => isAborted)).toEqual([true, true])
    expect(clock.pending).toBe(0)
    for (const request of requests) request.read(event("MODIFIED", 11))
    session.resume()
    session.retryNow()
    session.start()
    await turn()
    expect(notebook.story).toHaveLength(length)
    expect([requests.length, session.phase.tag]).toEqual([2, "stopped"])
  })

  test("when stopped during discovery, requests nothing more", async () => {
    const { requests, session } = await play({ type: "not-installed" })
    session.stop()
    await turn()
    expect([requests.length, session.phase.tag]).toEqual([0, "stopped"])
  })

  test("retries early only what is waiting, after a failure or for its kind", async () => {
    const { requests, session } = await playWatching()
    session.retryNow()
    expect(requests).toHaveLength(1)
    const absent = await play({ type: "not-installed" })
    expect(absent.session.phase.tag).toBe("absent")
    absent.session.retryNow()
    expect(absent.session.phase.tag).toBe("discovering")
  })
})
