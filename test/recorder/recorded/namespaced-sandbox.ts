/**
 * A sandbox behind a server that can treat namespaces differently: the sandbox's own faults concern kinds; here one namespace fails while
 * another works. It forwards everything else byte for byte.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/index.ts"
import { until } from "../recorder/recorder-command.ts"
import { type Change, RecordedSandbox, type RecordedSandboxOptions } from "./recorded-sandbox.ts"

/** A Status in place of the sandbox's response. */
export interface Answer {
  readonly code: number
  readonly reason: string
  readonly message: string
}

export const forbidden: Answer = { code: 403, reason: "Forbidden", message: "User cannot list resource" }
export const expired: Answer = { code: 410, reason: "Expired", message: "too old resource version" }

interface Rule {
  readonly namespace: string
  readonly answer: Answer
  readonly isMeant: (url: URL) => boolean
  left: number
}

/** Whether a request resumes a watch at a version. */
export const resumes = (url: URL): boolean =>
  url.searchParams.has("watch") && !url.searchParams.has("sendInitialEvents")

export class NamespacedSandbox {
  readonly sandbox: Sandbox
  readonly #server: Server
  readonly #open = new Set<{ readonly path: string; readonly response: ServerResponse }>()
  #rules: Rule[] = []
  readonly #held = new Set<string>()
  #waiting: Array<() => void> = []
  /** What was asked for, in order. */
  readonly asked: URL[] = []

  private constructor(sandbox: Sandbox) {
    this.sandbox = sandbox
    this.#server = createServer((incoming, response) => this.#serve(incoming, response))
  }

  static async start(options?: SandboxOptions): Promise<NamespacedSandbox> {
    const behind = new NamespacedSandbox(await Sandbox.start(options))
    await new Promise<void>((resolve) => behind.#server.listen(0, "127.0.0.1", resolve))
    return behind
  }

  /** Records a request without affecting others to the sandbox. */
  record(options: RecordedSandboxOptions): Promise<RecordedSandbox> {
    const { port } = this.#server.address() as AddressInfo
    const endpoint = { ...this.sandbox.endpoint, server: `http://127.0.0.1:${port}` }
    const seen = new Proxy(this.sandbox, {
      get: (target, key) => {
        if (key === "endpoint") return endpoint
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === "function" ? value.bind(target) : value
      },
    })
    return RecordedSandbox.of(seen, options)
  }

  /** Requests in a namespace get this response: that many times, or until {@link permit}. */
  answer(
    namespace: string,
    answer: Answer,
    times = Number.POSITIVE_INFINITY,
    isMeant: (url: URL) => boolean = () => true,
  ): void {
    this.#rules.push({ namespace, answer, isMeant, left: times })
  }

  /** Requests in a namespace get no response, until {@link permit}. */
  hold(namespace: string): void {
    this.#held.add(namespace)
  }

  permit(): void {
    this.#rules = []
    this.#held.clear()
    for (const serve of this.#waiting.splice(0)) serve()
  }

  /** Closes the open connections of a namespace. */
  hangUp(namespace: string): void {
    for (const { path, response } of this.#open) if (isIn(path, namespace)) response.destroy()
  }

  /** Requests of a namespace that begin with all objects. */
  lists(namespace: string): number {
    return this.asked.filter(
      (url) => isIn(url.pathname, namespace) && !resumes(url) && url.searchParams.get("limit") !== "1",
    ).length
  }

  watches(namespace: string): number {
    return this.asked.filter((url) => isIn(url.pathname, namespace) && url.searchParams.has("watch")).length
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await this.sandbox.close()
  }

  #serve(incoming: IncomingMessage, response: ServerResponse): void {
    const url = new URL(incoming.url ?? "/", this.sandbox.endpoint.server)
    if ([...this.#held].some((namespace) => isIn(url.pathname, namespace))) {
      this.#waiting.push(() => this.#serve(incoming, response))
      return
    }
    this.asked.push(url)
    const rule = this.#rules.find(
      ({ namespace, isMeant, left }) => left > 0 && isIn(url.pathname, namespace) && isMeant(url),
    )
    if (rule !== undefined) {
      rule.left--
      const { code, reason, message } = rule.answer
      response.writeHead(code, { "content-type": "application/json" })
      response.end(
        JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message }),
      )
      return
    }
    const open = { path: url.pathname, response }
    this.#open.add(open)
    const onwards = request(url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
      answer.on("error", () => response.destroy())
    })
    onwards.on("error", () => response.destroy())
    response.on("close", () => {
      this.#open.delete(open)
      onwards.destroy()
    })
    onwards.end()
  }
}

const isIn = (path: string, namespace: string): boolean => path.includes(`/namespaces/${namespace}/`)

/** The stored progress of each namespace of a kind. */
export const namespacesOf = async (recorded: RecordedSandbox, gvk: string): Promise<ReadonlyMap<string, bigint>> => {
  const { namespaces } = await Effect.runPromise(
    recorded.actors.store.call("kindState", gvk).pipe(Effect.orElseSucceed(() => ({ namespaces: [] }))),
  )
  return new Map(namespaces.map(({ namespace, resumeVersion }) => [namespace, BigInt(resumeVersion || 0)]))
}

/** Changes in the ledger in these namespaces. */
export const ledgerIn = (
  sandbox: Sandbox,
  gvk: string,
  namespaces: ReadonlyArray<string>,
): ReadonlyArray<Change & { readonly namespace: string }> =>
  sandbox.ledger
    .of(gvk)
    .filter(({ namespace }) => namespaces.includes(namespace))
    .map(({ uid, resourceVersion, action, name, namespace }) => ({
      gvk,
      uid,
      resourceVersion: String(resourceVersion),
      action,
      name,
      namespace,
    }))

/** Waits until the last change of each namespace is recorded, and the kind complete. */
export const caughtUpIn = (
  recorded: RecordedSandbox,
  sandbox: Sandbox,
  gvk: string,
  namespaces: ReadonlyArray<string>,
): Promise<void> =>
  until(
    async () => {
      const reached = await namespacesOf(recorded, gvk)
      return namespaces.every((namespace) => {
        const last = ledgerIn(sandbox, gvk, [namespace]).at(-1)?.resourceVersion ?? "0"
        return (reached.get(namespace) ?? -1n) >= BigInt(last)
      })
    },
    () => `${gvk} to be recorded in ${namespaces}: ${recorded.actors.statuses.verboseReadiness()}`,
    20_000,
  )
