/** `reel k8s --replicas`: a StatefulSet of replicas that share the shards of a cluster. */
import { expect, test } from "vitest"
import { printed } from "./printed.ts"

const needed = ["--offline", "--archive-to", "s3://recordings/huge", "--redact-key-secret", "kubereel-redaction/key"]
const replicated = (...words: ReadonlyArray<string>) => printed(...needed, "--replicas", "4", ...words)

test("prints a StatefulSet whose pods keep their names, and start and end without waiting for each other", async () => {
  const { code, one, objects } = await replicated("--split", "pods,events=namespace", "--size", "5Gi")
  expect(code).toBe(0)
  const { spec } = one("StatefulSet")
  expect(spec).toMatchObject({ replicas: 4, podManagementPolicy: "Parallel", serviceName: "kubereel" })
  expect(spec).not.toHaveProperty("strategy")
  const [container] = spec.template.spec.containers
  expect(container.args).toEqual([
    ...["record", "--config=/etc/kubereel/tracer.yml", "--data-dir=/var/lib/kubereel/recording"],
    ...["--listen=0.0.0.0:7777", "--log-format=json", "--retain-bytes=1024Mi"],
    ...["--replicas-lease=kubereel/kubereel", "--shards=4", "--split=pods,events=namespace"],
    ...["--redact-key-file=/etc/kubereel-redaction/key", "--archive-to=s3://recordings/huge"],
  ])
  expect(container.env).toContainEqual({ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } })
  expect(one("Service").spec.clusterIP).toBe("None")
  expect(one("PodDisruptionBudget").spec.maxUnavailable).toBe(1)
  expect(objects.map(({ kind }) => kind)).not.toContain("Deployment")
})

test("each replica has a volume of its own: an emptyDir, or a claim of a template", async () => {
  const volumes = async (...words: ReadonlyArray<string>) => {
    const { spec } = (await replicated("--size", "5Gi", ...words)).one("StatefulSet")
    return {
      templates: spec.volumeClaimTemplates,
      names: spec.template.spec.volumes.map(({ name }: { name: string }) => name),
    }
  }
  expect(await volumes()).toEqual({ templates: [], names: ["configuration", "recording", "redaction-key"] })
  expect(await volumes("--volume-claim")).toEqual({
    templates: [
      {
        metadata: { name: "recording" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "5Gi" } } },
      },
    ],
    names: ["configuration", "redaction-key"],
  })
})

test("owners may be read of all kinds, as another replica may record theirs", async () => {
  const readable = async (...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    const { objects } = await printed(...needed, "--size", "5Gi", ...words)
    const rules = objects.flatMap((each) => (each.kind === "ClusterRole" ? each.rules : []))
    const ofOwners = rules.filter(({ verbs }: { verbs: ReadonlyArray<string> }) => verbs.join() === "get")
    return ofOwners.flatMap(({ resources }: { resources: ReadonlyArray<string> }) => resources)
  }
  expect(await readable()).not.toContain("deployments")
  expect(await readable("--replicas", "4")).toEqual(expect.arrayContaining(["deployments", "jobs"]))
})

test("the rights are those for Leases in its namespace, and none to review users, for nobody can ask it anything", async () => {
  const { named, text, one } = await replicated("--monitoring")
  const [role] = named("Role", "kubereel-lease")
  expect(role?.rules).toEqual([
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "delete", "get", "list", "update"] },
  ])
  expect(text).not.toContain("tokenreviews")
  expect(text).not.toContain("kubereel-export")
  expect(one("NetworkPolicy").spec.ingress).toHaveLength(1)
  expect(one("PrometheusRule").spec.groups[0].rules.map(({ alert }: { alert: string }) => alert)).toContain(
    "KubereelShardNotRecorded",
  )
})

test("memory is that of the shards of a replica, and its limit that while another one is gone", async () => {
  const memory = async (...words: ReadonlyArray<string>) => {
    const { requests, limits } = (await printed(...needed, ...words)).one("StatefulSet").spec.template.spec
      .containers[0].resources
    return [requests.memory, limits.memory].map((text: string) => Number.parseInt(text, 10))
  }
  const [request = 0, limit = 0] = await memory("--replicas", "4", "--shards", "4")
  const [double = 0, twoThirds = 0] = await memory("--replicas", "4", "--shards", "8")
  expect(double / request).toBeGreaterThan(1.8)
  expect(twoThirds / limit).toBeGreaterThan(1.3)
  expect(limit).toBeGreaterThan(2 * request)
})

test.each([
  [["--archive-to", "s3://recordings/huge"], "--replicas needs --redact-key-secret"],
  [["--redact-key-secret", "a/b"], "--replicas needs --archive-to"],
  [[...needed.slice(1), "--lease", "other"], "--lease, --auth token and --allow-target are not for --replicas"],
  [[...needed.slice(1), "--auth", "token"], "--lease, --auth token and --allow-target are not for --replicas"],
])("%s is refused", async (words, reason) => {
  const { code, text, error } = await printed("--offline", "--replicas", "4", ...words)
  expect({ code, text }).toEqual({ code: 2, text: "" })
  expect(error).toContain(reason)
})

test("shards without replicas are refused", async () => {
  expect((await printed("--offline", "--shards", "4")).error).toContain("--shards and --split are for --replicas")
})
