/** Pods that are processes, on a sandbox with its Job controller and scheduler, with real child processes. */

import { access, readFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type ApiObject, kinds, type Pod } from "../../../src/kube/index.ts"
import { LocalCluster } from "../../../src/library/sandbox.ts"
import { localProcess } from "../../../src/sandbox/local-process.ts"
import { PodProcesses, processNode } from "../../../src/sandbox/processes/pod-processes.ts"
import type { ContainerStart, RunContainer } from "../../../src/sandbox/processes/run-container.ts"
import { eventually } from "../../harness/eventually.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

let cluster: LocalCluster
const open: AsyncDisposable[] = []
beforeEach(async () => {
  const taints = [{ key: "kwok-provider", value: "", effect: "NoSchedule" }]
  cluster = await LocalCluster.start({ nodes: { count: 1, taints } })
})
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]()
  await cluster.close()
})

const processes = async (run: RunContainer): Promise<PodProcesses> => {
  const started = await PodProcesses.start({ server: cluster.sandbox.endpoint, run, shutdownMs: 200 })
  open.push(started)
  return started
}

const shell = (): RunContainer =>
  localProcess({ programs: { "/program": ["/bin/sh", "-c"] }, endpoint: cluster.sandbox.endpoint })

const job = (script: string, container: object = {}, pod: object = {}, spec: object = {}): Promise<ApiObject> =>
  cluster.client.create(kinds.jobs, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { namespace: "default", name: "job" },
    spec: {
      backoffLimit: 0,
      completionMode: "Indexed",
      completions: 1,
      ...spec,
      template: {
        spec: {
          restartPolicy: "Never",
          containers: [{ name: "main", image: "none", command: ["/program"], args: [script], ...container }],
          ...pod,
        },
      },
    },
  })

const pods = async (): Promise<ReadonlyArray<Pod>> =>
  (await cluster.client.list<Pod>(kinds.pods, { namespace: "default" })).items

const secret = (data: Record<string, string>): void =>
  void cluster.sandbox.put("v1.Secret", {
    metadata: { namespace: "default", name: "keys" },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")])),
  })

const terminated = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state.terminated

