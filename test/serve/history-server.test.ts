/** A past as clients see it: any moment of it, read-only, with what it lacks in warnings. */
import { describe, expect, test } from "vitest"
import { formatLocalTime } from "../../src/local-time.ts"
import { type Answer, type ApiObject, brief, get, getJson } from "../sandbox/client.ts"
import { serve, streamingList, watching } from "./served.ts"
import { at, type Morning, pastOf, type Step } from "./trace-items.ts"

const settings = (minutes: number, name: string, version: number, more: Partial<Step> = {}): Step => ({
  ...{ minutes, gvk: "v1.ConfigMap", name, version, rest: { data: { set: `at ${version}` } } },
  ...more,
})

/** a and b from the beginning; b is changed at 10, a goes at 20 and comes again at 30, c comes at 40. */
const steps: ReadonlyArray<Step> = [
  settings(-1, "a", 101, { metadata: { labels: { app: "one" } } }),
  settings(-1, "b", 102),
  settings(10, "b", 110, { metadata: { labels: { app: "one" } } }),
  settings(20, "a", 120, { action: "deleted" }),
  settings(30, "a", 130, { uid: "uid-a-again" }),
  settings(40, "c", 140),
  {
    ...{ minutes: 5, gvk: "v1.Pod", name: "web", version: 105 },
    ...{ rest: { spec: { nodeName: "n1", containers: [] }, status: { phase: "Running" } } },
    metadata: { creationTimestamp: "2026-11-20T03:05:00Z" },
  },
]
const morningOf = (more: Partial<Morning> = {}): Morning => ({ steps, ...more })

const list = async (url: string, minutes: number, query = ""): Promise<ApiObject> =>
  getJson(`${url}/at/${at(minutes)}/api/v1/configmaps?${query}`)
const objects = ({ items }: ApiObject): ReadonlyArray<string> =>
  items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)
const message = ({ status, text }: Answer): readonly [number, string | undefined, string | undefined] => {
  const { reason, message: said } = JSON.parse(text) as ApiObject
  return [status, reason, said]
}
const time = (minutes: number): string => formatLocalTime(at(minutes) / 1000, 0)

describe("a moment in a path", () => {
  test("shows the objects as they were, with a version that its kind had reached", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const seen = await Promise.all([0, 9.99, 10, 20, 29.99, 30, 60].map((minutes) => list(url, minutes)))
    expect(seen.map(objects)).toEqual([
      ["a@101", "b@102"],
      ["a@101", "b@102"],
      ["a@101", "b@110"],
      ["b@110"],
      ["b@110"],
      ["a@130", "b@110"],
      ["a@130", "b@110", "c@140"],
    ])
    expect(seen.map(({ metadata }) => metadata.resourceVersion)).toEqual([
      "102",
      "102",
      "110",
      "120",
      "120",
      "130",
      "140",
    ])
  })

  test("is read as people write it: a time of day, a duration before the end, a date, start, end", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const date = new Date(at(20) / 1000)
    const two = (number: number): string => String(number).padStart(2, "0")
    for (const moment of [
      `${two(date.getHours())}:${two(date.getMinutes())}`,
      "-40m",
      "2026-11-20T03:20:00Z",
      "2026-11-20T04:20:00+01:00",
      encodeURIComponent("2026-11-20T03:20:00Z"),
    ])
      expect(objects(await getJson(`${url}/at/${moment}/api/v1/configmaps`))).toEqual(["b@110"])
    expect(objects(await getJson(`${url}/at/start/api/v1/configmaps`))).toEqual(["a@101", "b@102"])
    expect(objects(await getJson(`${url}/at/end/api/v1/configmaps`))).toEqual(
      objects(await getJson(`${url}/api/v1/configmaps`)),
    )
  })

  test("that is outside the past, or cannot be read, is refused with the range or what to write", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const refused = async (moment: string | number) => message(await get(`${url}/at/${moment}/api/v1/pods`))
    const reach = `morning.ndjson reaches from ${time(0)} to ${time(60)}`
    expect(await refused(at(-1))).toEqual([410, "Expired", `${time(-1)} is before the beginning: ${reach}`])
    expect(await refused(at(61))).toEqual([400, "BadRequest", `${time(61)} is after the end: ${reach}`])
    expect(await refused("noon")).toEqual([
      400,
      "BadRequest",
      expect.stringMatching(/^"noon": must be a time such as .*end, now-5m/),
    ])
  })

  test("has one object with its bytes, or a 404 if it was not there then", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const path = "api/v1/namespaces/shop/configmaps/a"
    const recorded = (await get(`${url}/at/${at(1)}/${path}`)).text
    expect(recorded).toBe(
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","uid":"uid-a","resourceVersion":"101","labels":{"app":"one"}},"data":{"set":"at 101"}}',
    )
    expect(message(await get(`${url}/at/${at(25)}/${path}`))).toEqual([404, "NotFound", 'configmaps "a" not found'])
  })

  test("dates ages by itself, not by now", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const table = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
    const { rows } = JSON.parse((await get(`${url}/at/${at(17)}/api/v1/pods`, table)).text) as {
      rows: ReadonlyArray<{ cells: ReadonlyArray<unknown> }>
    }
    expect(rows.map(({ cells }) => [cells[0], cells[2], cells[4]])).toEqual([["web", "Running", "12m"]])
  })
})

