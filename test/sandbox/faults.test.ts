import { createServer } from "node:net"
import { describe, expect, onTestFinished, test } from "vitest"
import { Sandbox } from "../../src/library/sandbox.ts"
import { ManualClock } from "../runtime/manual-clock.ts"
import { type Answer, brief, get, getJson, Watch } from "./client.ts"
import { open as start } from "./opened-sandbox.ts"

const watch = async (sandbox: Sandbox, plural = "configmaps", query = "allowWatchBookmarks=true"): Promise<Watch> => {
  const stream = await Watch.open(`${sandbox.url}/api/v1/${plural}?watch=1&resourceVersion=1002&${query}`)
  onTestFinished(() => stream.close())
  return stream
}

const put = (sandbox: Sandbox, name: string, kind = "v1.ConfigMap"): void => {
  sandbox.put(kind, { metadata: { name } })
}

/** Resolves after some turns of the server's event loop, so that what it has written can arrive. */
const roundTrip = (sandbox: Sandbox): Promise<Answer> => get(`${sandbox.url}/version`)

describe("an expired version", () => {
  test("is sent to the next watches that resume, in the stream, and counted; other kinds are not affected", async () => {
    const sandbox = await start()
    const other = await watch(sandbox, "secrets")
    sandbox.faults.forceExpired("configmaps", 2)
    for (const _ of [1, 2]) {
      const refused = await watch(sandbox)
      expect(refused.status).toBe(200)
      expect(await refused.next()).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } })
      expect(await refused.ended).toBe("clean")
    }
    const accepted = await watch(sandbox)
    put(sandbox, "a")
    expect(brief(await accepted.next())).toBe("ADDED a@1003")
    put(sandbox, "s", "v1.Secret")
    expect(brief(await other.next())).toBe("ADDED s@1004")
    expect(sandbox.faults.count("expired", "configmaps")).toBe(2)
    expect(sandbox.requests.count({ verb: "watch", resource: "secrets" })).toBe(1)
  })

  test("can be an HTTP status", async () => {
    const sandbox = await start()
    sandbox.faults.forceExpired("configmaps", 1, { as: "http" })
    const answer = await get(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=1002`)
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([410, { reason: "Expired", code: 410 }])
  })

  test("spares a watch that asks for initial events, unless configured otherwise", async () => {
    const sandbox = await start()
    const url = `${sandbox.url}/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=0`
    sandbox.faults.forceExpired("configmaps", 1)
    expect((await get(url)).text).toBe("")
    sandbox.faults.forceExpired("configmaps", 1, { initial: true })
    // The first fault still waits for its watch, so the second one is next in line for this request.
    expect((await get(url)).text).toContain('"code":410')
  })

  test("can hit open watches", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox)
    sandbox.faults.expireWatches("configmaps")
    expect((await stream.next()).object.code).toBe(410)
    expect(await stream.ended).toBe("clean")
  })
})

describe("a refusal", () => {
  test.each([
    [429, undefined, "1", "Too many requests, please try again later.\n"],
    [429, 7, "7", "Too many requests, please try again later.\n"],
    [500, undefined, undefined, "InternalError"],
    [503, 3, "3", "ServiceUnavailable"],
    [418, undefined, undefined, '"code":418'],
  ])("with %i and Retry-After %s", async (status, retryAfterSeconds, header, text) => {
    const sandbox = await start()
    sandbox.faults.respond("pods", status, {
      times: 1,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    })
    const answer = await get(`${sandbox.url}/api/v1/pods`)
    expect([answer.status, answer.headers["retry-after"]]).toEqual([status, header])
    expect(answer.text).toContain(text)
    expect((await get(`${sandbox.url}/api/v1/pods`)).status).toBe(200)
    expect(sandbox.faults.count("answered", "pods")).toBe(1)
  })

  test("is limited to a verb and a kind, and lasts until cleared", async () => {
    const sandbox = await start()
    sandbox.faults.respond("pods", 403, { verb: "list" })
    const statuses = async (): Promise<ReadonlyArray<number>> => {
      const paths = ["pods", "pods?watch=1&timeoutSeconds=0", "secrets", "namespaces/a/pods/x"]
      return Promise.all(paths.map(async (path) => (await get(`${sandbox.url}/api/v1/${path}`)).status))
    }
    expect(await statuses()).toEqual([403, 200, 200, 404])
    expect(await statuses()).toEqual([403, 200, 200, 404])
    sandbox.faults.clear()
    expect(await statuses()).toEqual([200, 200, 200, 404])
  })

  test("names the object, the group and the namespace as RBAC would", async () => {
    const sandbox = await start({ user: "recorder" })
    sandbox.faults.respond("deployments", 403)
    const refused = await getJson(`${sandbox.url}/apis/apps/v1/namespaces/a/deployments/web`)
    expect(refused.message).toBe(
      'deployments.apps "web" is forbidden: User "recorder" cannot get resource "deployments" in API group "apps" in ' +
        'the namespace "a"',
    )
    expect(refused).toMatchObject({ details: { name: "web", group: "apps", kind: "deployments" } })
  })

  test("can hit only discovery, or everything", async () => {
    const sandbox = await start()
    sandbox.faults.respond("discovery", 503, { times: 1 })
    expect((await get(`${sandbox.url}/api/v1/pods`)).status).toBe(200)
    expect((await get(`${sandbox.url}/apis`)).status).toBe(503)
    sandbox.faults.respond("*", 500)
    expect((await get(`${sandbox.url}/version`)).status).toBe(500)
    expect((await get(`${sandbox.url}/api/v1/pods`)).status).toBe(500)
  })
})

describe("open watches", () => {
  test("are cut by a hang-up, only those of the named kind", async () => {
    const sandbox = await start()
    const [cut, spared] = [await watch(sandbox), await watch(sandbox, "secrets")]
    sandbox.faults.hangUp("configmaps")
    expect(await cut.ended).toBe("cut")
    expect([sandbox.watchCount("configmaps"), sandbox.watchCount("secrets")]).toEqual([0, 1])
    put(sandbox, "s", "v1.Secret")
    expect(brief(await spared.next())).toBe("ADDED s@1003")
    expect(sandbox.faults.count("hung-up")).toBe(1)
  })

  test("are ended properly on demand", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox)
    put(sandbox, "a")
    sandbox.faults.endWatches()
    expect(await stream.ended).toBe("clean")
    expect(stream.lines).toHaveLength(1)
  })

  test("that stall get nothing, and everything in order afterwards; so do watches opened meanwhile", async () => {
    const sandbox = await start()
    const before = await watch(sandbox)
    const other = await watch(sandbox, "secrets")
    sandbox.faults.stall("configmaps")
    put(sandbox, "a")
    const meanwhile = await watch(sandbox)
    sandbox.bookmarkNow("configmaps")
    put(sandbox, "b")
    put(sandbox, "s", "v1.Secret")
    expect(brief(await other.next())).toBe("ADDED s@1005")
    await roundTrip(sandbox)
    expect([before.lines, meanwhile.lines]).toEqual([[], []])
    sandbox.faults.endWatches("configmaps")
    sandbox.faults.resume("configmaps")
    expect([await before.ended, await meanwhile.ended]).toEqual(["clean", "clean"])
    const types = before.lines.map((line) => (JSON.parse(line) as { type: string }).type)
    expect(types).toEqual(["ADDED", "BOOKMARK", "ADDED"])
    expect(meanwhile.lines).toEqual(before.lines)
  })

  test("in a black hole stay open and silent; new requests get not even a head; all of it comes out at the end", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox)
    sandbox.faults.blackHole("configmaps")
    put(sandbox, "a")
    let answered = 0
    const requests = ["configmaps", "configmaps?watch=1&timeoutSeconds=0", "namespaces/default/configmaps/a"].map(
      (path) =>
        get(`${sandbox.url}/api/v1/${path}`).then((answer) => {
          answered++
          return answer.status
        }),
    )
    await sandbox.requests.waitFor({ resource: "configmaps" }, 4)
    expect((await get(`${sandbox.url}/api/v1/secrets`)).status).toBe(200)
    await roundTrip(sandbox)
    expect([stream.lines.length, answered, sandbox.watchCount("configmaps")]).toEqual([0, 0, 1])
    expect(sandbox.requests.count({ resource: "configmaps", status: 0 })).toBe(3)
    sandbox.faults.resume()
    expect(await Promise.all(requests)).toEqual([200, 200, 200])
    expect(brief(await stream.next())).toBe("ADDED a@1003")
  })

  test("in a black hole of everything include discovery", async () => {
    const sandbox = await start()
    sandbox.faults.blackHole()
    const version = get(`${sandbox.url}/version`).then(
      () => "answered",
      () => "cut",
    )
    await sandbox.requests.waitFor({ resource: "discovery" })
    await sandbox.close()
    expect(await version).toBe("cut")
  })

  test("are truncated in the middle of the next line, one stream only", async () => {
    const sandbox = await start()
    const [first, second] = [await watch(sandbox), await watch(sandbox)]
    sandbox.faults.truncate("configmaps", 40)
    put(sandbox, "a")
    put(sandbox, "b")
    expect(await first.ended).toBe("cut")
    expect([first.lines, first.rest.length]).toEqual([[], 40])
    expect((await second.take(2)).map(brief)).toEqual(["ADDED a@1003", "ADDED b@1004"])
    expect(second.lines[0]?.startsWith(first.rest)).toBe(true)
    expect(sandbox.faults.count("truncated", "configmaps")).toBe(1)
  })

  test("that stall are truncated in the first line after the stall, and nothing follows it", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox)
    sandbox.faults.stall("configmaps")
    for (const name of ["a", "b", "c"]) put(sandbox, name)
    sandbox.faults.truncate("configmaps", 40)
    sandbox.faults.resume("configmaps")
    expect(await stream.ended).toBe("cut")
    expect([stream.lines, stream.rest.length]).toEqual([[], 40])
  })

  test("carry garbage between good lines", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox)
    put(sandbox, "a")
    sandbox.faults.garbage("configmaps", '{"type":"ADDED","object":{')
    put(sandbox, "b")
    await stream.next()
    expect(await stream.line()).toBe('{"type":"ADDED","object":{')
    expect(brief(await stream.next())).toBe("ADDED b@1004")
  })
})

describe("reads of single objects", () => {
  test("wait while they are held, and are answered in order of arrival", async () => {
    const sandbox = await start()
    put(sandbox, "a")
    sandbox.faults.holdGets()
    const order: string[] = []
    const read = (name: string): Promise<unknown> =>
      get(`${sandbox.url}/api/v1/namespaces/default/configmaps/${name}`).then(({ status }) =>
        order.push(`${name} ${status}`),
      )
    const first = read("a")
    await sandbox.requests.waitFor({ verb: "get" })
    const second = read("b")
    await sandbox.requests.waitFor({ verb: "get" }, 2)
    expect((await get(`${sandbox.url}/api/v1/configmaps`)).status).toBe(200)
    expect([order, sandbox.faults.gets.pending]).toEqual([[], 2])
    sandbox.faults.releaseGets()
    await Promise.all([first, second])
    expect(order.toSorted()).toEqual(["a 200", "b 404"])
  })

  test("are delayed by the given time", async () => {
    const clock = new ManualClock()
    const sandbox = await start({ clock, bookmarkInterval: 0 })
    sandbox.faults.delayGets(50)
    const read = get(`${sandbox.url}/api/v1/namespaces/kube-system`)
    await sandbox.requests.waitFor({ verb: "get" })
    clock.advance(49)
    await roundTrip(sandbox)
    expect(sandbox.requests.entries({ verb: "get" })[0]?.status).toBe(0)
    clock.advance(1)
    expect((await read).status).toBe(200)
  })
})

describe("a reader that stops reading", () => {
  const flood = (sandbox: Sandbox): void => {
    const data = { filler: "x".repeat(100_000) }
    for (let index = 0; index < 200; index++) sandbox.put("v1.ConfigMap", { metadata: { name: `a${index}` }, data })
  }

  test("is disconnected after 100 ms above the limit, and can resume where it was", async () => {
    const clock = new ManualClock()
    const sandbox = await start({ clock, slowReaderLimit: 1_000_000, bookmarkInterval: 0 })
    const stream = await watch(sandbox)
    stream.pause()
    flood(sandbox)
    clock.advance(99)
    await roundTrip(sandbox)
    expect(sandbox.watchCount("configmaps")).toBe(1)
    clock.advance(1)
    expect(sandbox.watchCount("configmaps")).toBe(0)
    expect(sandbox.faults.count("slow-reader", "configmaps")).toBe(1)
    stream.resume()
    expect(await stream.ended).toBe("cut")
    expect(stream.lines.length).toBeLessThan(200)
    const rest = await Watch.open(
      `${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=${1002 + stream.lines.length}&timeoutSeconds=1`,
    )
    const resumed = await rest.take(200 - stream.lines.length)
    expect(brief(resumed.at(-1) ?? (await rest.next()))).toBe("ADDED a199@1202")
    rest.close()
  })

  test("may be slow with initial events, but not with later ones", async () => {
    const clock = new ManualClock()
    const sandbox = await start({ clock, slowReaderLimit: 1_000_000, bookmarkInterval: 0 })
    flood(sandbox)
    const stream = await watch(sandbox)
    stream.pause()
    put(sandbox, "live")
    clock.advance(10_000)
    expect(sandbox.watchCount("configmaps")).toBe(1)
    flood(sandbox)
    clock.advance(100)
    expect(sandbox.watchCount("configmaps")).toBe(0)
  })

  test("is left alone when it catches up in time, or when there is no limit", async () => {
    for (const limited of [true, false]) {
      const clock = new ManualClock()
      const sandbox = await start({ clock, bookmarkInterval: 0, ...(limited ? { slowReaderLimit: 1_000_000 } : {}) })
      const stream = await watch(sandbox)
      stream.pause()
      flood(sandbox)
      if (limited) {
        stream.resume()
        await stream.take(200)
      }
      clock.advance(10_000)
      expect(sandbox.watchCount("configmaps")).toBe(1)
    }
  })
})

describe("the connection as a whole", () => {
  test("can drop: open watches and idle connections are cut, new ones accepted", async () => {
    const sandbox = await start()
    const stream = await watch(sandbox)
    sandbox.faults.dropConnections()
    expect([sandbox.watchCount(), await stream.ended]).toEqual([0, "cut"])
    put(sandbox, "a")
    expect(brief(await (await watch(sandbox)).next())).toBe("ADDED a@1003")
  })

  test("can be refused for a while, on the same port afterwards", async () => {
    const sandbox = await start()
    const { url } = sandbox
    await sandbox.faults.refuseConnections()
    await expect(get(`${url}/version`)).rejects.toMatchObject({ code: "ECONNREFUSED" })
    await sandbox.faults.acceptConnections()
    expect((await get(`${url}/version`)).status).toBe(200)
  })
})

test("a port in use is the system's error", async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
  const address = taken.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  await expect(Sandbox.start({ port })).rejects.toMatchObject({ code: "EADDRINUSE" })
  taken.close()
})

test("closing leaves no timer and no watch behind", async () => {
  const clock = new ManualClock()
  const sandbox = await Sandbox.start({ clock })
  const stream = await watch(sandbox, "configmaps", "timeoutSeconds=300")
  sandbox.faults.delayGets(50)
  const read = get(`${sandbox.url}/api/v1/namespaces/kube-system`).catch(() => "cut")
  await sandbox.requests.waitFor({ verb: "get" })
  await sandbox.close()
  expect([await stream.ended, await read]).toEqual(["cut", "cut"])
  expect([clock.pending, sandbox.watchCount()]).toEqual([0, 0])
})
