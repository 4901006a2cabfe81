/**
 * What gzip does to the lists of a real API server: bytes, CPU on both sides and time, in networks of several speeds.
 *
 * KUBECONFIG_SERVER=https://127.0.0.1:17443 TOKEN=admin-token APISERVER_PID=1234 \
 *   node bench/studies/list-compression.ts NAMESPACE... [rounds=3]
 *
 * Each namespace holds Pods. They are listed in pages of 500, at once and as a streaming list, plain and with gzip, by the readers that a watcher uses
 * (so scanning is included, recording is not). The receiver, the throttling proxy and the server are separate processes; of several rounds
 * the one with the least time counts. CPU of the server is that of /proc/PID/stat, in steps of 10 ms.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { getGunzipped } from "../../src/kube/http/gunzipped.ts"
import { compileDetectRules, HttpClient } from "../../src/kube/index.ts"
import { PageReader } from "../../src/kube/watch/streams/page-reader.ts"
import { pagePath, streamingListPath, wholeListPath } from "../../src/kube/watch/streams/request.ts"
import type { StreamEvents } from "../../src/kube/watch/streams/stream-reader.ts"
import { WatchReader } from "../../src/kube/watch/streams/watch-reader.ts"

const modes = ["pages", "pages+gzip", "whole", "whole+gzip", "stream"] as const
type Mode = (typeof modes)[number]

interface Run {
  readonly objects: number
  /** From the network, framing included; of the body, uncompressed. */
  readonly received: number
  readonly bytes: number
  readonly wallMs: number
  readonly receiverMs: number
  /** Of the receiver. */
  readonly peakMb: number
}

const pod = { group: "", version: "v1", kind: "Pod" }
const rules = compileDetectRules({ gvk: pod, detect: "all", ignore: [] })

/** One list by one of the modes. */
const list = async (client: HttpClient, namespace: string, mode: Mode): Promise<Run> => {
  const selection = {
    path: `/api/v1/namespaces/${namespace}/pods`,
    labelSelector: undefined,
    fieldSelector: undefined,
  }
  let [objects, received, bytes] = [0, 0, 0]
  const response = (path: string): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const events: StreamEvents = {
        opened: () => undefined,
        readBegins: () => undefined,
        firstBytes: () => undefined,
        bookmark: () => undefined,
        slowLine: () => undefined,
        object: () => void objects++,
        readDone: (count) => {
          bytes += count
        },
        changesBegin: () => undefined,
        outOfOrder: () => reject(new Error("the initial objects are not in the order of their keys")),
        initialEventsEnd: () => {
          received += http.bytesReceived
          http.abort()
          resolve(undefined)
        },
        pageComplete: (_stream, _version, next) => {
          received += http.bytesReceived
          resolve(next)
        },
        refused: (_stream, status) => reject(new Error(status.message)),
        errorEvent: (_stream, status) => reject(new Error(status.message)),
        malformedLine: (_stream, description) => reject(new Error(description)),
        ended: (_stream, { description }) => reject(new Error(description)),
      }
      const reader = mode === "stream" ? new WatchReader(1, events, rules, true) : new PageReader(1, events, pod, rules)
      const headers = { Accept: "application/json" }
      const http = mode.endsWith("gzip")
        ? getGunzipped(client, path, headers, reader)
        : client.get(path, headers, reader)
    })
  const startedAt = performance.now()
  const before = process.cpuUsage()
  if (mode === "stream") await response(streamingListPath(selection, undefined, 300))
  else if (mode.startsWith("whole")) await response(wholeListPath(selection, undefined))
  else {
    let next: string | undefined
    do next = await response(pagePath(selection, 500, undefined, next))
    while (next !== undefined)
  }
  const used = process.cpuUsage(before)
  return {
    objects,
    received,
    bytes,
    wallMs: performance.now() - startedAt,
    receiverMs: (used.user + used.system) / 1000,
    peakMb: process.resourceUsage().maxRSS / 1000,
  }
}