describe("a list", () => {
  test("is narrowed by namespace, labels and fields, as they were then", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    expect(objects(await list(url, 5, "labelSelector=app%3Done"))).toEqual(["a@101"])
    expect(objects(await list(url, 15, "labelSelector=app%3Done"))).toEqual(["a@101", "b@110"])
    expect(objects(await list(url, 15, "fieldSelector=metadata.name%3Db"))).toEqual(["b@110"])
    expect(objects(await getJson(`${url}/at/${at(15)}/api/v1/namespaces/other/configmaps`))).toEqual([])
    const onNode = await getJson(`${url}/at/${at(15)}/api/v1/pods?fieldSelector=spec.nodeName%3Dn1`)
    expect(objects(onNode)).toEqual(["web@105"])
  })

  test("comes in pages, each object once, and at the version of the moment only", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const first = await list(url, 50, "limit=2")
    expect([objects(first), first.metadata.remainingItemCount]).toEqual([["a@130", "b@110"], 1])
    const second = await list(url, 50, `limit=2&continue=${first.metadata.continue}`)
    expect([objects(second), second.metadata.continue]).toEqual([["c@140"], undefined])
    expect(objects(await list(url, 50, "resourceVersion=140&resourceVersionMatch=Exact"))).toHaveLength(3)
    expect(await list(url, 50, "resourceVersion=130&resourceVersionMatch=Exact")).toMatchObject({ code: 410 })
    expect(await list(url, 50, "resourceVersion=141")).toMatchObject({ code: 504 })
  })
})

describe("a watch of a moment that stands still", () => {
  const path = (minutes: number) => `/at/${at(minutes)}/api/v1/configmaps`

  test("begins with the objects and a bookmark, then has bookmarks only", async () => {
    const { url, clock } = await serve(await pastOf(morningOf()))
    const stream = await watching(`${url}${path(15)}?${streamingList}`)
    expect((await stream.take(3)).map(brief)).toEqual(["ADDED a@101", "ADDED b@110", "BOOKMARK @110"])
    clock.advance(60_000)
    expect(brief(await stream.next())).toBe("BOOKMARK @110")
  })

  test("goes on from the version of a list, and from an older one with the changes since", async () => {
    const { url, clock } = await serve(await pastOf(morningOf()))
    const quiet = await watching(`${url}${path(35)}?watch=1&resourceVersion=130&allowWatchBookmarks=true`)
    clock.advance(60_000)
    expect(brief(await quiet.next())).toBe("BOOKMARK @130")
    const since = await watching(`${url}${path(35)}?watch=1&resourceVersion=102`)
    expect((await since.take(3)).map(brief)).toEqual(["MODIFIED b@110", "DELETED a@120", "ADDED a@130"])
    const labelled = await watching(`${url}${path(35)}?watch=1&resourceVersion=102&labelSelector=app%3Done`)
    expect((await labelled.take(2)).map(brief)).toEqual(["ADDED b@110", "DELETED a@120"])
  })

  test("from before the beginning gets a 410", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const { type, object } = await (await watching(`${url}${path(35)}?watch=1&resourceVersion=101`)).next()
    expect([type, object.code, object.reason, object.message]).toEqual([
      ...["ERROR", 410, "Expired", "too old resource version: 101 (102)"],
    ])
  })
})

