/**
 * A server of ConfigMaps whose resource versions are names, not numbers: the API allows that, but no server that the sandbox models does
 * it. Lists in one page; watches replay everything after their version.
 */
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { HttpEnquiries } from "../../../src/kube/watch/enquiries.ts"
import { defaultWatchPolicy } from "../../../src/kube/watch/protocol/policy.ts"
import { WatchSession } from "../../../src/kube/watch/session.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { Notebook } from "./notebook.ts"

/** Turns of the event loop; see `watched-sandbox.ts`. */
const patience = 300_000

const gvk = { group: "", version: "v1", kind: "ConfigMap" }
const discovery = {
  kind: "APIResourceList",
  groupVersion: "v1",
  resources: [{ name: "configmaps", namespaced: true, kind: "ConfigMap", verbs: ["get", "list", "watch"] }],
}
/** As Kubernetes before 1.32 words it. */
const noStreamingList = {
  kind: "Status",
  code: 422,
  reason: "Invalid",
  message:
    "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
}

interface Change {
  readonly version: string
  readonly line: string
}

export class OpaqueServer {
  readonly #server: Server
  readonly #history: Change[] = []
  readonly #live = new Map<string, object>()
  readonly #open = new Set<ServerResponse>()
  readonly #closers: Array<() => void> = []
  /** The versions that watches started at. */
  readonly watches: string[] = []

  private constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://server")
      if (url.pathname === "/api/v1") this.#answer(response, 200, discovery)
      else if (url.pathname !== "/api/v1/configmaps") this.#answer(response, 404, { kind: "Status", code: 404 })
      else if (url.searchParams.has("sendInitialEvents")) this.#answer(response, 422, noStreamingList)
      else if (url.searchParams.has("watch")) this.#watch(response, url.searchParams.get("resourceVersion") ?? "")
      else {
        const metadata = { resourceVersion: this.#history.at(-1)?.version ?? "start" }
        this.#answer(response, 200, { kind: "ConfigMapList", metadata, items: [...this.#live.values()] })
      }
    })
  }

  static async start(): Promise<OpaqueServer> {
    const server = new OpaqueServer()
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve))
    return server
  }

  /** A session on this server. */
  record(): { readonly notebook: Notebook; readonly session: WatchSession; readonly clock: ManualClock } {
    const { port } = this.#server.address() as AddressInfo
    const client = new HttpClient({ server: `http://127.0.0.1:${port}`, headers: [] }, { userAgent: "kubereel/test" })
    const clock = new ManualClock()
    const notebook = new Notebook()
    const session = new WatchSession({
      transport: client,
      enquiries: new HttpEnquiries(client, gvk, undefined),
      sink: notebook,
      listener: notebook,
      clock,
      random: () => 0,
      policy: defaultWatchPolicy,
      gvk,
      rules: compileDetectRules({ gvk, detect: "all", ignore: [] }),
      labelSelector: undefined,
      fieldSelector: undefined,
      resumeVersion: undefined,
      clusterUid: undefined,
    })
    this.#closers.push(() => {
      session.stop()
      client.close()
    })
    session.start()
    return { notebook, session, clock }
  }

  put(name: string, version: string): void {
    this.#change(this.#live.has(name) ? "MODIFIED" : "ADDED", name, version)
  }

  delete(name: string, version: string): void {
    this.#change("DELETED", name, version)
    this.#live.delete(name)
  }

  /** Disconnects every watch. */
  hangUp(): void {
    for (const response of this.#open) response.destroy()
  }

  /** Turns the event loop until the condition is true, up to a large number of turns. */
  async sees(condition: () => boolean): Promise<void> {
    let turns = 0
    do {
      await turn()
      if (turns++ > patience) throw new Error(`not seen: ${condition}; watches so far: ${this.watches.join(", ")}`)
    } while (!condition())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers) close()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #change(type: string, name: string, version: string): void {
    const object = { metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: version } }
    this.#live.set(name, object)
    const line = `${JSON.stringify({ type, object })}\n`
    this.#history.push({ version, line })
    for (const response of this.#open) response.write(line)
  }

  #watch(response: ServerResponse, from: string): void {
    this.watches.push(from)
    response.writeHead(200, { "content-type": "application/json" })
    response.flushHeaders()
    const at = this.#history.findIndex(({ version }) => version === from)
    for (const { line } of this.#history.slice(at + 1)) response.write(line)
    this.#open.add(response)
    response.on("close", () => this.#open.delete(response))
  }

  #answer(response: ServerResponse, status: number, document: object): void {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify(document))
  }
}
