/** What the manifests promise of the pod, and what is said where none can be printed. */
import { afterAll, describe, expect, test } from "vitest"
import { recordCommand } from "../../src/cli/record.ts"
import { capturedTerminal } from "../cli/captured-terminal.ts"
import { printed } from "./printed.ts"
import { ConfigurationFile, clusterIdentity, rightsOf } from "./rights.ts"

const configuration = new ConfigurationFile()
afterAll(() => configuration.close())

describe("the pod", () => {
  const pod = async (...words: ReadonlyArray<string>) =>
    (await printed("--offline", ...words)).one("Deployment").spec.template.spec

  test("is called with arguments that reel record understands", async () => {
    for (const words of [
      [],
      ["--auth", "none"],
      ["--volume-claim", "--fsync", "always", "--record-namespace", "a,b", "--allow-secrets", "--bind", "::"],
    ]) {
      const [command, ...rest] = (await pod(...words)).containers[0].args
      expect(command).toBe("record")
      const terminal = capturedTerminal()
      const code = await recordCommand(async () => async () => 0).run(rest, terminal)
      expect({ code, error: terminal.standardError.text() }).toEqual({ code: 0, error: "" })
    }
  })

  test("meets the restricted standard, and more", async () => {
    const { securityContext, containers } = await pod()
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
    expect(securityContext.runAsUser).toBeGreaterThan(0)
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
  })

  test("asks for more memory with more kinds and objects, and its limit is above what it asks for", async () => {
    const bytes = (quantity: string): number => Number(/^(\d+)Mi$/.exec(quantity)?.[1])
    const small = (await pod("-c", configuration.write("v1.ConfigMap: {}"), "--expected-objects", "100")).containers[0]
      .resources
    const large = (await pod("--expected-objects", "200000")).containers[0].resources
    // 271 MB, measured for three kinds.
    expect(small.requests.memory).toBe("272Mi")
    expect(bytes(large.requests.memory)).toBeGreaterThan(bytes(small.requests.memory) + 200)
    for (const { requests, limits } of [small, large])
      expect(bytes(limits.memory)).toBeGreaterThan(bytes(requests.memory) + 128)
    expect(small.limits).not.toHaveProperty("cpu")
  })

  test("loses a recording in an emptyDir to no drain, and goes on elsewhere with a claim", async () => {
    const without = await printed("--offline", "--size", "5Gi")
    expect(without.one("PodDisruptionBudget").spec.maxUnavailable).toBe(0)
    expect(without.one("Deployment").spec.template.spec.volumes[1]).toEqual({
      name: "recording",
      emptyDir: { sizeLimit: "5Gi" },
    })
    const requests = (output: Awaited<ReturnType<typeof printed>>) =>
      output.one("Deployment").spec.template.spec.containers[0].resources.requests
    // What a node keeps free for it, so that a full disk is not its end.
    expect(requests(without)["ephemeral-storage"]).toBe("5Gi")
    const claimed = await printed("--offline", "--volume-claim", "--size", "5Gi", "--storage-class", "fast")
    expect(claimed.one("PodDisruptionBudget").spec.maxUnavailable).toBe(1)
    expect(requests(claimed)).not.toHaveProperty("ephemeral-storage")
    expect(claimed.one("PersistentVolumeClaim").spec).toEqual({
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "5Gi" } },
      storageClassName: "fast",
    })
  })

  test("gets the configuration as it was written", async () => {
    const file = configuration.write("v1.Pod: {}   # the lives of all", "v1.ConfigMap: {}")
    expect((await printed("--offline", "-c", file)).one("ConfigMap").data["tracer.yml"]).toBe(
      "trackedObjects:\n  v1.Pod: {}   # the lives of all\n  v1.ConfigMap: {}\n",
    )
  })
})

test("addresses that are named may reach it", async () => {
  const { one } = await printed("--offline", "--auth", "none", "--allow-from", "10.0.0.0/24,2001:db8::/64")
  expect(one("NetworkPolicy").spec.ingress[0].from.slice(1)).toEqual([
    { ipBlock: { cidr: "10.0.0.0/24" } },
    { ipBlock: { cidr: "2001:db8::/64" } },
  ])
})

describe("unless --auth is none", () => {
  test("there is a Role for who may export, and nobody is bound to it", async () => {
    const { objects, one } = await printed("--offline")
    expect(rightsOf(one("Role"))).toEqual(["create,get kubereel.dev/exports"])
    expect(one("Role").metadata).toMatchObject({ name: "kubereel-export", namespace: "kubereel" })
    expect(objects.filter(({ kind }) => kind === "RoleBinding")).toEqual([])
  })

  test("anybody may ask, and Prometheus shows its token", async () => {
    const { one } = await printed("--offline", "--monitoring")
    expect(one("NetworkPolicy").spec.ingress).toEqual([{ ports: [{ protocol: "TCP", port: 7777 }] }])
    expect(one("ServiceMonitor").spec.endpoints[0].bearerTokenFile).toMatch(/token$/)
    expect(
      (await printed("--offline", "--auth", "none", "--monitoring")).one("ServiceMonitor").spec.endpoints[0],
    ).not.toHaveProperty("bearerTokenFile")
  })

  test("nothing of that is there without it", async () => {
    const { objects } = await printed("--offline", "--auth", "none")
    expect(objects.filter(({ kind }) => kind === "Role")).toEqual([])
  })
})

describe("another name and namespace", () => {
  test("are everybody's", async () => {
    const { objects } = await printed(
      "--offline",
      "--name",
      "second",
      "-n",
      "elsewhere",
      "--monitoring",
      "--volume-claim",
    )
    expect(objects.filter(({ metadata }) => !metadata.name.startsWith("second")).map(({ kind }) => kind)).toEqual([
      "Namespace",
    ])
    expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set([undefined, "elsewhere"]))
  })
})

describe("what cannot be printed", () => {
  test("is a kind that is not built in, without a cluster: the rest is printed, and the exit code says so", async () => {
    const file = configuration.write("example.com/v1.Widget: {}", "v1.ConfigMap: {}")
    const { code, error, one } = await printed("--offline", "-c", file)
    expect(code).toBe(3)
    expect(error).toContain(
      `"example.com/v1.Widget": example.com/v1.Widget is not built into Kubernetes 1.34. There is no rule for it`,
    )
    expect(rightsOf(one("ClusterRole")).slice(0, 2)).toEqual(["list,watch /configmaps", clusterIdentity])
  })

  test("is anything for a configuration with mistakes", async () => {
    const { code, text, error } = await printed("--offline", "-c", configuration.write("v1.Secret: {}"))
    expect({ code, text }).toEqual({ code: 2, text: "" })
    expect(error).toContain("tracer.yml:2:3")
  })

  test.each([
    [["--size", "10"], "--size"],
    [["--namespace", "Not_a_name"], "--namespace"],
    [["--owner-kind", "Rollout"], "--owner-kind"],
    [["--api-server-port", "0"], "--api-server-port"],
    [["--allow-from", "10.0.0.0"], "--allow-from"],
    [["--allow-from", "10.0.0.0/33"], "--allow-from"],
  ])("is anything with %j", async (words, named) => {
    const { code, text, error } = await printed("--offline", ...words)
    expect({ code, text }).toEqual({ code: 2, text: "" })
    expect(error).toContain(named)
  })
})
