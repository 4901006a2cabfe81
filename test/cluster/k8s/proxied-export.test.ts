/**
 * `reel export --in-cluster` against a real API server: its service proxy, its rights, its refusals, its broken connections. The
 * recorder is installed as `reel k8s` prints it, except for its container, which is a process of this machine.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { parse, stringify } from "yaml"
import { RecorderProcess, ReelProcess } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { apply, type KubernetesObject, only, printManifests, type Rule } from "./installation.ts"
import { machineAddress, StandInPod } from "./stand-in-pod.ts"

const name = `proxied-${process.pid}`
const service = `${name}/${name}`

let cluster: TestCluster
let directory: string
let objects: ReadonlyArray<KubernetesObject> = []
let recorder: RecorderProcess
let pod: StandInPod
const kubeconfigs: Record<string, string> = {}
const tokens: Record<string, string> = {}

/** An account with these rules in the recorder's namespace. */
const person = async (who: string, rules: ReadonlyArray<Rule>): Promise<void> => {
  const metadata = { name: who, namespace: name }
  const group = "rbac.authorization.k8s.io"
  await apply(cluster, [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${group}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "Role", name: who },
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    },
  ])
  tokens[who] = (await kubectl(cluster, "-n", name, "create", "token", who)).trim()
  kubeconfigs[who] = await kubeconfigOf(who, tokens[who])
}

const kubeconfigOf = async (who: string, token: string): Promise<string> => {
  const given = parse(await readFile(cluster.kubeconfig, "utf8")) as {
    readonly clusters: ReadonlyArray<{ readonly name: string }>
  }
  const path = join(directory, `kubeconfig-${who}`)
  const context = { cluster: given.clusters[0]?.name, user: who, namespace: name }
  const users = [{ name: who, user: { token } }]
  const document = { apiVersion: "v1", kind: "Config", clusters: given.clusters, users }
  await writeFile(path, stringify({ ...document, contexts: [{ name: who, context }], "current-context": who }))
  return path
}

const proxyRule: Rule = {
  apiGroups: [""],
  resources: ["services/proxy"],
  resourceNames: [`${name}:http`],
  verbs: ["create"],
}
const exportRule: Rule = { apiGroups: ["kubereel.dev"], resources: ["exports"], verbs: ["create"] }

/** What is recorded: a Deployment without pods. */
const workload: KubernetesObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: name },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "example.com/web" }] },
    },
  },
}

interface Ended {
  readonly code: number | null
  readonly log: string
  readonly output: string
}

/** `reel export`, to its end. */
const reelExport = async (words: ReadonlyArray<string>, environment: Record<string, string> = {}): Promise<Ended> => {
  const { KUBEREEL_TOKEN: _theirs, ...env } = process.env
  const running = new ReelProcess(["export", "--start", "0", ...words], { env: { ...env, ...environment } })
  const { code } = await running.ended
  // No output contains a token.
  for (const token of Object.values(tokens)) expect(running.said).not.toContain(token)
  return { code, log: running.log, output: running.output }
}

const inCluster = (who: string, ...more: ReadonlyArray<string>): Promise<Ended> =>
  reelExport(["--in-cluster", service, "--kubeconfig", kubeconfigs[who] ?? "", ...more])

beforeAll(async () => {
  cluster = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-proxied-"))
  objects = await printManifests(cluster, "--name", name, "--namespace", name)
  await apply(
    cluster,
    objects.filter(({ kind }) => kind !== "Deployment"),
  )
  await apply(cluster, [workload])
  tokens.recorder = (await kubectl(cluster, "-n", name, "create", "token", name)).trim()
  const config = join(directory, "tracer.yml")
  await writeFile(config, Object.values(only(objects, "ConfigMap").data as Record<string, string>)[0] ?? "")
  const words = ["record", "-c", config, "--kubeconfig", await kubeconfigOf("recorder", tokens.recorder)]
  const listening = ["--listen", "0.0.0.0:0", "--auth", "kubernetes", "--log-format", "json"]
  recorder = new RecorderProcess([...words, ...listening, "--data-dir", join(directory, "data")], {})
  await recorder.ready(60_000)
  const { metadata, spec } = only(objects, "Deployment").spec.template
  const port = Number(new URL(await recorder.listening()).port)
  const containers = [{ ...spec.containers[0], ports: [{ name: "http", containerPort: port, protocol: "TCP" }] }]
  const { labels } = metadata
  pod = await StandInPod.create(cluster, { namespace: name, name, labels, spec: { ...spec, containers } })
  await person("anna", [proxyRule, exportRule])
  await person("reader", [proxyRule])
  await person("nobody", [])
})