/** The receiver: one list per message. */
const receive = (): void => {
  process.on("message", async ([server, namespace, mode]: [string, string, Mode]) => {
    const authorization = ["Authorization", `Bearer ${process.env.TOKEN}`] as const
    const client = new HttpClient({ server, skipTlsVerify: true, headers: [authorization] }, { userAgent: "bench" })
    process.send?.(await list(client, namespace, mode))
    client.close()
  })
}

/** Forwards to the server, and back at no more than this many bytes per ms. */
const throttle = async (target: URL, bytesPerMs: number): Promise<string> => {
  let sentUntil = 0
  const forward = (client: Socket): void => {
    const server = connect(Number(target.port), target.hostname)
    client.pipe(server)
    server.on("data", (chunk) => {
      sentUntil = Math.max(sentUntil, performance.now()) + chunk.length / bytesPerMs
      server.pause()
      setTimeout(
        () => {
          client.write(chunk)
          server.resume()
        },
        Math.max(0, sentUntil - performance.now() - 1),
      )
    })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on("error", () => other.destroy())
      socket.on("close", () => other.destroy())
    }
  }
  const proxy = createServer(forward)
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  return `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

const serverCpuMs = (): number => {
  const fields = readFileSync(`/proc/${process.env.APISERVER_PID}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const measure = async (namespaces: ReadonlyArray<string>, rounds: number): Promise<void> => {
  const direct = process.env.KUBECONFIG_SERVER as string
  const proxy = async (megabits: number): Promise<string> => {
    const child = fork(fileURLToPath(import.meta.url), ["proxy", direct, String(megabits)])
    children.push(child)
    return (await once(child, "message"))[0] as string
  }
  const children: Array<ReturnType<typeof fork>> = []
  const networks = [
    ["loopback", direct],
    ["1 Gbit/s", await proxy(1000)],
    ["100 Mbit/s", await proxy(100)],
  ] as const
  console.log("| pods | network | list | MB received | MB | ratio | s | server CPU s | receiver CPU s | peak MB |")
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
  for (const namespace of namespaces)
    for (const [network, server] of networks)
      for (const mode of modes) {
        let best: (Run & { readonly serverMs: number }) | undefined
        for (let round = 0; round < rounds; round++) {
          const receiver = fork(fileURLToPath(import.meta.url), ["receive"])
          // The first one compiles the readers.
          receiver.send([direct, namespaces[0], mode])
          await once(receiver, "message")
          const before = serverCpuMs()
          receiver.send([server, namespace, mode])
          const [run] = (await once(receiver, "message")) as [Run]
          const serverMs = serverCpuMs() - before
          receiver.kill()
          if (best === undefined || run.wallMs < best.wallMs) best = { ...run, serverMs }
        }
        const { objects, received, bytes, wallMs, receiverMs, serverMs, peakMb } = best as NonNullable<typeof best>
        const figures = [
          (received / 1e6).toFixed(1),
          (bytes / 1e6).toFixed(1),
          (bytes / received).toFixed(1),
          ...[wallMs, serverMs, receiverMs].map((ms) => (ms / 1000).toFixed(2)),
          peakMb.toFixed(0),
        ]
        console.log(`| ${objects} | ${network} | ${mode} | ${figures.join(" | ")} |`)
      }
  for (const child of children) child.kill()
}

const [, , first = "", ...others] = process.argv
if (first === "receive") receive()
else if (first === "proxy") {
  const [target = "", megabits] = others
  process.send?.(await throttle(new URL(target), (Number(megabits) * 1e6) / 8 / 1000))
} else {
  const given = [first, ...others]
  const rounds = given.find((each) => each.startsWith("rounds="))?.slice("rounds=".length)
  await measure(
    given.filter((each) => !each.includes("=")),
    Number(rounds ?? 3),
  )
}
