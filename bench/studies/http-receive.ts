/**
 * The cost of receiving a watch: chunks of 2.9 kB lines over one connection, without processing them.
 *
 * node bench/studies/http-receive.ts [events=300000] [rounds=5]
 *
 * Compares the client of src/kube/http with node:http(s) and undici (its lowest interface, `dispatch`): CPU of the whole receiving process
 * per event (user + system, after a warm-up), and what one request costs a worker thread in memory. Sender and receiver are separate
 * processes; the receivers alternate within each round, so that a busy machine is busy for all. The smallest of the rounds counts.
 */
import { execFileSync, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

const lineBytes = 2_900
const warmUpEvents = 30_000
const kinds = ["kubereel", "node:http", "undici"] as const
type Kind = (typeof kinds)[number]

/** Receives `events` lines and returns the number of body bytes. */
type Receive = (url: string, events: number) => Promise<number>

const receivers: Record<Kind, () => Promise<Receive>> = {
  kubereel: async () => {
    const { HttpClient } = await import("../../src/kube/http/http-client.ts")
    return (url, events) => {
      const client = new HttpClient({ server: url, skipTlsVerify: true, headers: [] }, { userAgent: "bench" })
      return new Promise((resolve, reject) => {
        let bytes = 0
        client.get(
          `/${events}`,
          {},
          {
            head: () => undefined,
            data: (_buffer, start, end) => {
              bytes += end - start
            },
            end: (outcome) => {
              client.close()
              if (outcome.tag === "complete") resolve(bytes)
              else reject(new Error(JSON.stringify(outcome)))
            },
          },
        )
      })
    }
  },
  "node:http": async () => (url, events) =>
    new Promise((resolve, reject) => {
      let bytes = 0
      const options = { agent: false as const, rejectUnauthorized: false }
      const get = url.startsWith("https:") ? https.get : http.get
      get(`${url}/${events}`, options, (response) => {
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length
        })
        response.on("end", () => resolve(bytes))
        response.on("error", reject)
      }).on("error", reject)
    }),
  undici: async () => {
    const { Client } = await import("undici")
    return (url, events) => {
      const client = new Client(url, { allowH2: false, bodyTimeout: 0, connect: { rejectUnauthorized: false } })
      return new Promise((resolve, reject) => {
        let bytes = 0
        client.dispatch(
          { path: `/${events}`, method: "GET" },
          {
            onRequestStart: () => undefined,
            onResponseStart: () => undefined,
            onResponseData: (_controller, chunk) => {
              bytes += chunk.length
            },
            onResponseEnd: () => {
              void client.close()
              resolve(bytes)
            },
            onResponseError: (_controller, error) => reject(error),
          },
        )
      })
    }
  },
}

/** Sends as many lines as the path says, each as a chunk of its own, 20 to a write. */
const serve = async (certificate: { cert: string; key: string } | undefined): Promise<number> => {
  const line = Buffer.from(`${lineBytes.toString(16)}\r\n${"x".repeat(lineBytes - 1)}\n\r\n`)
  const batch = Buffer.concat(Array.from({ length: 20 }, () => line))
  const answer: http.RequestListener = (request, response) => {
    const { socket } = request
    socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
    let left = Number(request.url?.slice(1))
    const send = (): void => {
      while (left > 0) {
        left -= 20
        if (!socket.write(batch)) return void socket.once("drain", send)
      }
      socket.end("0\r\n\r\n")
    }
    response.on("error", () => socket.destroy())
    send()
  }
  const server = certificate === undefined ? http.createServer(answer) : https.createServer(certificate, answer)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

const makeCertificate = (): { cert: string; key: string } => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-bench-"))
  try {
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    const files = ["-keyout", "key", "-out", "cert", "-subj", "/CN=localhost"]
    execFileSync("openssl", ["req", "-x509", ...curve, ...files], { cwd: directory, stdio: "ignore" })
    return { cert: readFileSync(join(directory, "cert"), "utf8"), key: readFileSync(join(directory, "key"), "utf8") }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Sample {
  readonly microsPerEvent: number
  readonly eventsPerSecond: number
}

const measure = async (kind: Kind, url: string, events: number): Promise<Sample> => {
  const receive = await receivers[kind]()
  await receive(url, warmUpEvents)
  const cpu = process.cpuUsage()
  const begun = performance.now()
  const bytes = await receive(url, events)
  const { user, system } = process.cpuUsage(cpu)
  if (bytes !== events * lineBytes) throw new Error(`${kind}: ${bytes} bytes of ${events * lineBytes}`)
  return { microsPerEvent: (user + system) / events, eventsPerSecond: (events / (performance.now() - begun)) * 1000 }
}

const measuredWorkers = 6

/** MB that a worker thread adds to the process, the mean of several; with a kind, after one small request in each. */
const measureMemory = async (kind: Kind | undefined, url: string): Promise<number> => {
  const start = async (what: Kind | undefined): Promise<Worker> => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { kind: what, url } })
    await once(worker, "message")
    return worker
  }
  // The first one also pays for what all threads share.
  const workers = [await start(kind)]
  const before = process.memoryUsage.rss()
  while (workers.length <= measuredWorkers) workers.push(await start(kind))
  const grown = process.memoryUsage.rss() - before
  await Promise.all(workers.map((worker) => worker.terminate()))
  return grown / measuredWorkers / 1e6
}