describe("discovery", () => {
  const widgets = (minutes: number): Step => ({
    ...{
      minutes,
      gvk: "apiextensions.k8s.io/v1.CustomResourceDefinition",
      name: "gadgetries.example.com",
      version: 90,
    },
    namespace: "",
    rest: {
      spec: {
        ...{
          group: "example.com",
          scope: "Cluster",
          names: { plural: "gadgetries", kind: "Gadget", shortNames: ["gd"] },
        },
        versions: [
          {
            ...{ name: "v1", served: true, storage: true },
            schema: {
              openAPIV3Schema: { type: "object", properties: { size: { type: "integer", description: "how big" } } },
            },
            additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".size" }],
          },
        ],
      },
    },
  })
  const gadget: Step = {
    ...{ minutes: -1, gvk: "example.com/v1.Gadget", name: "big", namespace: "", version: 91, rest: { size: 7 } },
  }
  const resources = async (url: string, path: string) =>
    (JSON.parse((await get(`${url}${path}`)).text) as { resources: ReadonlyArray<{ name: string; verbs: string[] }> })
      .resources

  test("names the recorded kinds and no others, with the verbs that read", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    expect((await resources(url, "/api/v1")).map(({ name, verbs }) => [name, ...verbs])).toEqual([
      ["configmaps", "get", "list", "watch"],
      ["pods", "get", "list", "watch"],
      ["pods/status", "get"],
    ])
    expect((await get(`${url}/api/v1/secrets`)).status).toBe(404)
    expect((await get(`${url}/apis/apps/v1/deployments`)).status).toBe(404)
  })

  test("describes a custom kind by its recorded definition, with columns and schema", async () => {
    const { url } = await serve(await pastOf(morningOf({ steps: [...steps, widgets(-2), gadget] })))
    expect(await resources(url, "/apis/example.com/v1")).toMatchObject([
      { name: "gadgetries", namespaced: false, shortNames: ["gd"] },
    ])
    const table = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
    const shown = await get(`${url}/apis/example.com/v1/gadgetries`, table)
    expect([JSON.parse(shown.text).rows[0].cells, shown.headers.warning]).toEqual([["big", 7], undefined])
    expect((await get(`${url}/openapi/v3/apis/example.com/v1`)).text).toContain("how big")
  })

  test("guesses the names of a custom kind without one, and says so", async () => {
    const { url } = await serve(await pastOf(morningOf({ steps: [...steps, gadget] })))
    const answer = await get(`${url}/apis/example.com/v1/gadgets`)
    expect(objects(JSON.parse(answer.text))).toEqual(["big@91"])
    expect(answer.headers.warning).toBe(
      '299 - "example.com/v1.Gadget: its name in URLs, gadgets, and its scope were guessed: no CustomResourceDefinition of it is recorded"',
    )
  })

  test("has both kinds of Event, whichever of them was recorded", async () => {
    const rest = { note: "it began", reason: "Started", regarding: { kind: "Pod", name: "web" }, type: "Normal" }
    const event: Step = { minutes: 1, gvk: "events.k8s.io/v1.Event", name: "web.1", version: 103, rest }
    const { url } = await serve(await pastOf(morningOf({ steps: [event] })))
    const core = await getJson(`${url}/api/v1/events?fieldSelector=involvedObject.name%3Dweb`)
    expect(core.items).toMatchObject([{ message: "it began", involvedObject: { name: "web" }, reason: "Started" }])
    expect((await getJson(`${url}/apis/events.k8s.io/v1/events`)).items).toMatchObject([rest])
  })
})