afterAll(async () => {
  await recorder?.kill()
  await pod?.remove()
  for (const { kind, metadata } of objects.filter((each) => each.metadata.namespace === undefined))
    await kubectl(cluster, "delete", kind, metadata.name, "--ignore-not-found", "--wait=false")
  await rm(directory, { recursive: true, force: true })
})

describe("through the service proxy", () => {
  test.each(["a.ndjson", "a.sktrace", "a.ndjson.zst", "a.yaml"])("%s comes whole", async (file) => {
    await pod.readyFor(name)
    const far = join(directory, `far-${file}`)
    expect(await inCluster("anna", "-o", far)).toMatchObject({ code: 0 })
    expect((await readFile(far)).length).toBeGreaterThan(100)
  })

  test("the trace is the same as directly from the recorder", async () => {
    await pod.readyFor(name)
    const window = ["--end", String(Math.floor(Date.now() / 1000)), "--name", `${name}/web`]
    const [near, far] = [join(directory, "near.ndjson"), join(directory, "far.ndjson")]
    const direct = ["-s", await recorder.listening(), "-o", near, ...window]
    expect(await reelExport(direct, { KUBEREEL_TOKEN: tokens.anna ?? "" })).toMatchObject({ code: 0 })
    expect(await inCluster("anna", "-o", far, ...window)).toMatchObject({ code: 0 })
    // The first line has the cut, which differs each time.
    const events = async (path: string) => (await readFile(path, "utf8")).split("\n").slice(1)
    expect(await events(far)).toEqual(await events(near))
    expect((await events(far))[0]).toContain('"name":"web"')
  })

  test("a dry run works too", async () => {
    await pod.readyFor(name)
    const { code, output } = await inCluster("anna", "--dry-run")
    expect([code, output]).toEqual([0, expect.stringContaining("apps/v1.Deployment")])
  })

  test("a token for the recorder is used in addition to the kubeconfig's, and the log names its user", async () => {
    await pod.readyFor(name)
    const words = ["--in-cluster", `${service}:http`, "--kubeconfig", kubeconfigs.reader ?? ""]
    const out = ["-o", join(directory, "token.ndjson")]
    expect((await reelExport([...words, ...out], { KUBEREEL_TOKEN: tokens.anna ?? "" })).code).toBe(0)
    const who = `"who":"system:serviceaccount:${name}:anna"`
    await recorder.until(() => recorder.log.includes(who), "the line of the log")
    for (const token of Object.values(tokens)) expect(recorder.log).not.toContain(token)
  })
})

