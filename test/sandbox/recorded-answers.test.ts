/**
 * Every recorded response of Kubernetes 1.34.4 in test/data/apiserver is a case: the sandbox is put into the real
 * server's state and gets the same request. Versions, UIDs, times and generations are left out, since they depend on
 * other events; kinds that the sandbox does not serve are left out of discovery.
 */

import { readdirSync } from "node:fs"
import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { KubernetesObject } from "../../src/apiserver/index.ts"
import { Sandbox } from "../../src/library/sandbox.ts"
import { type Answer, get, Watch } from "./client.ts"
import { openForFile } from "./opened-sandbox.ts"
import { comparable, type RecordedAnswer, recordedAnswer } from "./recorded-answer.ts"

const sandbox = await openForFile({ revision: 300, historyLimit: 1000 })

const bodyOf = (name: string): Fields => JSON.parse(recordedAnswer(name).text) as Fields
type Fields = { readonly [key: string]: unknown }

/** The names of cases, so that none of the recorded answers is forgotten. */
const cases = new Set<string>()
const answered = (name: string, check: () => Promise<void>): void => {
  cases.add(name)
  test(name, check)
}

const send = (method: string, path: string, contentType: string, body: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = { "content-type": contentType, "user-agent": "curl/8.5.0" }
    const sent = request(sandbox.url + path, { method, headers, agent: false }, (response) => {
      const parts: Buffer[] = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", reject)
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8")
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
    })
    sent.on("error", reject)
    sent.end(body)
  })

const chosen: ReadonlySet<string> = new Set(["resourceVersion", "continue", "generation"])

/** A value without what a server counts, generates or reads from its clock. */
const without = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(without)
  if (typeof value === "string")
    return value
      .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uid>")
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
  if (value === null || typeof value !== "object") return value
  const members = Object.entries(value).filter(([key]) => !chosen.has(key))
  return Object.fromEntries(members.map(([key, member]) => [without(key), without(member)]))
}

const expectSame = (answer: Answer, expected: RecordedAnswer): void =>
  expect(without(comparable(answer))).toEqual(without(comparable(expected)))

const ask = (path: string, headers: Record<string, string> = {}): Promise<Answer> => get(sandbox.url + path, headers)

/** Creates the objects of a recorded list, in another order than the list's, and deletes them afterwards. */
const holding = async (gvk: string, items: readonly KubernetesObject[], check: () => Promise<void>): Promise<void> => {
  const reversed = [...items].reverse()
  for (const item of reversed) sandbox.put(gvk, item)
  try {
    await check()
  } finally {
    for (const { metadata } of items) sandbox.delete(gvk, metadata.namespace ?? "", metadata.name)
  }
}
const itemsOf = (name: string): readonly KubernetesObject[] => bodyOf(name).items as readonly KubernetesObject[]

describe("refusals", () => {
  for (const [name, path] of [
    ["get-not-found", "/apis/apps/v1/namespaces/default/deployments/nope"],
    ["unknown-group", "/apis/nope.example.com/v1/foos"],
    ["unknown-resource", "/api/v1/nopes"],
    ["watch-not-a-number", "/api/v1/configmaps?watch=1&resourceVersion=abc"],
    ["watch-sendinitial-missing-match", "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"],
  ] as const)
    answered(name, async () => {
      expectSame(await ask(path), recordedAnswer(name))
    })

  for (const verb of ["list", "watch"])
    answered(`forbidden-${verb}`, async () => {
      sandbox.faults.respond("pods", 403, { times: 1 })
      const answer = await ask(verb === "watch" ? "/api/v1/pods?watch=1" : "/api/v1/pods")
      const { "x-content-type-options": _sniffing, ...headers } = recordedAnswer(`forbidden-${verb}`).headers
      expectSame(answer, { ...recordedAnswer(`forbidden-${verb}`), headers })
    })

  answered("unauthorized", async () => {
    sandbox.setToken("sesame")
    const answer = await ask("/api/v1/pods")
    sandbox.setToken(undefined)
    expectSame(answer, recordedAnswer("unauthorized"))
  })

  answered("list-rv-exact-future", async () => {
    const answer = await ask("/api/v1/configmaps?resourceVersion=99999999&resourceVersionMatch=Exact")
    const recorded = recordedAnswer("list-rv-exact-future")
    const text = recorded.text.replace("current: 495", `current: ${sandbox.resourceVersion}`)
    expectSame(answer, { ...recorded, text })
  })

  answered("list-bad-continue", async () => {
    const answer = await ask("/api/v1/configmaps?limit=1&continue=gQ")
    expectSame(answer, recordedAnswer("list-bad-continue"))
  })
})

