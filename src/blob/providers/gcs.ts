/**
 * Objects in Google Cloud Storage, over its JSON API. Credentials are Google's application default (`GOOGLE_APPLICATION_CREDENTIALS`, gcloud, workload
 * identity, metadata server), or the key file that SimKube's `GOOGLE_SERVICE_ACCOUNT` names; `STORAGE_EMULATOR_HOST` replaces the endpoint. Only they are
 * the SDK's: its own calls compute checksums in JavaScript, 100 ms for 8 MiB, and hide the version of what they read. What is written carries an MD5,
 * which the store compares.
 */
import { createHash, randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import type * as Gcs from "@google-cloud/storage"
import * as Schema from "effect/Schema"
import type { StorePlace } from "../addresses/target-address.ts"
import { targetError } from "../requests/target-error.ts"
import {
  created,
  listedPrefix,
  loadSdk,
  type PartSink,
  rangeHeader,
  received,
  type Surroundings,
  sizeBy,
  type UploadingProvider,
} from "./provider.ts"

/** What the API says of an object. 64-bit numbers are texts. */
const ObjectAnswer = Schema.fromJsonString(Schema.Struct({ size: Schema.NumberFromString, generation: Schema.String }))

const ListAnswer = Schema.fromJsonString(
  Schema.Struct({
    items: Schema.optionalKey(
      Schema.Array(Schema.Struct({ name: Schema.String, size: Schema.NumberFromString, updated: Schema.String })),
    ),
    prefixes: Schema.optionalKey(Schema.Array(Schema.String)),
    nextPageToken: Schema.optionalKey(Schema.String),
  }),
)

interface GcsRequest extends Pick<RequestInit, "body" | "signal"> {
  readonly headers?: Readonly<Record<string, string>>
}

/** Rejects with an {@link answerError}. */
type Send = (method: string, path: string, request: GcsRequest) => Promise<Response>

/** Contacts nothing. Rejects with a TargetError. */
export const openGcs = async (place: StorePlace, surroundings: Surroundings): Promise<UploadingProvider> => {
  const send = await connect(place, surroundings)
  const bucket = encodeURIComponent(place.bucket)
  const pathOf = (key: string): string => `/storage/v1/b/${bucket}/o/${encodeURIComponent(key)}`
  const uploads = `/upload/storage/v1/b/${bucket}/o?uploadType=`
  return {
    removedAtOnce: 1,
    create: (key, parts, signal) =>
      // Generation 0: there is none.
      created(send("POST", `${uploads}multipart&ifGenerationMatch=0`, { ...multipart(key, parts), signal })),
    read: async (key, range, signal, arrived) => {
      const answer = await send("GET", `${pathOf(key)}?alt=media`, { headers: { ...rangeHeader(range) }, signal })
      const bytes = await received(answer.body ?? [], arrived)
      const { headers } = answer
      return {
        bytes,
        size: sizeBy(headers.get("content-range"), bytes),
        version: headers.get("x-goog-generation") ?? "",
      }
    },
    look: async (key, signal) => {
      const answer = await send("GET", pathOf(key), { signal })
      const { size, generation } = Schema.decodeSync(ObjectAnswer)(await answer.text())
      return { size, version: generation }
    },
    list: async ({ prefix, after, token, delimiter }, signal) => {
      const query = new URLSearchParams({ prefix, fields: "items(name,size,updated),prefixes,nextPageToken" })
      if (delimiter !== undefined) query.set("delimiter", delimiter)
      // Objects from this one on, itself included.
      if (after !== undefined) query.set("startOffset", after)
      if (token !== undefined) query.set("pageToken", token)
      const answer = await send("GET", `/storage/v1/b/${bucket}/o?${query}`, { signal })
      const { items = [], prefixes = [], nextPageToken } = Schema.decodeSync(ListAnswer)(await answer.text())
      const entries = items.map(({ name: key, size, updated }) => ({
        key,
        bytes: size,
        modifiedMs: Date.parse(updated),
      }))
      return { entries: [...entries, ...prefixes.map(listedPrefix)], next: nextPageToken }
    },
    remove: async ([key = ""], signal) => {
      await send("DELETE", pathOf(key), { signal })
    },
    upload: async (key, contentType) => {
      const headers = { "Content-Type": "application/json", "X-Upload-Content-Type": contentType }
      const body = JSON.stringify({ name: key, contentType })
      const session = (await send("POST", `${uploads}resumable`, { headers, body })).headers.get("location")
      if (session === null) throw new Error("the response has no address of an upload")
      return resumable(session)
    },
  }
}

/** The parts of a request that creates an object with its metadata. */
const multipart = (key: string, parts: ReadonlyArray<Uint8Array>) => {
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
  return { body, headers: { "Content-Type": `multipart/related; boundary=${boundary}` } }
}

const connect = async (place: StorePlace, surroundings: Surroundings): Promise<Send> => {
  const sdk = await loadSdk<typeof Gcs>(place, surroundings, "@google-cloud/storage")
  const storage = new sdk.Storage()
  const { environment = process.env } = surroundings
  const isEmulated = Boolean(environment.STORAGE_EMULATOR_HOST)
  const keyFile = environment.GOOGLE_SERVICE_ACCOUNT
  // Read here, because the SDK's error for a file that is not JSON quotes the file.
  if (keyFile && !environment.GOOGLE_APPLICATION_CREDENTIALS && !isEmulated)
    storage.authClient.jsonContent = await readKeyFile(keyFile, place)
  return async (method, path, request) => {
    const url = `${storage.apiEndpoint}${path}`
    const headers = new Headers(isEmulated ? {} : await storage.authClient.getRequestHeaders(url))
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value)
    const answer = await fetch(url, { ...request, method, headers })
    if (answer.ok) return answer
    throw await answerError(answer)
  }
}

