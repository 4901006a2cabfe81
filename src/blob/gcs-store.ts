/**
 * Objects of Google Cloud Storage for {@link BlobStore}, over its JSON API with the credentials of {@link connectGcs}. The SDK's own calls are not
 * used: they compute checksums in JavaScript, 100 ms for 8 MiB, and hide the version of what they read. Uploads carry an MD5, which the store compares.
 */
import { createHash, randomUUID } from "node:crypto"
import type * as Gcs from "@google-cloud/storage"
import {
  type ByteRange,
  type ListedObject,
  type ListOptions,
  merged,
  type ReadBytes,
  rangeHeader,
  type StoreProvider,
} from "./blob-store.ts"
import { connectGcs } from "./gcs-target.ts"
import { type Ask, entriesOf, inParallel, lengthOf } from "./requests.ts"
import type { StorePlace } from "./target-address.ts"
import { type ImportPackage, statusOf } from "./target-error.ts"

/** Removals under way: the API has none of several objects. */
const removedAtOnce = 16

export const openGcsStore = async (
  place: StorePlace,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<StoreProvider> => {
  const { storage } = await connectGcs(place, environment, importing)
  return new GcsStore(storage, place.bucket, Boolean(environment.STORAGE_EMULATOR_HOST))
}

/** What the API says of an object, and of a page of a list. */
interface GcsAnswer {
  readonly name?: string
  readonly size?: string
  readonly generation?: string
  readonly updated?: string
  readonly items?: ReadonlyArray<GcsAnswer>
  readonly prefixes?: ReadonlyArray<string>
  readonly nextPageToken?: string
}

interface GcsRequest extends Pick<RequestInit, "body" | "signal"> {
  readonly headers?: Readonly<Record<string, string>>
}

class GcsStore implements StoreProvider {
  readonly #storage: Gcs.Storage
  readonly #bucket: string
  readonly #isEmulated: boolean

  constructor(storage: Gcs.Storage, bucket: string, isEmulated: boolean) {
    this.#storage = storage
    this.#bucket = encodeURIComponent(bucket)
    this.#isEmulated = isEmulated
  }

  async create(key: string, parts: ReadonlyArray<Uint8Array>, ask: Ask): Promise<"created" | "exists"> {
    return (await this.#put(key, parts, "0", ask)) === undefined ? "exists" : "created"
  }

  async replace(
    key: string,
    bytes: Uint8Array,
    version: string,
    ask: Ask,
  ): Promise<{ readonly version: string } | "changed"> {
    const written = await this.#put(key, [bytes], version === "absent" ? "0" : version, ask)
    return written === undefined ? "changed" : { version: written }
  }

  async read(key: string, range: ByteRange | undefined, signal: AbortSignal): Promise<ReadBytes | undefined> {
    const headers = range === undefined ? {} : { Range: rangeHeader(range) }
    try {
      const answer = await this.#send("GET", `${this.#path(key)}?alt=media`, { headers, signal })
      const bytes = new Uint8Array(await answer.arrayBuffer())
      const size = Number(/\/(\d+)$/.exec(answer.headers.get("content-range") ?? "")?.[1] ?? bytes.length)
      return { bytes, size, version: answer.headers.get("x-goog-generation") ?? "" }
    } catch (cause) {
      if (isMissing(cause)) return undefined
      if (statusOf(cause) !== 416) throw cause
      // The range begins past the end.
      const object = await this.#ask("GET", this.#path(key), { signal })
      return { bytes: new Uint8Array(0), size: Number(object.size ?? 0), version: object.generation ?? "" }
    }
  }

  list(prefix: string, { after, delimiter }: ListOptions, ask: Ask): AsyncIterable<ListedObject> {
    const query = new URLSearchParams({ prefix, fields: "items(name,size,updated),prefixes,nextPageToken" })
    // Objects from this one on, itself included.
    if (after !== undefined) query.set("startOffset", after)
    if (delimiter !== undefined) query.set("delimiter", delimiter)
    return entriesOf(async (token) => {
      if (token !== undefined) query.set("pageToken", token)
      const page = await ask("list", 0, (signal) =>
        this.#ask("GET", `/storage/v1/b/${this.#bucket}/o?${query}`, { signal }),
      )
      const objects = (page.items ?? []).map(({ name: key = "", size, updated = "" }) => ({
        key,
        bytes: Number(size ?? 0),
        modifiedMs: Date.parse(updated),
      }))
      return { entries: merged(objects, page.prefixes ?? []), token: page.nextPageToken }
    })
  }

  remove(keys: ReadonlyArray<string>, ask: Ask): Promise<void> {
    return inParallel(keys, removedAtOnce, (key) =>
      ask("remove", 0, async (signal) => {
        try {
          await this.#send("DELETE", this.#path(key), { signal })
        } catch (cause) {
          if (!isMissing(cause)) throw cause
        }
      }),
    )
  }

  /** Nothing is open: each request is a `fetch`. */
  close(): void {
    this.#storage.interceptors.length = 0
  }

  /** The object's new generation; `undefined` if it has another than the given one (0: it must not exist). */
  async #put(key: string, parts: ReadonlyArray<Uint8Array>, generation: string, ask: Ask): Promise<string | undefined> {
    const md5 = createHash("md5")
    for (const part of parts) md5.update(part)
    const boundary = randomUUID()
    const metadata = JSON.stringify({ name: key, md5Hash: md5.digest("base64") })
    const body = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n${metadata}\r\n`),
      Buffer.from(`--${boundary}\r\nContent-Type: application/octet-stream\r\n\r\n`),
      ...parts,
      Buffer.from(`\r\n--${boundary}--`),
    ])
    const path = `/upload/storage/v1/b/${this.#bucket}/o?uploadType=multipart&ifGenerationMatch=${generation}`
    const headers = { "Content-Type": `multipart/related; boundary=${boundary}` }
    try {
      const written = await ask("write", lengthOf(parts), (signal) =>
        this.#ask("POST", path, { headers, body, signal }),
      )
      return written.generation ?? ""
    } catch (cause) {
      if (statusOf(cause) === 412 || (generation !== "0" && isMissing(cause))) return undefined
      throw cause
    }
  }

  #path(key: string): string {
    return `/storage/v1/b/${this.#bucket}/o/${encodeURIComponent(key)}`
  }

  async #ask(method: string, path: string, init: GcsRequest): Promise<GcsAnswer> {
    return (await (await this.#send(method, path, init)).json()) as GcsAnswer
  }

  /** Rejects with an error that has the status and the reason of an answer that is no success. */
  async #send(method: string, path: string, init: GcsRequest): Promise<Response> {
    const url = `${this.#storage.apiEndpoint}${path}`
    const headers = new Headers(this.#isEmulated ? {} : await this.#storage.authClient.getRequestHeaders(url))
    for (const [name, value] of Object.entries(init.headers ?? {})) headers.set(name, value)
    const answer = await fetch(url, { ...init, method, headers })
    if (answer.ok) return answer
    const text = await answer.text()
    const reason = /"reason": *"([^"]+)"/.exec(text)?.[1]
    const message = /"message": *"([^"]+)"/.exec(text)?.[1] ?? text
    throw Object.assign(new Error(message), { status: answer.status, code: reason })
  }
}

/** The store has one status for a missing object and a missing bucket, and says which in words. */
const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && statusOf(cause) === 404 && !/\bbucket (does not exist|not found)/i.test(cause.message)
