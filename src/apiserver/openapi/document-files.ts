/**
 * The files with the OpenAPI v3 documents of the built-in kinds. Each is read from disk on every request and not cached
 * (the core one is 1.4 MB of text, 75 kB in the file).
 */

import { existsSync, readFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"
import type { GroupVersionKind } from "../../kube/gvk.ts"

/** Relative to this folder in the sources, to dist/cli.js, and to dist/lib/ and other folders of dist. */
const places = ["./data/", "./openapi/", "../openapi/"]

interface Index {
  readonly origin: string
  /** The Kubernetes version the documents are from, `1.34.4`. */
  readonly kubernetes: string
  /** Path below `/openapi/v3` (`apis/apps/v1`) to the hash under which the real server offers it. */
  readonly documents: Readonly<Record<string, string>>
}

let folder: URL | undefined
let index: Index | undefined

const readText = (name: string): string => readFileSync(new URL(name, dataFolder()), "utf8")

const dataFolder = (): URL => {
  if (folder !== undefined) return folder
  const candidates = places.map((place) => new URL(place, import.meta.url))
  const found = candidates.find((candidate) => existsSync(new URL("index.json", candidate)))
  // A caller can do nothing about it: the package is incomplete.
  if (found === undefined) throw new Error(`the OpenAPI documents are missing: no ${places.join(" nor ")} here`)
  folder = found
  return found
}

/** Path and hash of every document. */
export const builtinDocuments = (): Readonly<Record<string, string>> => {
  index ??= JSON.parse(readText("index.json")) as Index
  return index.documents
}

/** The bytes of a document as the real server sent them. `path` must be one of {@link builtinDocuments}. */
export const readBuiltinDocument = (path: string): Buffer =>
  zstdDecompressSync(readFileSync(new URL(`${path.replaceAll("/", "-")}.json.zst`, dataFolder())))

/** The path of the document that describes a kind: `api/v1`, `apis/apps/v1`. */
export const documentPath = (gvk: Pick<GroupVersionKind, "group" | "version">): string =>
  gvk.group === "" ? `api/${gvk.version}` : `apis/${gvk.group}/${gvk.version}`