describe("a refused export", () => {
  const refused = async (who: string, expected: number, ...more: ReadonlyArray<string>): Promise<string> => {
    const file = join(directory, "refused.ndjson")
    const { code, log } = await inCluster(who, "-o", file, ...more)
    expect([code, log]).toEqual([expected, expect.stringMatching(/^reel export: /)])
    expect(await readdir(directory)).not.toContain("refused.ndjson")
    return log
  }

  test("names the right to use the proxy, and the rule it names gives it", async () => {
    await pod.readyFor(name)
    const log = await refused("nobody", 4)
    const account = `system:serviceaccount:${name}:nobody`
    expect(log).toContain(
      `${account} may not create services/proxy in namespace ${name}. A Role there, bound to ${account},`,
    )
    await person("nobody", [parse(/needs the rule (\{.*\})/.exec(log)?.[1] ?? "") as Rule])
    // Roles take effect within moments.
    let then = ""
    await recorder.until(
      async () => {
        then = await refused("nobody", 4)
        return !then.includes("services/proxy")
      },
      "the right to use the proxy",
      30_000,
    )
    expect(then).toContain(
      `the recorder ${service} rejected the export with status 403: ${account} may not create exports.kubereel.dev`,
    )
  })

  test("names the recorder's own right", async () => {
    await pod.readyFor(name)
    expect(await refused("reader", 4)).toContain(
      `system:serviceaccount:${name}:reader may not create exports.kubereel.dev in namespace ${name}`,
    )
  })

  test("states whether the cause is the kubeconfig's token, the Service, its port, or its pod", async () => {
    kubeconfigs.stranger = await kubeconfigOf("stranger", "no-token-of-this-cluster")
    expect(await refused("stranger", 4)).toContain("does not accept the kubeconfig's credentials: Unauthorized")
    const admin = (place: string) =>
      reelExport(["--in-cluster", place, "--kubeconfig", cluster.kubeconfig, "-o", join(directory, "refused.ndjson")])
    const said = async (place: string): Promise<string> => {
      const { code, log } = await admin(place)
      expect(code).toBe(1)
      return log
    }
    expect(await said(`${name}/elsewhere`)).toContain(`there is no Service ${name}/elsewhere at `)
    expect(await said(`${service}:9`)).toContain(`the Service ${service} has no port 9: no service port 9 found`)
    expect(await said(`${service}:metrics`)).toContain(`no pod of the Service ${service} is ready on port metrics`)
    await pod.unreadyFor(name)
    expect(await said(service)).toContain(
      `no pod of the Service ${service} is ready on port http: no endpoints available`,
    )
    // Nor does the recorder log the tokens that it refused.
    for (const token of Object.values(tokens)) expect(recorder.log).not.toContain(token)
  })
})

describe("a Service that leads to something else", () => {
  let server: Server
  let other: StandInPod
  const place = `${name}/other`
  /** What the process behind the Service does with an export. */
  let behave: Parameters<typeof createServer>[1]

  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume().on("end", () => {
        response.setHeader("Kubereel-Request-Id", "of-the-test")
        behave?.(request, response)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve))
    const { port } = server.address() as AddressInfo
    const labels = { app: "other" }
    const { spec } = only(objects, "Deployment").spec.template
    const containers = [{ ...spec.containers[0], ports: [{ name: "web", containerPort: port, protocol: "TCP" }] }]
    const ports = [{ port: 80, targetPort: "web", protocol: "TCP" }]
    const metadata = { name: "other", namespace: name }
    await apply(cluster, [{ apiVersion: "v1", kind: "Service", metadata, spec: { selector: labels, ports } }])
    const options = { namespace: name, name: `${name}-other`, labels, spec: { ...spec, containers } }
    other = await StandInPod.create(cluster, options)
  })
  afterAll(async () => {
    await other?.remove()
    server?.closeAllConnections()
    server?.close()
  })

  const exporting = async (): Promise<Ended> => {
    await other.readyFor("other")
    return reelExport(["--in-cluster", place, "--kubeconfig", cluster.kubeconfig, "-o", join(directory, "b.ndjson")])
  }

  test("that aborts in the middle of a trace: the API server aborts too, and nothing is kept", async () => {
    behave = (_, response) => {
      response.writeHead(200, { Trailer: "Repr-Digest", "Content-Type": "application/x-ndjson" })
      response.write(`${JSON.stringify({ format: "kubereel-ndjson" })}\n`)
      setTimeout(() => response.destroy(), 300)
    }
    const { code, log } = await exporting()
    expect([code, log]).toEqual([
      1,
      expect.stringContaining(`the export from the recorder ${place} is incomplete after`),
    ])
    expect(await readdir(directory)).not.toContain("b.ndjson")
  })

  test("that sends keep-alive bytes before its response: they arrive, and so does the final result", async () => {
    behave = (_, response) => {
      for (let count = 0; count < 8; count++) response.writeProcessing()
      response.writeHead(503, { "Retry-After": "7" }).end("not now\n")
    }
    const { code, log } = await exporting()
    expect([code, log]).toEqual([
      1,
      "reel export: from the beginning of the recording to now\n" +
        `reel export: the recorder ${place} rejected the export with status 503: not now (request of-the-test). Try again in 7 s\n`,
    ])
  })

  test("where nothing listens: the API server reports it", async () => {
    await other.readyFor("other")
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    const { code, log } = await exporting()
    expect([code, log]).toEqual([1, expect.stringContaining("connection refused. Nothing listens on that port. ")])
    expect(log).toContain(machineAddress())
  })
})
