/**
 * The bodies of `GET /openapi/v3` and `GET /openapi/v3/<path>`.
 *
 * Built-in groups get the real server's bytes and hash; custom kinds get one document per group and version, made on each
 * request. Documents are not cached here: clients cache them under their hash, which is the SHA-512 of the body. No
 * protobuf form: kubectl 1.34 asks for JSON here (seen with -v8 for apply, apply --server-side, diff, explain and create).
 * `/openapi/v2` is made of these documents (v2/swagger-maker.ts).
 */

import { createHash } from "node:crypto"
import type { GroupVersionKind } from "../../kube/gvk.ts"
import { builtinDocuments, documentPath, readBuiltinDocument } from "./document-files.ts"
import { type CustomKind, customDocument } from "./openapi-custom.ts"

export type { CustomKind } from "./openapi-custom.ts"

/** The parts of a v3 document that the v2 document is made of. */
export interface OpenApiV3 {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> }
}

type OpenApiAnswer =
  | {
      readonly type: "document"
      /** JSON; `content-type: application/json`. */
      readonly body: Buffer
      /** For `etag`, in quotes. */
      readonly hash: string
      /** The request named the hash: the server sends `cache-control: public, immutable`, otherwise `no-cache, private`. */
      readonly isImmutable: boolean
    }
  /** 301 with this `location`: the requested hash is not the current one. */
  | { readonly type: "moved"; readonly location: string; readonly hash: string }

export class OpenApiDocuments {
  /** Custom kinds by document path, then by kind. */
  readonly #custom = new Map<string, Map<string, CustomKind>>()
  readonly #hashes = new Map<string, string>()

  /** Of all documents: `api/v1`, `apis/apps/v1`. */
  paths(): ReadonlyArray<string> {
    return [...Object.keys(builtinDocuments()), ...this.#custom.keys()].sort()
  }

  /** The document at one of {@link paths}. */
  parsed(path: string): OpenApiV3 {
    return JSON.parse(this.#bodyOf(path)?.toString() ?? '{"paths":{},"components":{"schemas":{}}}') as OpenApiV3
  }

  /** The hash of the document at one of {@link paths}, another one after each change. */
  hash(path: string): string {
    return this.#hashOf(path)
  }

  /** Adds a custom kind; replaces an earlier description of the same kind and version. */
  add(kind: CustomKind): void {
    const path = documentPath(kind.gvk)
    const kinds = this.#custom.get(path) ?? new Map<string, CustomKind>()
    kinds.set(kind.gvk.kind, kind)
    this.#custom.set(path, kinds)
    this.#hashes.delete(path)
  }

  /** Removes a custom kind; a document disappears with its last kind. */
  remove(gvk: GroupVersionKind): void {
    const path = documentPath(gvk)
    this.#custom.get(path)?.delete(gvk.kind)
    if (this.#custom.get(path)?.size === 0) this.#custom.delete(path)
    this.#hashes.delete(path)
  }

  /** The body of `GET /openapi/v3`. */
  index(): string {
    const paths: Record<string, { serverRelativeURL: string }> = {}
    for (const path of this.paths()) paths[path] = { serverRelativeURL: urlOf(path, this.#hashOf(path)) }
    return JSON.stringify({ paths })
  }

  /**
   * The response to `GET /openapi/v3/<path>?hash=`; `undefined` when there is no such document (404 with an empty body).
   *
   * @param path without the leading `/openapi/v3/`: `api/v1`, `apis/apps/v1`
   * @param asked the `hash` parameter, if there is one
   */
  document(path: string, asked?: string): OpenApiAnswer | undefined {
    const body = this.#bodyOf(path)
    if (body === undefined) return undefined
    const hash = this.#hashOf(path, body)
    if (asked !== undefined && asked !== "" && asked !== hash)
      return { type: "moved", location: urlOf(path, hash), hash }
    return { type: "document", body, hash, isImmutable: asked === hash }
  }

  #bodyOf(path: string): Buffer | undefined {
    if (Object.hasOwn(builtinDocuments(), path)) return readBuiltinDocument(path)
    const kinds = this.#custom.get(path)
    return kinds === undefined ? undefined : Buffer.from(JSON.stringify(customDocument([...kinds.values()])))
  }

  #hashOf(path: string, body?: Buffer): string {
    const documents = builtinDocuments()
    const known = Object.hasOwn(documents, path) ? documents[path] : this.#hashes.get(path)
    if (known !== undefined) return known
    const content = body ?? this.#bodyOf(path) ?? ""
    const hash = createHash("sha512").update(content).digest("hex").toUpperCase()
    this.#hashes.set(path, hash)
    return hash
  }
}

const urlOf = (path: string, hash: string): string => `/openapi/v3/${path}?hash=${hash}`