test("a Job's repetitions run one after the other as processes with the environment, Secrets and arguments of their pods", async () => {
  secret({ "tls.key": "a key", TOKEN: "a token" })
  await processes(shell())
  await job(
    'printf "%s" "$NAME $JOB_COMPLETION_INDEX $TOKEN $(cat "$FILE") $GREETING" > "$KUBEREEL_TERMINATION_LOG"',
    {
      env: [
        { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
        { name: "FILE", value: "/etc/keys/tls.key" },
        { name: "WHO", value: "you" },
        { name: "GREETING", value: "hello $(WHO)" },
      ],
      envFrom: [{ secretRef: { name: "keys", optional: false } }],
      volumeMounts: [{ name: "keys", mountPath: "/etc/keys" }],
    },
    { volumes: [{ name: "keys", secret: { secretName: "keys" } }] },
    { completions: 2, parallelism: 1 },
  )
  await eventually(async () => {
    const { status } = await cluster.client.get<ApiObject & { status: object }>(kinds.jobs, {
      namespace: "default",
      name: "job",
    })
    expect(status).toMatchObject({
      succeeded: 2,
      conditions: expect.arrayContaining([expect.objectContaining({ type: "Complete" })]),
    })
  })
  const all = [...(await pods())].sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
  expect(all.map(({ spec, status }) => [spec.nodeName, status?.phase, status?.podIP])).toEqual([
    [processNode, "Succeeded", "127.0.0.1"],
    [processNode, "Succeeded", "127.0.0.1"],
  ])
  expect(all.map((pod) => terminated(pod)?.message)).toEqual(
    [0, 1].map((index) => `default ${index} a token a key hello you`),
  )
  const [first, second] = all.map(terminated)
  expect(Date.parse(second?.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(first?.finishedAt ?? ""))
})

test("a process that fails fails its pod, with its exit code and message", async () => {
  await processes(shell())
  await job('printf "the trace is missing" > "$KUBEREEL_TERMINATION_LOG"; exit 7')
  await eventually(async () =>
    expect(terminated((await pods())[0])).toMatchObject({
      exitCode: 7,
      reason: "Error",
      message: "the trace is missing",
    }),
  )
})

test("a process reaches the API server as the ServiceAccount of its pod", async () => {
  await processes(shell())
  await job('cat "$KUBECONFIG" > "$KUBEREEL_TERMINATION_LOG"')
  await eventually(async () => expect(terminated((await pods())[0])?.exitCode).toBe(0))
  const { clusters, users } = JSON.parse(terminated((await pods())[0])?.message ?? "")
  expect(clusters[0].cluster.server).toBe(cluster.sandbox.url)
  const [, claims = ""] = users[0].user.token.split(".")
  expect(JSON.parse(Buffer.from(claims, "base64url").toString()).sub).toBe("system:serviceaccount:default:default")
})

test("a pod becomes ready when its probe succeeds, and not before", async () => {
  const port = await freePort()
  const starts: ContainerStart[] = []
  let listen: () => void = () => undefined
  await processes(async (start) => {
    starts.push(start)
    const server = createServer((socket) => socket.destroy())
    listen = () => void server.listen(port, "127.0.0.1")
    await new Promise<void>((resolve) => start.stop.addEventListener("abort", () => resolve()))
    server.close()
    return { exitCode: 0 }
  })
  await job("", { readinessProbe: { tcpSocket: { port } } })
  const ready = async () => (await pods())[0]?.status?.conditions?.find(({ type }) => type === "Ready")?.status
  await eventually(async () => expect(await ready()).toBe("False"))
  expect(starts).toHaveLength(1)
  listen()
  await eventually(async () => expect(await ready()).toBe("True"))
})

test("a deleted pod gets SIGTERM, and is gone when its process has ended", async () => {
  await processes(shell())
  await job(
    'trap "exit 0" TERM; echo ready > "$KUBEREEL_TERMINATION_LOG"; while :; do sleep 0.05; done',
    {},
    { terminationGracePeriodSeconds: 60 },
  )
  await eventually(async () => expect((await pods())[0]?.status?.phase).toBe("Running"))
  await cluster.client.delete(kinds.jobs, { namespace: "default", name: "job" }, { propagationPolicy: "Foreground" })
  await eventually(async () => expect(await pods()).toEqual([]))
})

test("a process that ignores SIGTERM gets SIGKILL when its grace period is over", async () => {
  await processes(shell())
  const ignoring = join(temporaryDirectory(), "ignoring")
  const script = `trap "" TERM; touch ${ignoring}; while :; do sleep 0.05; done`
  await job(script, {}, { terminationGracePeriodSeconds: 1 })
  await eventually(() => access(ignoring))
  await cluster.client.delete(kinds.jobs, { namespace: "default", name: "job" }, { propagationPolicy: "Foreground" })
  await eventually(async () => expect(await pods()).toEqual([]))
  const ends = cluster.sandbox.ledger.of("v1.Pod").map(({ object }) => terminated(object as unknown as Pod)?.exitCode)
  expect(ends).toContain(137)
})

test("a pod waits for a Secret that does not exist yet, and its files are removed at the end", async () => {
  const directories: string[] = []
  await processes(async ({ directory, args }) => {
    directories.push(directory)
    return { exitCode: 0, message: await readFile(join(args[0] ?? ""), "utf8") }
  })
  await job(
    "/etc/keys/tls.key",
    { volumeMounts: [{ name: "keys", mountPath: "/etc/keys" }] },
    { volumes: [{ name: "keys", secret: { secretName: "keys" } }] },
  )
  await eventually(async () => expect((await pods())[0]?.spec.nodeName).toBe(processNode))
  secret({ "tls.key": "a key" })
  await eventually(async () => expect(terminated((await pods())[0])?.message).toBe("a key"))
  await expect(readFile(join(directories[0] ?? "", "etc/keys/tls.key"))).rejects.toMatchObject({ code: "ENOENT" })
})

test("of mounts below each other the innermost counts, and a path of the host stays as it is", async () => {
  secret({ key: "a key" })
  let seen: ReadonlyArray<string> = []
  await processes(async ({ args }) => {
    seen = args
    return { exitCode: 0, message: await readFile(args[0] ?? "", "utf8") }
  })
  const volumeMounts = [
    { name: "all", mountPath: "/data" },
    { name: "host", mountPath: "/data/host" },
    { name: "keys", mountPath: "/data/keys" },
  ]
  const volumes = [
    { name: "all", emptyDir: {} },
    { name: "host", hostPath: { path: "/data/host" } },
    { name: "keys", secret: { secretName: "keys" } },
  ]
  await job(
    "",
    { args: ["/data/keys/key", "--trace=file:///data/host/trace", "/data/x", "/database"], volumeMounts },
    { volumes },
  )
  await eventually(async () => expect(terminated((await pods())[0])?.message).toBe("a key"))
  expect(seen.slice(1)).toEqual([
    "--trace=file:///data/host/trace",
    expect.stringMatching(/kubereel-pod-.*\/data\/x$/),
    "/database",
  ])
})

test.each([
  ["a program that nobody named", { command: ["/other"] }, "the program /other is not supported"],
  [
    "a program with the name of a member of objects",
    { command: ["toString"] },
    "the program toString is not supported",
  ],
  [
    "a field that is not known",
    { env: [{ name: "A", valueFrom: { resourceFieldRef: {} } }] },
    "valueFrom resourceFieldRef is not supported",
  ],
  ["a container without a command", { command: [] }, "without a command is not supported"],
])("%s fails the pod with a message", async (_what, container, message) => {
  await processes(shell())
  await job("", container)
  await eventually(async () => expect(terminated((await pods())[0])?.message).toContain(message))
  expect((await pods())[0]?.status?.phase).toBe("Failed")
})

test("a pod whose process was lost with the program that ran it is failed, not started again", async () => {
  let starts = 0
  cluster.sandbox.put("v1.Pod", {
    metadata: { namespace: "default", name: "lost" },
    spec: {
      nodeName: processNode,
      restartPolicy: "Never",
      containers: [{ name: "main", image: "none", command: ["/a"] }],
    },
    status: {
      phase: "Running",
      containerStatuses: [{ name: "main", ready: true, state: { running: { startedAt: "2026-11-23T12:00:00Z" } } }],
    },
  })
  await processes(async () => {
    starts++
    return { exitCode: 0 }
  })
  await eventually(async () => expect((await pods())[0]?.status?.phase).toBe("Failed"))
  expect(terminated((await pods())[0])?.message).toBe("its process ended with the program that ran it")
  expect(starts).toBe(0)
})

test("closing ends the processes, with SIGKILL if they do not end by themselves", async () => {
  const signals: string[] = []
  const first = await processes(async ({ stop, kill }) => {
    stop.addEventListener("abort", () => signals.push("SIGTERM"))
    await new Promise<void>((resolve) => kill.addEventListener("abort", () => resolve()))
    signals.push("SIGKILL")
    return { exitCode: 137 }
  })
  await job("")
  await eventually(async () => expect((await pods())[0]?.status?.phase).toBe("Running"))
  await first.close()
  expect(signals).toEqual(["SIGTERM", "SIGKILL"])
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0))
    })
  })