interface Order {
  readonly role: "server" | "receiver" | "memory"
  readonly kind?: Kind
  readonly url?: string
  readonly events?: number
  readonly certificate?: { cert: string; key: string }
}

/** Bundled as the product is: type stripping in every process and worker would cost more memory than what is measured. */
const bundle = async (directory: string): Promise<string> => {
  const { build } = await import("rolldown")
  const input = fileURLToPath(import.meta.url)
  // The bundler itself is only needed here, once.
  await build({
    input,
    platform: "node",
    external: ["rolldown"],
    output: { dir: directory, format: "esm", minify: true },
  })
  return join(directory, "http-receive.js")
}

let program = fileURLToPath(import.meta.url)

/** Runs one role in a process of its own; answers what it reports first. */
const run = async <Report>(order: Order): Promise<{ report: Report; stop: () => void }> => {
  const child = fork(program, [], { env: { ...process.env, HTTP_RECEIVE_ORDER: JSON.stringify(order) } })
  const [report] = await Promise.race([
    once(child, "message") as Promise<[Report]>,
    once(child, "exit").then(([code]) => Promise.reject(new Error(`${order.role} ended with ${code}`))),
  ])
  return { report, stop: () => child.kill() }
}

const compare = async (title: string, url: string, events: number, rounds: number): Promise<void> => {
  const best = new Map<Kind, Sample>()
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) {
      const { report, stop } = await run<Sample>({ role: "receiver", kind, url, events })
      stop()
      const known = best.get(kind)
      if (known === undefined || report.microsPerEvent < known.microsPerEvent) best.set(kind, report)
    }
  }
  console.log(`${title}: ${events} events of ${lineBytes} bytes, best of ${rounds}`)
  for (const [kind, { microsPerEvent, eventsPerSecond }] of best) {
    console.log(
      `  ${kind.padEnd(10)} ${microsPerEvent.toFixed(2)} µs CPU/event  ${Math.round(eventsPerSecond)} events/s`,
    )
  }
}

const main = async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-bench-"))
  try {
    program = await bundle(directory)
    await compareAll()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const compareAll = async (): Promise<void> => {
  const [events = 300_000, rounds = 5] = process.argv.slice(2).map(Number)
  for (const certificate of [undefined, makeCertificate()]) {
    const server = await run<number>({ role: "server", ...(certificate === undefined ? {} : { certificate }) })
    const url = `${certificate === undefined ? "http" : "https"}://127.0.0.1:${server.report}`
    await compare(certificate === undefined ? "plain" : "TLS", url, events, rounds)
    for (const kind of [undefined, ...kinds]) {
      const samples: number[] = []
      for (let round = 0; round < rounds; round++) {
        const { report, stop } = await run<number>({ role: "memory", url, ...(kind === undefined ? {} : { kind }) })
        stop()
        samples.push(report)
      }
      console.log(`  worker with ${(kind ?? "nothing").padEnd(10)} ${Math.min(...samples).toFixed(1)} MB`)
    }
    server.stop()
  }
}

const carryOut = async (order: Order): Promise<unknown> => {
  const { role, kind, url = "", events = 0, certificate } = order
  if (role === "server") return await serve(certificate)
  return role === "receiver" ? await measure(kind ?? "kubereel", url, events) : await measureMemory(kind, url)
}

const ordered = process.env.HTTP_RECEIVE_ORDER
if (!isMainThread) {
  // Alive until terminated, so that its memory is there to be measured.
  setInterval(() => undefined, 60_000)
  const { kind, url } = workerData as { kind: Kind | undefined; url: string }
  if (kind !== undefined) await (await receivers[kind]())(url, 20)
  parentPort?.postMessage("done")
} else if (ordered !== undefined) {
  process.send?.(await carryOut(JSON.parse(ordered) as Order))
} else {
  await main()
}