describe("what is missing is said", () => {
  test("of Helm releases whose values were replaced, so that helm lists none", async () => {
    const release = (minutes: number, value: string): Step => ({
      ...{ minutes, gvk: "v1.Secret", name: "sh.helm.release.v1.shop.v1", version: 200 + minutes },
      metadata: { labels: { owner: "helm", name: "shop", version: "1", status: "deployed" } },
      rest: { type: "helm.sh/release.v1", data: { release: value } },
    })
    const replaced = Buffer.from("redacted:0123456789abcdef").toString("base64")
    const more = [release(5, "SDRzSUFB"), release(10, replaced)]
    const { url } = await serve(await pastOf(morningOf({ steps: [...steps, ...more] })))
    const listed = (minutes: number) => get(`${url}/at/${at(minutes)}/api/v1/secrets?labelSelector=owner%3Dhelm`)
    expect((await listed(6)).headers.warning).toBeUndefined()
    const found = await listed(11)
    expect(found.headers.warning).toBe(
      '299 - "v1.Secret: values were replaced by hashes, so helm list is empty; names, revisions and statuses of releases: kubectl get secrets -l owner=helm --show-labels"',
    )
    expect(found.text).toContain('"status":"deployed"')
  })

  const warningsAt = async (url: string, minutes: number, path = "api/v1/configmaps") =>
    (await get(`${url}/at/${at(minutes)}/${path}`)).headers.warning ?? ""

  test("in a gap, and not outside of it, in lists, gets and watches", async () => {
    const gap = { gvk: "v1.ConfigMap", fromTime: at(12), toTime: at(18), reason: "stopped" as const }
    const { url } = await serve(await pastOf(morningOf({ gaps: [gap] })))
    const said = `299 - "v1.ConfigMap: changes from ${time(12)} to ${time(18)} are missing (stopped): what is shown may be outdated"`
    for (const path of ["api/v1/configmaps", "api/v1/namespaces/shop/configmaps/a", "api/v1/configmaps?watch=1"])
      expect(
        path.endsWith("watch=1")
          ? (await watching(`${url}/at/${at(15)}/${path}`)).headers.warning
          : await warningsAt(url, 15, path),
      ).toBe(said)
    for (const minutes of [11, 12, 18, 19]) expect(await warningsAt(url, minutes)).toBe("")
    expect(await warningsAt(url, 15, "api/v1/pods")).toBe("")
  })

  test("of a moment that could have been another, before anything else, and only where it was asked for like this", async () => {
    const gap = { gvk: "v1.ConfigMap", fromTime: at(12), toTime: at(18), reason: "stopped" as const }
    const { url } = await serve(await pastOf(morningOf({ gaps: [gap] })), {
      readMoment: (text) => ({ time: at(15), ...(text === "twice" && { remark: "there were two such moments" }) }),
    })
    const headerOf = async (moment: string) =>
      (await get(`${url}/at/${moment}/api/v1/configmaps`)).headers.warning ?? ""
    expect(await headerOf("twice")).toMatch(/^299 - "there were two such moments", 299 - "v1.ConfigMap: changes from/)
    expect(await headerOf("once")).toMatch(/^299 - "v1.ConfigMap: changes from/)
  })

  test("of changes that were received late, of kinds that the trace lacks in part, and of traces for replays", async () => {
    const late = {
      ...{ gvk: "v1.ConfigMap", namespace: "shop", notBefore: at(9), notAfter: at(11), events: 2 },
      ...{ receivedFrom: at(11), receivedTo: at(11), cause: "disconnected" as const },
    }
    const incomplete = [{ gvk: "v1.Pod", state: "forbidden" }]
    const { url } = await serve(await pastOf(morningOf({ header: { late: [late], incomplete, sanitised: "replay" } })))
    expect(await warningsAt(url, 10)).toContain(
      `2 changes were in shop received late (disconnected): when they happened from ${time(9)} to ${time(11)} is estimated`,
    )
    expect(await warningsAt(url, 20)).toBe(
      '299 - "v1.ConfigMap: the trace was written for replays, without status, metadata.uid, metadata.resourceVersion and more"',
    )
    expect(await warningsAt(url, 20, "api/v1/pods")).toContain("v1.Pod: the trace lacks some of it: forbidden")
  })
})

describe("objects that lack what clients need", () => {
  test("get kind, apiVersion and a version that a watch can go on from", async () => {
    const bare = (minutes: number, value: string): Step =>
      settings(minutes, "bare", 0, {
        version: "",
        object: `{"metadata":{"name":"bare","namespace":"shop"},"data":{"is":"${value}"}}`,
      })
    const { url } = await serve(await pastOf({ steps: [bare(-1, "old"), bare(1, "new")] }))
    const listed = await list(url, 0)
    expect(objects(listed)).toEqual(["bare@1"])
    expect(await getJson(`${url}/api/v1/namespaces/shop/configmaps/bare`)).toEqual({
      ...{ kind: "ConfigMap", apiVersion: "v1", data: { is: "new" } },
      metadata: { name: "bare", namespace: "shop", resourceVersion: "2" },
    })
    const stream = await watching(`${url}/api/v1/configmaps?watch=1&resourceVersion=${listed.metadata.resourceVersion}`)
    expect(brief(await stream.next())).toBe("MODIFIED bare@2")
  })

  test("keep integers that JavaScript would round", async () => {
    const object =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"},"big":9007199254740993}'
    const { url } = await serve(await pastOf({ steps: [settings(-1, "a", 0, { version: "", object })] }))
    expect((await get(`${url}/api/v1/configmaps`)).text).toContain('"big":9007199254740993')
  })
})

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

describe("writes", () => {
  const reason =
    "the server does not allow this method on the requested resource: this is the recorded past in morning.ndjson, which cannot be changed"

  test.each([
    ["POST", "configmaps"],
    ["PUT", "configmaps/a"],
    ["PATCH", "configmaps/a"],
    ["DELETE", "configmaps/a"],
    ["DELETE", "configmaps"],
  ])("%s %s gets a 405 with the reason", async (method, path) => {
    const { url } = await serve(await pastOf(morningOf()))
    const answer = await get(`${url}/at/${at(1)}/api/v1/namespaces/shop/${path}`, {}, method)
    expect(message(answer)).toEqual([405, "MethodNotAllowed", reason])
    expect(objects(await list(url, 1))).toEqual(["a@101", "b@102"])
  })

  test("and logs are refused as never recorded", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    expect(message(await get(`${url}/api/v1/namespaces/shop/pods/web/log`))).toEqual([
      ...[405, "MethodNotAllowed", "log of web cannot be served: only objects were recorded"],
    ])
  })

  test("but reviews of what one may do are answered: read everything, write nothing", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const review = async (verb: string) => {
      const body = JSON.stringify({ spec: { resourceAttributes: { verb, resource: "pods" } } })
      const answer = await fetch(`${url}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`, {
        method: "POST",
        body,
      })
      return [answer.status, ((await answer.json()) as { status: { allowed: boolean } }).status.allowed]
    }
    expect(await Promise.all(["get", "list", "watch", "delete", "create"].map(review))).toEqual([
      ...[
        [201, true],
        [201, true],
        [201, true],
        [201, false],
        [201, false],
      ],
    ])
    for (const body of ["{", Buffer.from("k8s\0\x12\xff", "latin1"), "x".repeat(70_000)])
      expect([400, 413]).toContain((await fetch(`${url}${reviews}`, { method: "POST", body })).status)
  })

  test("and so is who one is, and the list of what one may", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const asked = async (path: string): Promise<unknown> => {
      const answer = await fetch(`${url}/apis/${path}`, { method: "POST", body: Buffer.from("k8s\0\x0a\x00") })
      return answer.json()
    }
    expect(await asked("authentication.k8s.io/v1/selfsubjectreviews")).toMatchObject({
      ...{ kind: "SelfSubjectReview", apiVersion: "authentication.k8s.io/v1" },
      status: { userInfo: { username: "kubereel-history", groups: ["system:authenticated"] } },
    })
    expect(await asked("authorization.k8s.io/v1/selfsubjectrulesreviews")).toMatchObject({
      kind: "SelfSubjectRulesReview",
      status: { resourceRules: [{ verbs: ["get", "list", "watch"], apiGroups: ["*"], resources: ["*"] }] },
    })
  })

  test("and the scale of a workload is read as it was, but not written", async () => {
    const spec = { replicas: 3, selector: { matchLabels: { app: "web" } } }
    const web = { minutes: 5, gvk: "apps/v1.Deployment", name: "web", version: 105 }
    const scaled: ReadonlyArray<Step> = [
      { ...web, rest: { spec, status: { replicas: 2 } } },
      { ...web, minutes: 10, version: 110, rest: { spec: { ...spec, replicas: 5 }, status: { replicas: 3 } } },
    ]
    const { url } = await serve(await pastOf(morningOf({ steps: [...steps, ...scaled] })))
    const scale = (minutes: number, name = "web") =>
      `${url}/at/${at(minutes)}/apis/apps/v1/namespaces/shop/deployments/${name}/scale`
    expect(await getJson(scale(6))).toMatchObject({
      ...{ kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name: "web", resourceVersion: "105" } },
      ...{ spec: { replicas: 3 }, status: { replicas: 2, selector: "app=web" } },
    })
    expect((await getJson(scale(11))).spec).toEqual({ replicas: 5 })
    expect((await get(scale(6, "other"))).status).toBe(404)
    expect(message(await get(scale(11), {}, "PUT"))).toEqual([
      405,
      "MethodNotAllowed",
      expect.stringContaining("which cannot be changed"),
    ])
  })

  test("and so are those in protobuf, as kubectl sends them", async () => {
    const { url } = await serve(await pastOf(morningOf()))
    const field = (number: number, content: Buffer): Buffer =>
      Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content])
    const review = (attributes: number, verb: string): Buffer => {
      const spec = field(attributes, Buffer.concat([field(1, Buffer.from("shop")), field(2, Buffer.from(verb))]))
      const types = field(1, field(2, Buffer.from("SelfSubjectAccessReview")))
      return Buffer.concat([
        Buffer.from("k8s\0"),
        types,
        field(2, Buffer.concat([field(1, Buffer.alloc(0)), field(2, spec)])),
      ])
    }
    const allowed = async (attributes: number, verb: string): Promise<unknown> => {
      const answer = await fetch(`${url}${reviews}`, { method: "POST", body: review(attributes, verb) })
      return ((await answer.json()) as { status: { allowed: boolean } }).status.allowed
    }
    expect([
      await allowed(1, "list"),
      await allowed(1, "patch"),
      await allowed(2, "get"),
      await allowed(2, "put"),
    ]).toEqual([...[true, false, true, false]])
  })
})

test("a token is required of every request, if there is one", async () => {
  const { url } = await serve(await pastOf(morningOf()), { token: "let-me-in" })
  expect((await get(`${url}/at/${at(1)}/version`)).status).toBe(401)
  expect((await get(`${url}/at/noon/version`)).status).toBe(401)
  expect((await get(`${url}/at/${at(1)}/version`, { Authorization: "Bearer let-me-in" })).status).toBe(200)
})
