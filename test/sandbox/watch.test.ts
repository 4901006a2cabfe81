import { connect } from "node:net"
import { describe, expect, onTestFinished, test } from "vitest"
import { type Clock, systemClock } from "../../src/clock.ts"
import type { Sandbox } from "../../src/library/sandbox.ts"
import { ManualClock } from "../runtime/manual-clock.ts"
import { brief, get, Watch, type WatchEvent } from "./client.ts"
import { open as start } from "./opened-sandbox.ts"
import { recordedAnswer } from "./recorded-answer.ts"

const watch = async (sandbox: Sandbox, query: string, path = "/api/v1/configmaps"): Promise<Watch> => {
  const stream = await Watch.open(`${sandbox.url}${path}?watch=1&${query}`)
  onTestFinished(() => stream.close())
  return stream
}

const put = (sandbox: Sandbox, name: string, labels?: Record<string, string>, namespace = "default"): string =>
  sandbox.put("v1.ConfigMap", { metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) } }).metadata
    .resourceVersion

const streamingList = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

describe("a watch that resumes at a version", () => {
  test("gets every later change of its kind once, in order, from history and then live", async () => {
    const sandbox = await start()
    const from = put(sandbox, "a")
    put(sandbox, "b")
    sandbox.put("v1.Secret", { metadata: { name: "other-kind" } })
    const stream = await watch(sandbox, `resourceVersion=${from}`)
    put(sandbox, "a")
    sandbox.delete("v1.ConfigMap", "default", "a")
    put(sandbox, "a")
    const events = await stream.take(4)
    expect(events.map(brief)).toEqual(["ADDED b@1004", "MODIFIED a@1006", "DELETED a@1007", "ADDED a@1008"])
    expect(stream.headers["transfer-encoding"]).toBe("chunked")
  })

  test("is sent a deletion as the last state with the deletion's version", async () => {
    const sandbox = await start()
    const before = sandbox.put("v1.ConfigMap", { metadata: { name: "a", labels: { x: "y" } }, data: { k: "v" } })
    const stream = await watch(sandbox, `resourceVersion=${before.metadata.resourceVersion}`)
    const after = sandbox.delete("v1.ConfigMap", "default", "a")
    const { type, object } = await stream.next()
    expect(type).toBe("DELETED")
    expect(object).toEqual({ ...before, metadata: { ...before.metadata, resourceVersion: "1004" } })
    expect(object).toEqual(after)
  })

  test("gets a recreated object under a new UID", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox, `resourceVersion=${sandbox.resourceVersion}`)
    put(sandbox, "a")
    sandbox.delete("v1.ConfigMap", "default", "a")
    put(sandbox, "a")
    const [first, gone, second] = await stream.take(3)
    expect(gone?.object.metadata.uid).toBe(first?.object.metadata.uid)
    expect(second?.object.metadata.uid).not.toBe(first?.object.metadata.uid)
  })

  test("ahead of the server gets a 200 and nothing, not even a bookmark, until the server has caught up", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox, "resourceVersion=1006&allowWatchBookmarks=true")
    expect([stream.status, recordedAnswer("watch-rv-future").text.trim()]).toEqual([200, ""])
    for (const name of ["a", "b", "c", "d"]) {
      put(sandbox, name)
      if (name !== "d") sandbox.bookmarkNow()
    }
    put(sandbox, "e")
    expect(brief(await stream.next())).toBe("ADDED e@1007")
  })

  test("below the history gets a 410 inside the stream, or as a status if so configured", async () => {
    for (const expiredAs of ["stream", "http"] as const) {
      const sandbox = await start({ historyLimit: 2, expiredAs })
      for (const name of ["a", "b", "c", "d"]) put(sandbox, name)
      const reachable = await watch(sandbox, "resourceVersion=1004")
      expect((await reachable.take(2)).map(brief)).toEqual(["ADDED c@1005", "ADDED d@1006"])
      const answer = await get(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1003`)
      expect(answer.status).toBe(expiredAs === "stream" ? 200 : 410)
      const event = JSON.parse(answer.text) as WatchEvent
      const status = expiredAs === "stream" ? event.object : event
      expect(status).toMatchObject({ reason: "Expired", code: 410, message: "too old resource version: 1003 (1004)" })
    }
  })

  test("with versions beyond 2^53 loses no digit", async () => {
    const sandbox = await start({ revision: 18446744073709551000n })
    const stream = await watch(sandbox, "resourceVersion=18446744073709551002")
    put(sandbox, "a")
    expect(brief(await stream.next())).toBe("ADDED a@18446744073709551003")
  })
})

describe("a watch that asks for the state", () => {
  test("gets it as ADDED events, in the order of their keys, then a bookmark that ends it, then changes", async () => {
    const sandbox = await start()
    for (const name of ["a", "b", "c"]) put(sandbox, name)
    put(sandbox, "a")
    const stream = await watch(sandbox, streamingList)
    expect((await stream.take(3)).map(brief)).toEqual(["ADDED a@1006", "ADDED b@1004", "ADDED c@1005"])
    expect(await stream.line()).toBe(
      '{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1006",' +
        '"annotations":{"k8s.io/initial-events-end":"true"}}}}',
    )
    put(sandbox, "b")
    expect(brief(await stream.next())).toBe("MODIFIED b@1007")
  })

  test("gets no end bookmark unless it allows bookmarks", async () => {
    const sandbox = await start()
    put(sandbox, "a")
    const stream = await watch(sandbox, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
    put(sandbox, "b")
    expect((await stream.take(2)).map(brief)).toEqual(["ADDED a@1003", "ADDED b@1004"])
  })

  test.each(["", "resourceVersion=0", "resourceVersion="])("also without a version (%j)", async (query) => {
    const sandbox = await start()
    put(sandbox, "a")
    const stream = await watch(sandbox, `${query}&allowWatchBookmarks=true`)
    const [state, end] = await stream.take(2)
    expect(state?.type).toBe("ADDED")
    // Measured against 1.34.4: the old form gets the bookmark too.
    expect(end?.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" })
  })

  test("not older than a version ahead of the server gets the error inside the stream", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox, `${streamingList}&resourceVersion=5000`)
    expect((await stream.next()).object).toMatchObject({
      reason: "Timeout",
      code: 504,
      message: "Timeout: Too large resource version: 5000, current: 1002",
    })
    expect(await stream.ended).toBe("clean")
  })

  test("is refused with a 422 that names the parameter where the feature is off", async () => {
    const sandbox = await start({ streamingList: "rejected" })
    const answer = await get(`${sandbox.url}/api/v1/pods?watch=1&${streamingList}`)
    expect(answer.status).toBe(422)
    expect(answer.text).toContain("sendInitialEvents: Forbidden")
  })

  test("gets the state but never its end from a server that does not know the parameter", async () => {
    const sandbox = await start({ streamingList: "unknown" })
    put(sandbox, "a")
    const stream = await watch(sandbox, streamingList)
    put(sandbox, "b")
    sandbox.bookmarkNow()
    const [first, second, third] = await stream.take(3)
    expect([first, second].map((event) => event?.type)).toEqual(["ADDED", "ADDED"])
    expect(third?.object.metadata.annotations).toBeUndefined()
  })

  test("with sendInitialEvents=false begins with the next change", async () => {
    const sandbox = await start()
    put(sandbox, "a")
    const stream = await watch(sandbox, "sendInitialEvents=false&resourceVersionMatch=NotOlderThan")
    put(sandbox, "b")
    expect(brief(await stream.next())).toBe("ADDED b@1004")
  })
})

describe("a watch with selectors", () => {
  test("gets one namespace only", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox, "resourceVersion=1002", "/api/v1/namespaces/a/configmaps")
    put(sandbox, "x", {}, "b")
    put(sandbox, "y", {}, "a")
    expect(brief(await stream.next())).toBe("ADDED y@1004")
  })

  test("sees an object added when its labels match and deleted, with its last matching state, when they stop matching", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox, "resourceVersion=1002&labelSelector=app%3Dweb")
    put(sandbox, "a", { app: "db" })
    put(sandbox, "a", { app: "web", n: "1" })
    put(sandbox, "a", { app: "web", n: "2" })
    put(sandbox, "a", { app: "db", n: "3" })
    sandbox.delete("v1.ConfigMap", "default", "a")
    put(sandbox, "b", { app: "web" })
    const events = await stream.take(4)
    expect(events.map(brief)).toEqual(["ADDED a@1004", "MODIFIED a@1005", "DELETED a@1006", "ADDED b@1008"])
    expect(events[2]?.object.metadata.labels).toEqual({ app: "web", n: "2" })
  })

  test("sees the transition also if it is in the history", async () => {
    const sandbox = await start()
    put(sandbox, "a", { app: "web" })
    put(sandbox, "a", {})
    const stream = await watch(sandbox, "resourceVersion=1003&labelSelector=app%3Dweb")
    expect(brief(await stream.next())).toBe("DELETED a@1004")
  })

  test("gets only the selected part of the state", async () => {
    const sandbox = await start()
    for (const name of ["a", "b", "c"]) put(sandbox, name)
    const stream = await watch(sandbox, `${streamingList}&fieldSelector=metadata.name%3Db`)
    expect((await stream.take(2)).map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"])
    expect(stream.lines[0]).toContain('"name":"b"')
  })
})

describe("bookmarks", () => {
  test("come at the interval to watches that allow them, with the revision of the whole server", async () => {
    const clock = new ManualClock()
    const sandbox = await start({ clock, bookmarkInterval: 60_000 })
    const query = "resourceVersion=1002"
    const [wants, does] = [await watch(sandbox, query), await watch(sandbox, `${query}&allowWatchBookmarks=true`)]
    sandbox.put("v1.Secret", { metadata: { name: "s" } })
    clock.advance(59_999)
    clock.advance(1)
    put(sandbox, "a")
    clock.advance(60_000)
    expect((await does.take(3)).map(({ type, object }) => `${type} ${object.metadata.resourceVersion}`)).toEqual([
      "BOOKMARK 1003",
      "ADDED 1004",
      "BOOKMARK 1004",
    ])
    expect((await wants.next()).type).toBe("ADDED")
  })

  test.each([
    ["apps/v1.Deployment", "/apis/apps/v1/deployments", "watch-deployments-scale-delete", "459"],
    ["v1.Pod", "/api/v1/pods", "watch-pods-initial-events", "476"],
    ["apps/v1.ReplicaSet", "/apis/apps/v1/replicasets", "watch-replicasets", "461"],
  ])("of %s are the real server's bytes", async (_gvk, path, _file, revision) => {
    const sandbox = await start({ revision: Number(revision) - 2 })
    const stream = await watch(sandbox, `resourceVersion=${revision}&allowWatchBookmarks=true`, path)
    sandbox.bookmarkNow()
    expect(await stream.line()).toBe(realBookmarks[path])
  })
})

/** Taken from recorded watches of Kubernetes 1.34.4. */
const realBookmarks: Readonly<Record<string, string>> = {
  "/apis/apps/v1/deployments":
    '{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"resourceVersion":"459"},"spec":{"replicas":0,"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}}',
  "/api/v1/pods":
    '{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"476"},"spec":{"containers":null},"status":{}}}',
  "/apis/apps/v1/replicasets":
    '{"type":"BOOKMARK","object":{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"resourceVersion":"461"},"spec":{"replicas":0,"selector":null,"template":{"metadata":{},"spec":{"containers":null}}},"status":{"replicas":0}}}',
}

test("the server ends a watch at once whose timeoutSeconds are negative, as a real one does", async () => {
  const delays: number[] = []
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, action) => {
      delays.push(delayMs)
      return systemClock.after(delayMs, action)
    },
  }
  const sandbox = await start({ clock, bookmarkInterval: 0 })
  const stream = await watch(sandbox, "resourceVersion=1002&timeoutSeconds=-5")
  expect(await stream.ended).toBe("clean")
  expect([stream.status, delays.filter((delayMs) => delayMs < 0)]).toEqual([200, []])
})

test("the server ends a watch when its timeoutSeconds are over, not before", async () => {
  const clock = new ManualClock()
  const sandbox = await start({ clock })
  const stream = await watch(sandbox, "resourceVersion=1002&timeoutSeconds=300")
  clock.advance(299_999)
  put(sandbox, "a")
  await stream.next()
  expect(sandbox.watchCount("configmaps")).toBe(1)
  clock.advance(1)
  expect(await stream.ended).toBe("clean")
  expect(sandbox.watchCount()).toBe(0)
})

test("every line is one chunk of the answer, and all watchers get the same bytes", async () => {
  const sandbox = await start()
  const raw = async (): Promise<Promise<string>> => {
    const socket = connect(sandbox.port, "127.0.0.1")
    let text = ""
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part
    })
    socket.write("GET /api/v1/configmaps?watch=1&resourceVersion=1002 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return new Promise((resolve) => socket.on("end", () => resolve(text.slice(text.indexOf("\r\n\r\n") + 4))))
  }
  const bodies = Promise.all([raw(), raw()])
  await sandbox.requests.waitFor({ verb: "watch" }, 2)
  for (const name of ["a", "b", "c"]) put(sandbox, name)
  sandbox.faults.endWatches()
  const [left = "", right] = await bodies
  expect(left).toBe(right)
  const chunks = left.split("\r\n").filter((_part, index) => index % 2 === 1)
  expect(chunks.slice(0, 3).map((chunk) => brief(JSON.parse(chunk) as WatchEvent))).toEqual([
    "ADDED a@1003",
    "ADDED b@1004",
    "ADDED c@1005",
  ])
  expect(chunks.slice(0, 3).every((chunk) => chunk.endsWith("}}\n"))).toBe(true)
})

test("a server that re-formats sends each event on one line still", async () => {
  const sandbox = await start({ pretty: true })
  put(sandbox, 'quo"te: a, b')
  const stream = await watch(sandbox, streamingList)
  put(sandbox, "x")
  sandbox.delete("v1.ConfigMap", "default", "x")
  const lines = [await stream.line(), await stream.line(), await stream.line(), await stream.line()]
  expect(lines[0]).toMatch(
    /^\{"type": "ADDED", "object": \{"kind": "ConfigMap", "apiVersion": "v1", "metadata": \{"name"/,
  )
  expect(lines[0]).toContain('"quo\\"te: a, b"')
  expect(lines.map((line) => (JSON.parse(line) as WatchEvent).type)).toEqual(["ADDED", "BOOKMARK", "ADDED", "DELETED"])
})

test("20,000 events of 3 kB reach a watcher complete and in order", async () => {
  const sandbox = await start({ ledger: "versions", historyLimit: 100 })
  const stream = await watch(sandbox, "resourceVersion=1002")
  const data = { filler: "x".repeat(2_800) }
  for (let index = 0; index < 20_000; index++) {
    sandbox.put("v1.ConfigMap", { metadata: { name: `cm-${index % 500}` }, data })
    // The event loop must run, or nothing is sent; a hundred at a time is like the load of a busy controller.
    if (index % 100 === 99) await new Promise(setImmediate)
  }
  let expected = 1003
  for (let index = 0; index < 20_000; index++) {
    const line = await stream.line()
    if (!line.includes(`"resourceVersion":"${expected++}"`)) throw new Error(`line ${index}: ${line.slice(0, 200)}`)
  }
  expect(stream.waiting).toBe(0)
})