describe("expired versions", () => {
  let forgetful: Sandbox
  beforeAll(async () => {
    forgetful = await Sandbox.start({ revision: 300, historyLimit: 2 })
    for (let index = 1; index <= 9; index++)
      forgetful.put("v1.ConfigMap", { metadata: { name: `cm-${index}`, namespace: "default" } })
  })
  afterAll(() => forgetful.close())

  answered("list-exact-expired", async () => {
    const answer = await get(`${forgetful.url}/api/v1/configmaps?resourceVersion=302&resourceVersionMatch=Exact`)
    expectSame(answer, recordedAnswer("list-exact-expired"))
  })
  answered("watch-expired", async () => {
    const answer = await get(`${forgetful.url}/api/v1/configmaps?watch=1&resourceVersion=302`)
    const plain = (text: string): string => text.replace(/\d+ \(\d+\)/, "").trimEnd()
    expect(answer.status).toBe(200)
    expect(plain(answer.text)).toBe(plain(recordedAnswer("watch-expired").text))
  })
})

describe("lists", () => {
  const configMaps = ["1", "10", "11", "12", "2", "3", "4", "5", "6", "7", "8", "9", "91"].map((end) => ({
    ...(itemsOf("list-configmaps-page1")[0] as KubernetesObject),
    metadata: { ...itemsOf("list-configmaps-page1")[0]?.metadata, name: `cm-${end}` },
    data: { k: end },
  }))
  const path = "/api/v1/namespaces/default/configmaps?limit=5"

  answered("list-configmaps-page1", () =>
    holding("v1.ConfigMap", configMaps, async () =>
      expectSame(await ask(path), recordedAnswer("list-configmaps-page1")),
    ),
  )
  answered("list-configmaps-page2", () =>
    holding("v1.ConfigMap", configMaps, async () => {
      const first = JSON.parse((await ask(path)).text) as { metadata: { continue: string } }
      expectSame(await ask(`${path}&continue=${first.metadata.continue}`), recordedAnswer("list-configmaps-page2"))
    }),
  )
  answered("list-continue-after-compaction", () =>
    holding("v1.ConfigMap", configMaps, async () => {
      const first = JSON.parse((await ask(path.replace("limit=5", "limit=4"))).text) as {
        metadata: { continue: string }
      }
      expectSame(
        await ask(`${path}&continue=${first.metadata.continue}`),
        recordedAnswer("list-continue-after-compaction"),
      )
    }),
  )
  answered("list-pods-rv0", () =>
    holding("v1.Pod", itemsOf("list-pods-rv0"), async () =>
      expectSame(await ask("/api/v1/pods?resourceVersion=0"), recordedAnswer("list-pods-rv0")),
    ),
  )
  answered("list-deployments", () =>
    holding("apps/v1.Deployment", itemsOf("list-deployments"), async () =>
      expectSame(await ask("/apis/apps/v1/deployments"), recordedAnswer("list-deployments")),
    ),
  )
  answered("list-metadata-only", () =>
    holding("apps/v1.Deployment", itemsOf("list-deployments"), async () => {
      const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
      expectSame(await ask("/apis/apps/v1/deployments", { accept }), recordedAnswer("list-metadata-only"))
    }),
  )
  answered("list-table", () =>
    holding("apps/v1.Deployment", itemsOf("list-deployments"), async () => {
      const accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
      const ageless = (text: string): string => text.replace(/"\d+s"/, '"<age>"')
      const answer = await ask("/apis/apps/v1/deployments", { accept })
      const recorded = recordedAnswer("list-table")
      expectSame({ ...answer, text: ageless(answer.text) }, { ...recorded, text: ageless(recorded.text) })
    }),
  )
  answered("get-replicaset", () => {
    const recorded = bodyOf("get-replicaset") as unknown as KubernetesObject
    const { namespace = "", name } = recorded.metadata
    return holding("apps/v1.ReplicaSet", [recorded], async () =>
      expectSame(
        await ask(`/apis/apps/v1/namespaces/${namespace}/replicasets/${name}`),
        recordedAnswer("get-replicaset"),
      ),
    )
  })
})

