/** `reel snapshot` against the embedded API server: the trace, the messages, and what remains after a failure. */

import { readFileSync } from "node:fs"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { KubernetesObject } from "../../src/apiserver/index.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { snapshotCommand } from "../../src/cli/snapshot.ts"
import { HttpClient } from "../../src/kube/index.ts"
import type { TrackedKind } from "../../src/recorder/index.ts"
import { takeSnapshot } from "../../src/recorder/snapshot/snapshot-trace.ts"
import { kubeconfigOf, Sandbox } from "../../src/sandbox/index.ts"
import {
  compileFilters,
  memorySpool,
  openDecoder,
  stablePodSpecHash,
  type TraceFormatName,
  type TraceItem,
} from "../../src/trace/index.ts"
import { commandsIn } from "./commands-in.ts"

const { path, write, names, run } = commandsIn("reel-snapshot-")

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await Sandbox.start()
  write("kubeconfig", kubeconfigOf(sandbox.url))
})
afterEach(() => sandbox.close())

const now = 1_763_700_000_123_456

const everything = compileFilters({ excluded_namespaces: [], excluded_labels: [] })
const configMaps: TrackedKind = {
  gvk: { group: "", version: "v1", kind: "ConfigMap" },
  gvkText: "v1.ConfigMap",
  podSpecTemplatePaths: [],
  trackLifecycle: false,
  skipOwned: false,
  keepManagedFields: true,
  detect: "all",
  ignore: [],
}

const configured = (...kinds: ReadonlyArray<string>): string =>
  write("tracer.yml", `trackedObjects:\n${kinds.map((kind) => `  ${kind}\n`).join("")}`)

/** Of kinds, each alone or with its settings: `v1.Pod: {detect: spec}`. */
const snapshot = async (
  kinds: ReadonlyArray<string>,
  output: string,
  ...more: ReadonlyArray<string>
): Promise<{ readonly code: number; readonly error: string }> => {
  const config = configured(...kinds.map((kind) => (kind.includes(":") ? kind : `${kind}: {}`)))
  const argv = ["-c", config, "--kubeconfig", path("kubeconfig"), "-o", path(output), ...more]
  const { code, error } = await run(snapshotCommand({ now: () => now, sleep: async () => undefined }), argv)
  return { code, error }
}

const itemsOf = async (output: string, format: TraceFormatName): Promise<ReadonlyArray<TraceItem>> => {
  const decoder = await openDecoder(format)
  return [...decoder.push(readFileSync(path(output))), ...decoder.end()]
}

/** `gvk namespace/name` of every object, in order. */
const objectsOf = (items: ReadonlyArray<TraceItem>): ReadonlyArray<string> =>
  items.flatMap((item) =>
    item.type === "event" && item.event.type === "object"
      ? [`${item.event.gvk} ${item.event.namespace}/${item.event.name}`]
      : [],
  )

const owner = (gvk: string, { metadata }: KubernetesObject) => {
  const [, apiVersion, kind] = /^(.*)\.([^.]+)$/.exec(gvk) ?? []
  return [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }]
}

/** A Deployment with a ReplicaSet and a Pod, a bare Pod, a ConfigMap and a DaemonSet's Pod. */
const fill = (): void => {
  const deployment = sandbox.put("apps/v1.Deployment", {
    metadata: { namespace: "shop", name: "web" },
    spec: { replicas: 1 },
  })
  const replicaSet = sandbox.put("apps/v1.ReplicaSet", {
    metadata: { namespace: "shop", name: "web-1", ownerReferences: owner("apps/v1.Deployment", deployment) },
  })
  sandbox.put("v1.Pod", {
    metadata: { namespace: "shop", name: "web-1-a", ownerReferences: owner("apps/v1.ReplicaSet", replicaSet) },
  })
  sandbox.put("v1.Pod", { metadata: { namespace: "shop", name: "bare", labels: { app: "bare" } } })
  const daemonSet = sandbox.put("apps/v1.DaemonSet", { metadata: { namespace: "shop", name: "agent" } })
  sandbox.put("v1.Pod", {
    metadata: { namespace: "shop", name: "agent-a", ownerReferences: owner("apps/v1.DaemonSet", daemonSet) },
  })
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "other", name: "settings" } })
}

