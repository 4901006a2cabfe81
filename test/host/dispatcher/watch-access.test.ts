/** What modules may watch, on a sandbox with RBAC over real HTTP: the question alone, and modules in real threads. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, onTestFinished, test } from "vitest"
import { WatchAccess } from "../../../src/host/dispatcher/watch-access.ts"
import type { WatchRequest } from "../../../src/host/guest/abi-values.ts"
import { AccessReviewer } from "../../../src/host/identity/access-reviewer.ts"
import { TokenSource } from "../../../src/host/identity/token-source.ts"
import type { ModuleFile } from "../../../src/host/modules/module-file.ts"
import { ApiClient, ForbiddenError, ResourceFinder, Reviews } from "../../../src/kube/index.ts"
import { parseGvk } from "../../../src/kube/offline.ts"
import { patient } from "../../harness/patience.ts"
import { account, makeTokens, type Rule, read, review, start } from "../identity/as-account.ts"
import { checksOnTick } from "./checks-on-tick.ts"
import { hostWithAccounts } from "./host-with-accounts.ts"
import { buildOddGuest, type OddWatch } from "./odd-guests.ts"

const everything: Rule = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }
const widgetRule: Rule = { apiGroups: ["acme.dev"], resources: ["widgets"], verbs: ["list", "watch"] }
const hostRules = [makeTokens, review, everything]

const withAccess = async () => {
  const started = await start(hostRules)
  const { sandbox, client, host, clock } = started
  const reviews = new Reviews(host, "kubereel/host")
  onTestFinished(() => reviews.close())
  const reviewer = new AccessReviewer({ reviews, clock })
  const access = new WatchAccess({ reviewer, finder: new ResourceFinder(client.connection), clock })
  const check = (apiVersion: string, kind: string, more: Partial<WatchRequest> = {}) =>
    access.check(account, {
      apiVersion,
      group: "",
      kind,
      version: "",
      resourceVersion: "",
      includeUninitialized: false,
      allowBookmarks: false,
      ...more,
    })
  const installWidgets = (scope: "Namespaced" | "Cluster"): void => {
    sandbox.put("apiextensions.k8s.io/v1.CustomResourceDefinition", {
      metadata: { name: "widgets.acme.dev" },
      spec: {
        group: "acme.dev",
        scope,
        names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    } as never)
  }
  const own = new ApiClient({
    server: new TokenSource({ account, host, client, clock, random: () => 0 }),
    userAgent: "kubereel/module",
  })
  onTestFinished(() => own.close())
  return { ...started, reviewer, access, check, installWidgets, own }
}

describe("The check of a watch", () => {
  test("has the words of the API server for what the ServiceAccount may not do", async () => {
    const { check, grant, own, client } = await withAccess()
    grant([read("configmaps", "list")], "shop")
    const finder = new ResourceFinder(client.connection)
    for (const [apiVersion, kind, namespace, name] of [
      ["v1", "Secret", "shop", undefined],
      ["v1", "Secret", undefined, undefined],
      ["v1", "Secret", "shop", "a"],
      ["apps/v1", "Deployment", "shop", undefined],
      ["v1", "ConfigMap", undefined, undefined],
      // A namespace has no meaning for them.
      ["v1", "Node", "shop", undefined],
    ] as const) {
      const fieldSelector = name === undefined ? undefined : `metadata.name=${name}`
      const gvk = parseGvk(`${apiVersion}.${kind}`)
      if (gvk === undefined) throw new Error(kind)
      const selected = {
        ...(namespace !== undefined && { namespace }),
        ...(fieldSelector !== undefined && { fieldSelector }),
      }
      const refused = await own.list(await finder.find(gvk), selected).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(ForbiddenError)
      expect(await check(apiVersion, kind, selected)).toEqual({
        code: 403,
        reason: "Forbidden",
        message: (refused as ForbiddenError).detail,
      })
    }
    expect(await check("v1", "ConfigMap", { namespace: "shop" })).toMatchObject({
      message: expect.stringMatching(/cannot watch resource "configmaps" in API group "" in the namespace "shop"$/),
    })
  })

  test("allows what may be listed and watched: in a namespace, in all, on the cluster, and one object by its name", async () => {
    const { check, grant } = await withAccess()
    const named = { ...read("secrets"), resourceNames: ["a"] }
    grant([read("configmaps"), named], "shop")
    grant([read("pods"), read("nodes")])
    expect(await check("v1", "ConfigMap", { namespace: "shop" })).toBe(undefined)
    expect(await check("v1", "ConfigMap", { namespace: "lab" })).toMatchObject({ code: 403 })
    expect(await check("v1", "Pod")).toBe(undefined)
    expect(await check("v1", "Pod", { namespace: "lab" })).toBe(undefined)
    expect(await check("v1", "Node", { namespace: "lab" })).toBe(undefined)
    const one = { namespace: "shop", fieldSelector: "metadata.name=a" }
    expect(await check("v1", "Secret", one)).toBe(undefined)
    expect(await check("v1", "Secret", { ...one, fieldSelector: "metadata.name!=a" })).toMatchObject({ code: 403 })
    expect(await check("v1", "Secret", { ...one, fieldSelector: "metadata.name=b" })).toMatchObject({ code: 403 })
  })

  test("is about what the hub would watch, whatever else the request says", async () => {
    const { check, grant } = await withAccess()
    grant([{ apiGroups: ["apps"], resources: ["secrets"], verbs: ["*"] }])
    expect(await check("v1", "Secret", { group: "apps", version: "v1" })).toMatchObject({ code: 403 })
    expect(await check("v1", "Secret.apps")).toMatchObject({
      code: 400,
      message: '"v1.Secret.apps" is not GROUP/VERSION.KIND',
    })
  })

  test("of a kind that does not exist is no refusal, and of one that has come back with another scope is made anew", async () => {
    const { check, grant, installWidgets, sandbox, clock } = await withAccess()
    grant([widgetRule], "shop")
    const ask = () => check("acme.dev/v1", "Widget", { namespace: "shop" })
    expect([await ask(), await check("v1", "Widget")]).toEqual(["not-yet", "not-yet"])
    installWidgets("Namespaced")
    expect(await ask()).toBe(undefined)
    sandbox.delete("apiextensions.k8s.io/v1.CustomResourceDefinition", undefined as never, "widgets.acme.dev")
    clock.advance(60_000)
    expect(await ask()).toBe("not-yet")
    installWidgets("Cluster")
    expect(await ask()).toMatchObject({
      code: 403,
      message: expect.stringMatching(/cannot list resource "widgets" in API group "acme.dev" at the cluster scope$/),
    })
  })

  test("is a 503 and no 403 while the API server cannot be asked, also about a known kind", async () => {
    const { check, grant, sandbox, clock } = await withAccess()
    grant([read("configmaps")], "shop")
    const ask = () => check("v1", "ConfigMap", { namespace: "shop" })
    expect(await ask()).toBe(undefined)
    await sandbox.faults.refuseConnections()
    clock.advance(59_999)
    expect(await ask()).toBe(undefined)
    clock.advance(1)
    expect(await ask()).toMatchObject({
      code: 503,
      message: expect.stringMatching(/^cannot find out where v1.ConfigMap is: /),
    })
    await sandbox.faults.acceptConnections()
    // Whether it may in all namespaces is not known; that it may in this one is enough.
    sandbox.faults.respond("subjectaccessreviews", 500, { times: 2 })
    expect(await ask()).toBe(undefined)
    // Of another namespace it is known that it may not there, but not whether it may everywhere.
    const there = () => check("v1", "ConfigMap", { namespace: "lab" })
    expect(await there()).toMatchObject({
      code: 503,
      message: expect.stringMatching(/^cannot find out whether system:serviceaccount:default:bot may list configmaps/),
    })
    clock.advance(1000)
    expect(await there()).toMatchObject({ code: 403 })
    sandbox.faults.respond("subjectaccessreviews", 500, { times: 4 })
    clock.advance(60_000)
    expect(await ask()).toMatchObject({
      code: 503,
      message: expect.stringMatching(/^cannot find out whether system:serviceaccount:default:bot may list configmaps/),
    })
    clock.advance(1000)
    expect(await ask()).toBe(undefined)
  })
})

const guests = mkdtempSync(join(tmpdir(), "kubereel-odd-"))
afterAll(() => rmSync(guests, { recursive: true, force: true }))

describe("A module with a ServiceAccount", { timeout: patient(60_000) }, () => {
  const withHost = async () => {
    const started = await withAccess()
    const { sandbox, host } = started
    const { clock, tick } = checksOnTick()
    const { add, hasLogged, logOf } = hostWithAccounts({ endpoints: host, clock, accessClock: started.clock })
    const put = (name: string, namespace: string, kind = "v1.Secret"): void => {
      sandbox.put(kind as "v1.Secret", { metadata: { name, namespace } })
    }
    return {
      ...started,
      add: (name: string, watch: OddWatch, serviceAccount?: ModuleFile["serviceAccount"]) =>
        add(name, buildOddGuest(guests, watch), serviceAccount === undefined ? {} : { serviceAccount }),
      has: hasLogged,
      logOf,
      put,
      tick,
    }
  }

  test("gets nothing but what it may watch, although a neighbour watches all", async () => {
    const { grant, add, has, put, logOf } = await withHost()
    grant([read("secrets")], "shop")
    await add("neighbour", { kind: "Secret" })
    put("mine", "shop")
    put("theirs", "lab")
    await has("neighbour", /ADDED theirs/)
    await add("allowed", { kind: "Secret", namespace: "shop" }, account)
    await add("all", { kind: "Secret" }, account)
    await add("other", { kind: "Secret", namespace: "lab" }, account)
    await has("allowed", /ADDED mine 1/)
    await has(
      "all",
      /User \\"system:serviceaccount:default:bot\\" cannot list resource \\"secrets\\" .* at the cluster scope","reason":"Forbidden","code":403/,
    )
    await has("other", /cannot list resource \\"secrets\\" in API group \\"\\" in the namespace \\"lab\\"/)
    put("later", "lab")
    put("last", "shop")
    await has("neighbour", /ADDED later(.|\n)*ADDED last|ADDED last(.|\n)*ADDED later/)
    await has("allowed", /ADDED last 2/)
    for (const module of ["all", "other"]) expect(logOf(module)).not.toMatch(/ADDED/)
    expect(logOf("allowed")).not.toMatch(/theirs|later/)
  })

  test("loses its watch within the reviewer's minute when the right is taken away, and has it again when it is given back", async () => {
    const { grant, add, has, put, tick, logOf, sandbox, clock } = await withHost()
    grant([read("secrets")], "shop")
    await add("neighbour", { kind: "Secret" })
    await add("module", { kind: "Secret", namespace: "shop" }, account)
    put("first", "shop")
    await has("module", /ADDED first 1/)
    sandbox.delete("rbac.authorization.k8s.io/v1.RoleBinding", "shop", "bot-shop")
    await tick()
    put("second", "shop")
    await has("module", /ADDED second 2/)
    clock.advance(60_000)
    await tick()
    await has("module", /"code":403/)
    put("third", "shop")
    await has("neighbour", /ADDED third/)
    expect(logOf("module")).not.toMatch(/third/)
    grant([read("secrets")], "shop")
    clock.advance(10_000)
    await has("module", /ADDED third/)
  })

  test("watches a kind that is installed later as soon as it exists, if it may", async () => {
    const { grant, add, has, put, tick, logOf, installWidgets, clock } = await withHost()
    grant([widgetRule], "shop")
    const widgets = { apiVersion: "acme.dev/v1", kind: "Widget" }
    await add("module", { ...widgets, namespace: "shop" }, account)
    await add("curious", { ...widgets, namespace: "lab" }, account)
    await has("curious", /run/)
    await tick()
    expect(logOf("curious")).toBe("run")
    installWidgets("Namespaced")
    put("one", "shop", "acme.dev/v1.Widget")
    put("two", "lab", "acme.dev/v1.Widget")
    clock.advance(10_000)
    await tick()
    await has("module", /ADDED one 1/)
    await has("curious", /cannot list resource \\"widgets\\"/)
    expect(logOf("curious")).not.toMatch(/ADDED/)
  })
})
