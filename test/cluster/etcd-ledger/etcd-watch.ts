/**
 * What happened in a cluster according to etcd itself: one watch of everything below `/registry/`, through etcd's JSON gateway. Neither the API
 * server's watch cache nor a client library is between the write and this ledger, so it also has what no API server shows any more, such as the
 * objects of a CRD that lived for a second.
 *
 * The API server has to store JSON (`--storage-media-type=application/json`): its default is protobuf. An object in etcd has no resourceVersion; that is the
 * revision of its key.
 */
import { isObject, type JsonObject, parseExactly, textAt } from "../exact-json.ts"

/** One write of one object. */
export interface StoredChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** Such as `apps/v1.Deployment`: of several versions of an API the one in which the API server stores. */
  readonly gvk: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The resourceVersion that the API server gives this state. */
  readonly version: string
  /** µs since the Unix epoch at which etcd's event arrived here; some ms after the write. 0 of objects that existed before the watch. */
  readonly micros: number
  /** The state after it; of a deletion the last one. */
  readonly object: JsonObject
}

interface KeyValue {
  readonly key: string
  readonly value?: string
  readonly mod_revision: string
  readonly create_revision?: string
}
interface WatchResponse {
  readonly result?: {
    readonly canceled?: boolean
    readonly cancel_reason?: string
    readonly events?: ReadonlyArray<{
      readonly type?: "DELETE"
      readonly kv: KeyValue
      readonly prev_kv?: KeyValue
    }>
  }
}

const everything = { key: base64("/registry/"), range_end: base64("/registry0") }

export class EtcdWatch implements AsyncDisposable {
  /** In the order of etcd's revisions. Begins with the objects that existed, whose `micros` is 0. */
  readonly changes: StoredChange[] = []
  readonly #abort = new AbortController()
  #watch: Promise<void> = Promise.resolve()
  #failure: Error | undefined

  /** Resolves when what exists is read; later changes are all noted. @param port of etcd on loopback. */
  static async start(port: number): Promise<EtcdWatch> {
    const etcd = `http://127.0.0.1:${port}/v3`
    const ledger = new EtcdWatch()
    const response = await fetch(`${etcd}/kv/range`, { method: "POST", body: JSON.stringify(everything) })
    const { header, kvs } = (await response.json()) as { header: { revision: string }; kvs: ReadonlyArray<KeyValue> }
    for (const kv of kvs) ledger.#note("ADDED", kv, kv.mod_revision, 0)
    const request = { ...everything, start_revision: String(BigInt(header.revision) + 1n), prev_kv: true }
    ledger.#watch = ledger.#follow(`${etcd}/watch`, request).catch((cause: Error) => {
      if (!ledger.#abort.signal.aborted) ledger.#failure = cause
    })
    return ledger
  }

  /** Ends the watch. @throws Error when it had ended before: the ledger is not one. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort()
    await this.#watch
    if (this.#failure !== undefined) throw this.#failure
  }

  async #follow(url: string, request: object): Promise<void> {
    const { signal } = this.#abort
    const body = JSON.stringify({ create_request: request })
    const response = await fetch(url, { method: "POST", body, signal })
    let rest = ""
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const micros = Date.now() * 1000
      const lines = (rest + text).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        const { result } = JSON.parse(line) as WatchResponse
        if (result?.canceled) throw new Error(`etcd cancelled the watch: ${result.cancel_reason}`)
        for (const { type, kv, prev_kv } of result?.events ?? []) {
          if (type !== "DELETE")
            this.#note(kv.create_revision === kv.mod_revision ? "ADDED" : "MODIFIED", kv, kv.mod_revision, micros)
          else if (prev_kv !== undefined) this.#note("DELETED", prev_kv, kv.mod_revision, micros)
        }
      }
    }
    throw new Error("etcd ended the watch")
  }

  /** Keys that hold no object of the API (allocation bitmaps, leases of etcd) are not of the ledger. */
  #note(type: StoredChange["type"], { value = "" }: KeyValue, version: string, micros: number): void {
    const text = Buffer.from(value, "base64").toString("utf8")
    if (!text.startsWith("{")) return
    const object = parseExactly(text)
    const uid = textAt(object, "metadata", "uid")
    if (!isObject(object) || uid === "") return
    const stored = `${textAt(object, "apiVersion")}.${textAt(object, "kind")}`
    // Kubernetes 1.34 serves CRDs as v1 only and stores them as v1beta1 still.
    const gvk = stored.replace(/^(apiextensions\.k8s\.io)\/v1beta1\./, "$1/v1.")
    const name = textAt(object, "metadata", "name")
    this.changes.push({
      type,
      gvk,
      namespace: textAt(object, "metadata", "namespace"),
      name,
      uid,
      version,
      micros,
      object,
    })
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64")
}
