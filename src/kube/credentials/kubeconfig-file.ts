/**
 * Reads kubeconfig files and merges them as kubectl does: the first file that names a cluster, user, context or current context
 * wins; relative paths are relative to the file that contains them.
 *
 * The entries are parsed by client-node's own functions, imported from their module because the package's root
 * (and its `config` module) loads every API type: 84 MB and 360 ms, bundled 32–44 MB; this module 3 MB. The package has no
 * `exports` that would forbid it. What these functions omit (impersonated groups, `tokenFile`, cluster extensions) or do
 * unasked (reading `token-file` synchronously) is handled here.
 * Lenient like kubectl: only the entries that the chosen context uses must be valid.
 */

import { readFile } from "node:fs/promises"
import { dirname } from "node:path"
import {
  type Cluster,
  type Context,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from "@kubernetes/client-node/dist/config_types.js"
import { isMap, parseDocument } from "yaml"
import { isRecord } from "../../is-record.ts"
import { describeFileError, KubeconfigInvalid, KubeconfigUnreadable } from "./errors.ts"

/** A named entry and its file. `raw` has the fields that client-node's types do not cover. */
export interface Entry<Kind> {
  readonly value: Kind
  readonly raw: Readonly<Record<string, unknown>>
  readonly path: string
  /** Base directory of relative paths. */
  readonly directory: string
}

/** Entries by name. An invalid entry is reported only if it is used. */
export type Entries<Kind> = ReadonlyMap<string, Entry<Kind> | KubeconfigInvalid>

/** The files, merged. */
export interface Kubeconfig {
  readonly paths: ReadonlyArray<string>
  readonly currentContext: string | undefined
  readonly clusters: Entries<Cluster>
  readonly users: Entries<User>
  readonly contexts: Entries<Context>
}

/** Reads `paths` in order; at least one must exist. Rejects with `KubeconfigUnreadable` or `KubeconfigInvalid`. */
export const readKubeconfig = async (paths: ReadonlyArray<string>): Promise<Kubeconfig> => {
  const clusters = new Map<string, Entry<Cluster> | KubeconfigInvalid>()
  const users = new Map<string, Entry<User> | KubeconfigInvalid>()
  const contexts = new Map<string, Entry<Context> | KubeconfigInvalid>()
  let currentContext: string | undefined
  for (const path of paths) {
    const document = await readDocument(path)
    collect(clusters, path, document, "clusters", "cluster", newClusters)
    collect(users, path, document, "users", "user", newUsers)
    collect(contexts, path, document, "contexts", "context", newContexts)
    const current = document["current-context"]
    if (currentContext === undefined && typeof current === "string" && current !== "") currentContext = current
  }
  return { paths, currentContext, clusters, users, contexts }
}

type Plain = Readonly<Record<string, unknown>>

const readDocument = async (path: string): Promise<Plain> => {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new KubeconfigUnreadable({ path, reason: `it ${describeFileError(error)}` })
  })
  const document = parseDocument(text)
  const [problem] = document.errors
  if (problem !== undefined) {
    // The parser's message quotes the line, and a kubeconfig contains secrets, so only its code and position are reported.
    const [place] = problem.linePos ?? []
    const where = place === undefined ? "" : ` at line ${place.line}, column ${place.col}`
    throw new KubeconfigInvalid({ path, reason: `not valid YAML${where} (${problem.code})` })
  }
  if (document.contents === null) return {}
  if (!isMap(document.contents)) throw new KubeconfigInvalid({ path, reason: "not a mapping: is this a kubeconfig?" })
  try {
    return document.toJS() as Plain
  } catch (error) {
    // An alias without an anchor, or one that would expand without limit.
    if (error instanceof ReferenceError)
      throw new KubeconfigInvalid({ path, reason: "a YAML alias cannot be resolved" })
    throw error
  }
}

/** Adds the entries of one list whose names are not present yet. */
const collect = <Kind>(
  into: Map<string, Entry<Kind> | KubeconfigInvalid>,
  path: string,
  document: Plain,
  list: string,
  inner: string,
  read: (entries: unknown[]) => Kind[],
): void => {
  const entries = document[list] ?? []
  if (!Array.isArray(entries)) throw new KubeconfigInvalid({ path, reason: `${list} is not a list` })
  for (const [index, entry] of entries.entries()) {
    const name: unknown = isRecord(entry) ? entry.name : undefined
    if (typeof name !== "string" || name === "" || into.has(name)) continue
    const raw: unknown = isRecord(entry) ? entry[inner] : undefined
    // client-node would read the file named by `token-file` immediately, synchronously and from the working directory.
    const { "token-file": _readByUs, ...rest } = isRecord(raw) ? raw : {}
    const value = readEntry(read, { name, [inner]: isRecord(raw) ? rest : raw })
    if (value instanceof Error) {
      const reason = value.message.replace(/^\w+\[0\]/, `${list}[${index}]`)
      into.set(name, new KubeconfigInvalid({ path, reason }))
    } else into.set(name, { value, raw: isRecord(raw) ? raw : {}, path, directory: dirname(path) })
  }
}

const readEntry = <Kind>(read: (entries: unknown[]) => Kind[], entry: Plain): Kind | Error => {
  try {
    const [value] = read([entry])
    return value ?? new Error("entry is empty")
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