interface RecordedEvent {
  readonly type: string
  readonly object: KubernetesObject
}

/** Repeats the changes of a recorded watch. */
const repeat = (gvk: string, { type, object }: RecordedEvent): void => {
  const { namespace = "", name } = object.metadata
  if (type === "ADDED" || type === "MODIFIED") sandbox.put(gvk, object)
  if (type !== "DELETED") return
  // The last state is that of the event: the last change came with the deletion.
  sandbox.put(gvk, object)
  sandbox.delete(gvk, namespace, name)
}

const eventsOf = (name: string): readonly RecordedEvent[] =>
  recordedAnswer(name)
    .text.trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RecordedEvent)

describe("watches", () => {
  for (const [name, gvk, path] of [
    ["watch-deployments-scale-delete", "apps/v1.Deployment", "/apis/apps/v1/deployments"],
    ["watch-replicasets", "apps/v1.ReplicaSet", "/apis/apps/v1/replicasets"],
  ] as const)
    answered(name, async () => {
      const recorded = eventsOf(name)
      // An object that is changed before it is created existed before the watch.
      const isNew = (event: RecordedEvent): boolean =>
        event.type === "MODIFIED" &&
        recorded.find(({ object }) => object.metadata.name === event.object.metadata.name) === event
      for (const event of recorded.filter(isNew)) sandbox.put(gvk, event.object)
      const from = `resourceVersion=${sandbox.resourceVersion}`
      const watch = await Watch.open(`${sandbox.url}${path}?watch=1&allowWatchBookmarks=true&${from}`)
      const lines: unknown[] = []
      for (const event of recorded) {
        repeat(gvk, event)
        if (event.type === "BOOKMARK") sandbox.bookmarkNow()
        // A deletion here is a change before it, which the recorded watch does not have.
        if (event.type === "DELETED") await watch.next()
        lines.push(without(await watch.next()))
      }
      watch.close()
      expect(watch.headers["content-type"]).toBe(recordedAnswer(name).headers["content-type"])
      expect(lines).toEqual(recorded.map(without))
    })

  answered("watch-pods-initial-events", async () => {
    const recorded = eventsOf("watch-pods-initial-events")
    const start = recorded.findIndex(({ type }) => type === "BOOKMARK")
    for (const { object } of recorded.slice(0, start).reverse()) sandbox.put("v1.Pod", object)
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    const watch = await Watch.open(`${sandbox.url}/api/v1/pods?${query}`)
    const initial = (await watch.take(start + 1)).map(without)
    expect(initial).toEqual(recorded.slice(0, start + 1).map(without))
    for (const event of recorded.slice(start + 1)) {
      repeat("v1.Pod", event)
      if (event.type === "BOOKMARK") sandbox.bookmarkNow()
      if (event.type === "DELETED") await watch.next()
      expect(without(await watch.next())).toEqual(without(event))
    }
    watch.close()
  })

  answered("watch-rv-future", async () => {
    const watch = await Watch.open(`${sandbox.url}/api/v1/configmaps?watch=1&resourceVersion=99999999&timeoutSeconds=1`)
    const recorded = recordedAnswer("watch-rv-future")
    expect([watch.status, watch.headers["content-type"]]).toEqual([recorded.status, recorded.headers["content-type"]])
    expect(await watch.ended).toBe("clean")
    expect(watch.lines).toEqual([])
  })
})

/** The part of discovery about kinds that the sandbox serves as well. */
const served = (recorded: unknown, ours: unknown): unknown => {
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    const names = new Map(ours.map((item: unknown) => [nameOf(item), item]))
    const known = recorded.filter((item: unknown) => nameOf(item) === undefined || names.has(nameOf(item)))
    return known.map((item: unknown) => served(item, names.get(nameOf(item))))
  }
  if (recorded === null || typeof recorded !== "object" || ours === null || typeof ours !== "object") return recorded
  return Object.fromEntries(
    Object.entries(recorded).map(([key, value]) => [key, served(value, (ours as { [key: string]: unknown })[key])]),
  )
}
const nameOf = (item: unknown): string | undefined => {
  const { name, resource, subresource, version, groupVersion, metadata } = item as { [key: string]: unknown }
  const found = name ?? resource ?? subresource ?? groupVersion ?? version ?? (metadata as { name?: string })?.name
  return typeof found === "string" ? found : undefined
}