const readKeyFile = async (path: string, place: StorePlace): Promise<object> => {
  try {
    const key: unknown = JSON.parse(await readFile(path, "utf8"))
    if (typeof key === "object" && key !== null) return key
  } catch {
    // An unreadable file and one that is not JSON are the same mistake in the variable.
  }
  throw targetError(place, "credentials", `GOOGLE_SERVICE_ACCOUNT does not name a readable JSON key file: ${path}`)
}

/** An error with the status and the reason of an answer. The API has one status for a missing object and a missing bucket, and says which in words. */
const answerError = async (answer: Response): Promise<Error> => {
  const { status } = answer
  const text = await answer.text()
  const message = /"message": *"([^"]+)"/.exec(text)?.[1] ?? text
  const isObject = status === 404 && answer.url.includes("/o/") && !/\bbucket (does not exist|not found)/i.test(message)
  const code = isObject ? "NoSuchKey" : /"reason": *"([^"]+)"/.exec(text)?.[1]
  return Object.assign(new Error(message), { status, code })
}

/** A resumable upload. Its session is a URL of its own, for which no credentials are needed. */
const resumable = (session: string): PartSink => {
  const md5 = createHash("md5")
  /** Bytes of the object that were hashed, and that the store has confirmed. */
  let [hashed, kept] = [0, 0]
  const put: PartSink["put"] = async ({ offset, bytes, last }, signal) => {
    const end = offset + bytes.length
    // A part that is sent again was hashed before.
    if (hashed < end) md5.update(bytes)
    hashed = end
    const rest = bytes.subarray(Math.max(0, kept - offset))
    const range = rest.length === 0 ? "*" : `${end - rest.length}-${end - 1}`
    const checksum = last ? { "X-Goog-Hash": `md5=${md5.copy().digest("base64")}` } : {}
    const headers = { "Content-Range": `bytes ${range}/${last ? end : "*"}`, ...checksum }
    const answer = await fetch(session, { method: "PUT", headers, body: Buffer.from(rest), signal })
    // "Resume Incomplete": so much has arrived.
    if (answer.status !== 308 && !answer.ok) throw await answerError(answer)
    await answer.arrayBuffer()
    kept = answer.ok ? end : Number(/-(\d+)$/.exec(answer.headers.get("range") ?? "")?.[1] ?? -1) + 1
    if (kept < end || (last && !answer.ok))
      throw Object.assign(new Error(`the store kept ${kept} of ${end} bytes`), { status: 503 })
  }
  return {
    // A multiple of 256 KiB, as the protocol requires; one at a time, because each part starts where the previous one ended.
    partBytes: 8 * 1024 * 1024,
    parallel: 1,
    // The largest object is 5 TiB.
    maximumParts: 655_360,
    put,
    // The last part has created the object.
    commit: () => Promise.resolve(),
    discard: async (signal) => {
      const answer = await fetch(session, { method: "DELETE", headers: { "Content-Length": "0" }, signal })
      await answer.arrayBuffer()
      // 499: it is deleted.
      if (!answer.ok && ![404, 410, 499].includes(answer.status))
        throw new Error(`the upload's session cannot be deleted: HTTP ${answer.status}`)
    },
  }
}
