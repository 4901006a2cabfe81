/**
 * The server of scenario *sandbox*, in its own process: a sandbox as its users import it, or an empty HTTP server that shows the cost of
 * Node's own part of a request.
 *
 * Argument: {@link ServerProcessOptions} as JSON. Prints `{"port"}`; then reads one {@link ServerCommand} per line and prints `{"done":
 * true}` after each, unless the command says otherwise.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createInterface } from "node:readline"
import { setImmediate as turn } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { systemClock } from "../../src/clock.ts"
import type { LedgerMode, Sandbox } from "../../src/sandbox/index.ts"
import { pods } from "../load/bench-kinds.ts"
import { objectText } from "../load/bench-objects.ts"
import { firstMoment, placeholders, timePlaceholder } from "../load/object-template.ts"
import {
  collectionPath,
  createdObject,
  objectCount,
  objectPath,
  patchBody,
  type WrittenKind,
} from "./sandbox-writes.ts"

export interface ServerProcessOptions {
  readonly server: "sandbox" | "empty"
  /** Default `none`. */
  readonly ledger?: LedgerMode
  /** Default 10,000. */
  readonly historyLimit?: number
  /** Bytes of every answer's body; only of the empty server. */
  readonly answerBytes?: number
  /** With the controllers of an API server's own kinds, which delete what is in a deleted namespace. Default false. */
  readonly lifecycle?: boolean
  /** Newest requests that are kept for {@link ServerCommand} `writes`. Default 10,000. */
  readonly requestLogLimit?: number
}

/** A write as the server saw it: the object's name, and when its head was received, µs since the Unix epoch. */
export type ReceivedWrite = readonly [name: string, receivedAt: number]

export type ServerCommand =
  /** Creates the objects to be patched. */
  | { readonly create: WrittenKind }
  /** Makes that many patches without a socket, `perTurn` in a turn of the event loop. */
  | { readonly patch: WrittenKind; readonly count: number; readonly perTurn: number }
  /** Puts Pods of 4.3 kB, numbered from `from` on. */
  | { readonly pods: number; readonly from: number }
  /** Collects garbage. */
  | { readonly collect: true }
  /** Prints `{"writes"}` instead, with a {@link ReceivedWrite} for each apply of a kind in a namespace, in order. */
  | { readonly writes: { readonly resource: string; readonly namespace: string } }

const options = JSON.parse(process.argv[2] ?? "{}") as ServerProcessOptions

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const startEmpty = (): Promise<number> => {
  const body = Buffer.alloc(options.answerBytes ?? 0, "x")
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) }
  const server = createServer((request, response) => {
    request.on("data", () => undefined)
    request.on("end", () => response.writeHead(200, headers).end(body))
  })
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })
}

const startSandbox = async (): Promise<Sandbox> => {
  // The bundle that users import; its types are those of the source.
  const bundle = new URL("../../dist/lib/sandbox.js", import.meta.url).href
  const { Sandbox: Bundled } = (await import(bundle)) as typeof import("../../src/sandbox/index.ts")
  const { ledger = "none", historyLimit = 10_000, lifecycle = false, requestLogLimit = 10_000 } = options
  // For the moments of requests: the usual clock has microseconds only within a millisecond in which it was read before.
  const clock = { ...systemClock, wallMicros: () => Math.round((performance.timeOrigin + performance.now()) * 1000) }
  return Bundled.start({ ledger, historyLimit, lifecycle, requestLogLimit, clock })
}

/** Patches made since the start: each writes another number. */
let patched = 0

/** Returns what is printed. */
const perform = async (sandbox: Sandbox, command: ServerCommand): Promise<object> => {
  if ("writes" in command) {
    const entries = sandbox.requests.entries({ ...command.writes, method: "PATCH" })
    return { writes: entries.map(({ name, receivedAt }): ReceivedWrite => [name ?? "", receivedAt]) }
  }
  await act(sandbox, command)
  return { done: true }
}

const act = async (sandbox: Sandbox, command: Exclude<ServerCommand, { readonly writes: object }>): Promise<void> => {
  if ("create" in command) {
    for (let index = 0; index < objectCount; index++) {
      const body = createdObject(command.create, index)
      const { status, text } = await sandbox.request({ method: "POST", path: collectionPath(command.create), body })
      if (status !== 201) throw new Error(text)
    }
    return
  }
  if ("patch" in command) {
    for (let done = 0; done < command.count; done++) {
      patched++
      const path = objectPath(command.patch, patched)
      const { status, text } = await sandbox.request({ method: "PATCH", path, body: patchBody(command.patch, patched) })
      if (status !== 200) throw new Error(text)
      if (done % command.perTurn === command.perTurn - 1) await turn()
    }
    return
  }
  if ("pods" in command) {
    await putPods(sandbox, command.from, command.pods)
    return
  }
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  // The second finds what finalizers of the first have let go.
  collect()
  collect()
}

const putPods = async (sandbox: Sandbox, from: number, count: number): Promise<void> => {
  const textOf = (variety: number): string => objectText(pods, variety).replaceAll(timePlaceholder, firstMoment)
  const texts = Array.from({ length: 100 }, (_, variety) => textOf(variety))
  for (let index = from; index < from + count; index++) {
    const text = texts[index % texts.length] ?? ""
    const number = String(index)
    sandbox.put(
      "v1.Pod",
      JSON.parse(
        text.replace(new RegExp(`[${placeholders.index}${placeholders.change}${placeholders.version}]+`, "g"), (run) =>
          number.padStart(run.length, "0"),
        ),
      ),
    )
    if (index % 100 === 0) await turn()
  }
}

if (options.server === "empty") say({ port: await startEmpty() })
else {
  const sandbox = await startSandbox()
  say({ port: sandbox.port })
  createInterface(process.stdin).on("line", (line) => {
    perform(sandbox, JSON.parse(line) as ServerCommand).then(say, (cause: unknown) => {
      process.stderr.write(`${String(cause)}\n`)
      process.exit(1)
    })
  })
}
process.stdin.on("close", () => process.exit(0)).resume()