describe("discovery", () => {
  for (const [name, path] of [
    ["discovery-apis", "/apis"],
    ["discovery-core-v1", "/api/v1"],
    ["discovery-apps-v1", "/apis/apps/v1"],
    ["discovery-batch-v1", "/apis/batch/v1"],
    ["discovery-aggregated", "/apis"],
  ] as const)
    answered(name, async () => {
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
      const answer = await ask(path, name === "discovery-aggregated" ? { accept } : {})
      const recorded = recordedAnswer(name)
      expect(answer.headers["content-type"]).toBe(recorded.headers["content-type"])
      const ours: unknown = JSON.parse(answer.text)
      expect(ours).toEqual(served(JSON.parse(recorded.text), ours))
    })

  answered("discovery-api", async () => {
    const recorded = recordedAnswer("discovery-api")
    const here = recorded.text.replace(/"serverAddress": *"[^"]*"/, `"serverAddress":"127.0.0.1:${sandbox.port}"`)
    expectSame(await ask("/api"), { ...recorded, text: here })
  })

  answered("version", async () => {
    const answer = await ask("/version")
    expect(answer.status).toBe(200)
    const { gitVersion, ...recorded } = bodyOf("version")
    const { gitVersion: ours, ...others } = JSON.parse(answer.text) as Fields
    // The sandbox's version says that it is not a real server.
    expect(ours).toBe(`${String(gitVersion)}+sandbox`)
    const { major, minor, emulationMajor, emulationMinor, minCompatibilityMajor, minCompatibilityMinor } = recorded
    const compatibility = { emulationMajor, emulationMinor, minCompatibilityMajor, minCompatibilityMinor }
    expect(others).toMatchObject({ major, minor, ...compatibility })
    expect(Object.keys(others)).toEqual(Object.keys(recorded))
  })
})

describe("writes, in the order in which they were recorded", () => {
  const path = "/apis/apps/v1/namespaces/default/deployments"
  const json = "application/json"
  const applied = (replicas: number): string =>
    JSON.stringify({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "ssa" },
      spec: {
        replicas,
        selector: { matchLabels: { app: "ssa" } },
        template: { metadata: { labels: { app: "ssa" } }, spec: { containers: [{ name: "c", image: "x" }] } },
      },
    })
  const apply = (manager: string, replicas: number): Promise<Answer> =>
    send("PATCH", `${path}/ssa?fieldManager=${manager}`, "application/apply-patch+yaml", applied(replicas))

  answered("write-ssa-create", async () => {
    expectSame(await apply("me", 1), recordedAnswer("write-ssa-create"))
  })
  answered("write-ssa-conflict", async () => {
    expectSame(await apply("other", 2), recordedAnswer("write-ssa-conflict"))
  })
  answered("write-create-exists", async () => {
    expectSame(await send("POST", path, json, applied(1)), recordedAnswer("write-create-exists"))
  })
  answered("write-create-missing-namespace", async () => {
    const answer = await send("POST", path.replace("default", "nope"), json, applied(1))
    expectSame(answer, recordedAnswer("write-create-missing-namespace"))
  })
  answered("write-update-conflict", async () => {
    const stale = applied(1).replace(`"name":"ssa"`, `"name":"ssa","resourceVersion":"1"`)
    expectSame(await send("PUT", `${path}/ssa`, json, stale), recordedAnswer("write-update-conflict"))
  })
  answered("write-create-invalid", async () => {
    const labels = { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "c" } }, spec: {} } }
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "bad" }, spec: labels }
    expectSame(await send("POST", path, json, JSON.stringify(body)), recordedAnswer("write-create-invalid"))
  })
  answered("write-create-malformed", async () => {
    expectSame(await send("POST", path, json, `{"apiVersion":`), recordedAnswer("write-create-malformed"))
  })
  answered("write-delete", async () => {
    expectSame(await send("DELETE", `${path}/ssa`, json, ""), recordedAnswer("write-delete"))
  })
})

test("every recorded answer has its case", () => {
  const files = readdirSync(new URL("../data/apiserver", import.meta.url)).filter((file) => file.endsWith(".http"))
  expect(files.map((file) => file.replace(".http", "")).filter((name) => !cases.has(name))).toEqual([])
  expect(cases.size).toBe(files.length)
})