describe("reel snapshot", () => {
  test("writes one batch with every object, in an order in which they can be created", async () => {
    fill()
    const kinds = ["v1.Pod", "apps/v1.Deployment", "v1.ConfigMap"]
    expect(await snapshot(kinds, "now.ndjson")).toMatchObject({ code: exitCodes.ok })
    const items = await itemsOf("now.ndjson", "ndjson")
    expect(items[0]).toEqual({
      type: "header",
      window: { start: now, end: now + 1_000_000 },
      cut: 5,
      kinds,
      incomplete: [],
      clusterUid: sandbox.clusterUid,
    })
    expect(items.filter(({ type }) => type === "batch")).toEqual([{ type: "batch", time: now }])
    expect(objectsOf(items)).toEqual([
      "v1.ConfigMap other/settings",
      "apps/v1.Deployment shop/web",
      "v1.Pod shop/agent-a",
      "v1.Pod shop/bare",
      "v1.Pod shop/web-1-a",
    ])
    for (const item of items)
      if (item.type === "event") expect(item).toMatchObject({ isSnapshot: true, event: { time: now } })
  })

  test("has every object as a watch would deliver it, although lists omit kind and apiVersion", async () => {
    fill()
    expect(await snapshot(["v1.Pod", "apps/v1.Deployment"], "now.ndjson")).toMatchObject({ code: exitCodes.ok })
    const items = await itemsOf("now.ndjson", "ndjson")
    const objects = items.flatMap((item) => (item.type === "event" && item.event.type === "object" ? [item.event] : []))
    expect(objects).toHaveLength(4)
    for (const { gvk, namespace, name, object } of objects)
      expect(JSON.parse(Buffer.from(object).toString())).toEqual(sandbox.get(gvk, namespace, name))
  })

  test("in SimKube's format excludes objects owned through kinds that were not requested, and those of DaemonSets", async () => {
    fill()
    expect(await snapshot(["v1.Pod", "apps/v1.Deployment"], "now.sktrace")).toMatchObject({ code: exitCodes.ok })
    const items = await itemsOf("now.sktrace", "simkube")
    expect(objectsOf(items)).toEqual(["apps/v1.Deployment shop/web", "v1.Pod shop/bare"])
    expect(items.flatMap((item) => (item.type === "index" ? [item.name] : []))).toEqual(["shop/web", "shop/bare"])
    expect(await snapshot(["v1.Pod", "apps/v1.Deployment"], "now.sktrace", "-f", "--owned", "include")).toMatchObject({
      code: 0,
    })
    expect(objectsOf(await itemsOf("now.sktrace", "simkube"))).toContain("v1.Pod shop/web-1-a")
  })

  test("includes objects that own themselves or each other, which nothing else would create, and excludes those they own", async () => {
    const put = (name: string, ...owners: ReadonlyArray<KubernetesObject>): KubernetesObject =>
      sandbox.put("apps/v1.Deployment", {
        metadata: {
          namespace: "shop",
          name,
          ownerReferences: owners.flatMap((each) => owner("apps/v1.Deployment", each)),
        },
        spec: {},
      })
    const [one, other, alone] = [put("one"), put("other"), put("alone")]
    put("one", other)
    put("other", one)
    put("alone", alone)
    put("child", one)
    const [ring, top] = [put("ring"), put("top")]
    put("ring", ring, top)
    expect(await snapshot(["apps/v1.Deployment"], "now.sktrace")).toMatchObject({ code: exitCodes.ok })
    expect(objectsOf(await itemsOf("now.sktrace", "simkube"))).toEqual(
      ["alone", "one", "other", "top"].map((name) => `apps/v1.Deployment shop/${name}`),
    )
  })

  test("includes running pods for SimKube, by the owner that tracks them, even if pods are not part of the trace", async () => {
    const running = (
      spec: { readonly containers: ReadonlyArray<object>; readonly priority?: number },
      ownerReferences: ReturnType<typeof owner> = [],
    ): KubernetesObject => ({
      metadata: { namespace: "shop", name: `p${ownerReferences.length}-${String(spec.priority)}`, ownerReferences },
      spec,
      status: { containerStatuses: [{ state: { running: { startedAt: "2025-01-01T00:00:00Z" } } }] },
    })
    const deployment = sandbox.put("apps/v1.Deployment", { metadata: { namespace: "shop", name: "web" }, spec: {} })
    const replicaSet = sandbox.put("apps/v1.ReplicaSet", {
      metadata: { namespace: "shop", name: "web-1", ownerReferences: owner("apps/v1.Deployment", deployment) },
    })
    const below = owner("apps/v1.ReplicaSet", replicaSet)
    for (const priority of [1, 2]) sandbox.put("v1.Pod", running({ containers: [], priority }, below))
    sandbox.put("v1.Pod", { ...running({ containers: [{}] }, below), status: { phase: "Pending" } })
    sandbox.put("v1.Pod", running({ containers: [] }))
    expect((await snapshot(["apps/v1.Deployment: {trackLifecycle: true}"], "now.sktrace")).code).toBe(exitCodes.ok)
    const items = await itemsOf("now.sktrace", "simkube")
    const life = { state: "running", start: Math.floor(now / 1_000_000) }
    expect(items.filter(({ type }) => type === "lifecycles")).toEqual([
      {
        type: "lifecycles",
        gvk: "apps/v1.Deployment",
        owner: "shop/web",
        pods: new Map([1, 2].map((priority) => [stablePodSpecHash({ containers: [], priority }), [life]])),
      },
    ])
  })

  test("writes hashes for secret values, those of a recording if it is given its key, and the values only if told to", async () => {
    const password = "planted-password-Vx7"
    const data = { password: Buffer.from(password).toString("base64") }
    sandbox.put("v1.Secret", { metadata: { namespace: "shop", name: "database" }, data })
    const env = [{ name: "DB_PASSWORD", value: password }]
    sandbox.put("v1.Pod", { metadata: { namespace: "shop", name: "web" }, spec: { containers: [{ name: "a", env }] } })
    const kinds = ["v1.Secret", "v1.Pod"]
    write("key", "0123456789abcdef0123456789abcdef\n")
    const hashesIn = (output: string): ReadonlyArray<string> => {
      const text = readFileSync(path(output), "utf8")
      expect([text.includes(password), text.includes(data.password)]).toEqual([false, false])
      const encoded = /"password":"([^"]+)"/.exec(text)?.[1] ?? ""
      return [Buffer.from(encoded, "base64").toString(), /"DB_PASSWORD","value":"([^"]+)"/.exec(text)?.[1] ?? ""]
    }
    const given = ["--redact-key-file", path("key")]
    expect(await snapshot(kinds, "one.ndjson", ...given)).toMatchObject({ code: exitCodes.ok })
    expect(await snapshot(kinds, "two.ndjson", ...given)).toMatchObject({ code: exitCodes.ok })
    expect((await snapshot(kinds, "other.ndjson", "--allow-secrets")).error).toContain(
      "--allow-secrets is deprecated and ignored",
    )
    const [secret, variable] = hashesIn("one.ndjson")
    expect(secret).toMatch(/^redacted:[0-9a-f]{16}$/)
    expect([variable, hashesIn("two.ndjson")]).toEqual([secret, [secret, secret]])
    expect(hashesIn("other.ndjson")).not.toContain(secret)

    expect(await snapshot(kinds, "plain.ndjson", "--secrets-in-plain-text")).toMatchObject({ code: exitCodes.ok })
    const plain = readFileSync(path("plain.ndjson"), "utf8")
    expect([plain.includes(data.password), plain.includes(password)]).toEqual([true, false])
    write("key", "short")
    expect(await snapshot(kinds, "none.ndjson", ...given)).toMatchObject({ code: exitCodes.usage })
  })

  test("lists kinds of many pages, even if a continue token expires midway", async () => {
    for (let number = 0; number < 1200; number++)
      sandbox.put("v1.ConfigMap", { metadata: { namespace: "a", name: `c${String(number).padStart(4, "0")}` } })
    expect(await snapshot(["v1.ConfigMap"], "all.ndjson")).toMatchObject({ code: exitCodes.ok })
    expect(objectsOf(await itemsOf("all.ndjson", "ndjson"))).toHaveLength(1200)
    const order = { kinds: [configMaps], filters: everything, excludeOwned: false, excludeDaemonSetOwned: false }
    const client = new HttpClient({ server: sandbox.url, headers: [] }, { userAgent: "test" })
    using spool = memorySpool()
    const taken = await takeSnapshot(order, {
      client,
      redactionKey: Buffer.from("0123456789abcdef"),
      signal: new AbortController().signal,
      sleep: async () => undefined,
      spool,
      now: () => now,
      onProgress: (objects) => {
        if (objects === 700) sandbox.faults.respond("configmaps", 410, { times: 1, verb: "list" })
      },
    })
    client.close()
    const items: TraceItem[] = []
    for await (const item of taken.items()) items.push(item)
    expect(taken.missing).toEqual([])
    expect(new Set(objectsOf(items)).size).toBe(1200)
    expect(objectsOf(items)).toHaveLength(1200)
    expect(sandbox.requests.count({ resource: "configmaps", verb: "list" })).toBeGreaterThan(5)
  })

  test("retries while the server is briefly busy", async () => {
    fill()
    sandbox.faults.respond("pods", 429, { times: 2, verb: "list" })
    expect(await snapshot(["v1.Pod"], "now.ndjson")).toMatchObject({ code: exitCodes.ok })
    expect(objectsOf(await itemsOf("now.ndjson", "ndjson"))).toHaveLength(3)
  })

  test("filters by namespace and label", async () => {
    fill()
    const more = ["--exclude-namespace", "other", "--exclude-label", "app=bare"]
    await snapshot(["v1.Pod", "v1.ConfigMap"], "now.ndjson", ...more)
    expect(objectsOf(await itemsOf("now.ndjson", "ndjson"))).toEqual(["v1.Pod shop/agent-a", "v1.Pod shop/web-1-a"])
    await snapshot(["v1.Pod", "v1.ConfigMap"], "now.ndjson", "-f", "-n", "other")
    expect(objectsOf(await itemsOf("now.ndjson", "ndjson"))).toEqual(["v1.ConfigMap other/settings"])
  })

  test("also writes kwok's recordings, compressed if the name says so", async () => {
    fill()
    expect(await snapshot(["apps/v1.Deployment"], "now.yaml")).toMatchObject({ code: exitCodes.ok })
    expect(readFileSync(path("now.yaml"), "utf8")).toContain("kind: Deployment\nmetadata:\n")
    expect(await snapshot(["apps/v1.Deployment"], "now.ndjson.zst")).toMatchObject({ code: exitCodes.ok })
    expect(readFileSync(path("now.ndjson.zst")).subarray(0, 4).toString("hex")).toBe("28b52ffd")
  })

  test("reports a kind that cannot be listed, and exits with 3", async () => {
    fill()
    expect(await snapshot(["v1.Pod", "example.com/v1.Cactus"], "now.ndjson")).toEqual({
      code: exitCodes.incomplete,
      error: [
        "FOLDER/now.ndjson: 3 objects, 1.9 kB",
        "reel snapshot: the trace is incomplete: example.com/v1.Cactus could not be listed: example.com/v1 does not exist on this server",
        "",
      ].join("\n"),
    })
    const [header] = await itemsOf("now.ndjson", "ndjson")
    expect(header).toMatchObject({ incomplete: [{ gvk: "example.com/v1.Cactus", state: "waiting" }] })
  })

  test("leaves nothing if no kind can be listed", async () => {
    sandbox.faults.respond("pods", 403)
    sandbox.faults.respond("deployments", 403)
    const { code, error } = await snapshot(["v1.Pod", "apps/v1.Deployment"], "now.ndjson")
    expect(code).toBe(exitCodes.notPermitted)
    expect(error).toBe(
      "reel snapshot: apps/v1.Deployment, v1.Pod cannot be listed: add to a ClusterRole of this user: " +
        '{apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"]}, {apiGroups: [""], resources: ["pods"], verbs: ["list"]}\n',
    )
    expect(names()).toEqual(["kubeconfig", "tracer.yml"])
  })

  test("a server that is not there is a failure that says what to check, and leaves nothing", async () => {
    write("kubeconfig", kubeconfigOf("http://127.0.0.1:1"))
    const { code, error } = await snapshot(["v1.Pod"], "now.ndjson")
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(
      /^reel snapshot: the API server cannot be reached: 127\.0\.0\.1:\d+: connection refused; is the API server running, and is the server in the kubeconfig correct\?\n$/,
    )
    expect(names()).toEqual(["kubeconfig", "tracer.yml"])
  })

  test("without a configuration lists every kind of the server, but neither Leases nor Secrets' values", async () => {
    sandbox.put("v1.Secret", { metadata: { name: "db", namespace: "default" }, data: { password: "aHVudGVyMg==" } })
    sandbox.put("apps/v1.Deployment", { metadata: { name: "web", namespace: "default" }, spec: {} })
    sandbox.put("coordination.k8s.io/v1.Lease", { metadata: { name: "lock", namespace: "default" }, spec: {} })
    const argv = ["--kubeconfig", path("kubeconfig"), "-o", path("all.ndjson")]
    expect((await run(snapshotCommand({ now: () => now, sleep: async () => undefined }), argv)).code).toBe(exitCodes.ok)
    const objects = objectsOf(await itemsOf("all.ndjson", "ndjson"))
    expect(objects).toEqual(
      expect.arrayContaining(["apps/v1.Deployment default/web", "v1.Namespace /default", "v1.Secret default/db"]),
    )
    expect(objects.join()).not.toContain("Lease")
    expect(readFileSync(path("all.ndjson"), "utf8")).not.toContain("aHVudGVyMg==")
  })

  test("keeps an existing file without --force, and reports a missing kubeconfig", async () => {
    write("now.ndjson", "mine")
    expect(await snapshot(["v1.Pod"], "now.ndjson")).toMatchObject({ code: exitCodes.usage })
    expect(readFileSync(path("now.ndjson"), "utf8")).toBe("mine")
    const { code, error } = await snapshot(["v1.Pod"], "b.ndjson", "--kubeconfig", path("none"))
    expect(code).toBe(exitCodes.failed)
    expect(error).toContain("FOLDER/none")
  })

  test.each([
    [["-c", "a.yml"], "--output FILE is required; - means standard output"],
    [
      ["-c", "a.yml", "-o", "s3://bucket/key"],
      '--output "s3://bucket/key": s3 is not supported; name a file, or write - for standard output',
    ],
  ])("%j is a usage error", async (argv, problem) => {
    const error = `reel snapshot: ${problem}\nTry "reel snapshot --help".\n`
    expect(await run(snapshotCommand(), argv)).toEqual({ code: exitCodes.usage, output: "", error })
  })

  test("reports an invalid configuration as a usage error", async () => {
    const { code, error } = await run(snapshotCommand(), ["-c", write("bad.yml", "trackedObjects: []\n"), "-o", "a"])
    expect([code, error]).toEqual([exitCodes.usage, expect.stringContaining("bad.yml")])
  })
})
