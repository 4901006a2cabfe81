/**
 * Selects one context from the merged kubeconfig files. Pure. Throws `ContextNotFound`, `ContextIncomplete`,
 * `KubeconfigInvalid` and `UnsupportedSetting`; no message contains a value that may be secret.
 */

import { readFile } from "node:fs/promises"
import { dirname, isAbsolute, join } from "node:path"
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
import {
  ContextIncomplete,
  ContextNotFound,
  describeFileError,
  KubeconfigInvalid,
  KubeconfigUnreadable,
  UnsupportedSetting,
} from "./errors.ts"

// Reads kubeconfig files and merges them as kubectl does: the first file that names a cluster, user, context or current context
// wins; relative paths are relative to the file that contains them.

/** A named entry and its file. `raw` has the fields that client-node's types do not cover. */
interface Entry<Kind> {
  readonly value: Kind
  readonly raw: Readonly<Record<string, unknown>>
  readonly path: string
  /** Base directory of relative paths. */
  readonly directory: string
}

/** Entries by name. An invalid entry is reported only if it is used. */
type Entries<Kind> = ReadonlyMap<string, Entry<Kind> | KubeconfigInvalid>

/** The files, merged. */
interface Kubeconfig {
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
    return document.toJS()
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

// The settings of one context in a kubeconfig (or a pod's environment), before the files and plugins it refers to are read: plain data
// between the code that reads configurations and the code that turns them into endpoints.

/** PEM text, or the file that holds it. */
export type Material =
  | { readonly tag: "inline"; readonly pem: string }
  | { readonly tag: "file"; readonly path: string }

interface ClusterSettings {
  readonly name: string
  /** As written, without trailing slash. */
  readonly server: string
  readonly certificateAuthority: Material | undefined
  readonly skipTlsVerify: boolean
  readonly tlsServerName: string | undefined
  /** `disable-compression`; always true of a pod's own cluster. */
  readonly disableCompression: boolean
  /** `proxy-url`; overrides the environment. */
  readonly proxyUrl: string | undefined
  /** Extension `client.authentication.k8s.io/exec`, handed to plugins that ask for cluster information. */
  readonly execConfig: unknown
}

/** A credential plugin: `user.exec`. */
export interface ExecSettings {
  /** Absolute, or a name to be found in PATH. */
  readonly command: string
  readonly parameters: ReadonlyArray<string>
  readonly environment: ReadonlyArray<readonly [name: string, value: string]>
  readonly apiVersion: string
  readonly providesClusterInfo: boolean
  readonly installHint: string
}

/** A legacy `auth-provider`, in the form that client-node takes. */
export interface AuthProviderSettings {
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
}

/** How the user authenticates; the first that is configured, in this order (client-go rejects several). */
type Identification =
  | { readonly tag: "exec"; readonly exec: ExecSettings }
  | { readonly tag: "token-file"; readonly path: string }
  | { readonly tag: "token"; readonly token: string }
  | { readonly tag: "basic"; readonly username: string; readonly password: string }
  | { readonly tag: "auth-provider"; readonly provider: AuthProviderSettings }
  | { readonly tag: "none" }

export interface Impersonation {
  readonly user: string | undefined
  readonly uid: string | undefined
  readonly groups: ReadonlyArray<string>
  readonly extra: ReadonlyArray<readonly [key: string, value: string]>
}

interface UserSettings {
  /** The empty string if the context names none: requests are anonymous. */
  readonly name: string
  readonly identification: Identification
  /** Besides the above: a client certificate and its key. */
  readonly clientCertificate: { readonly certificate: Material; readonly key: Material } | undefined
  readonly impersonation: Impersonation
}

export interface ContextSettings {
  /** `in-cluster` for a pod's own service account. */
  readonly name: string
  readonly cluster: ClusterSettings
  readonly user: UserSettings
  readonly namespace: string
}

export const noImpersonation: Impersonation = { user: undefined, uid: undefined, groups: [], extra: [] }

/** `asked`: the requested context; default: the current one. */
export const selectContext = (kubeconfig: Kubeconfig, asked: string | undefined): ContextSettings => {
  const { contexts, clusters, users, currentContext, paths } = kubeconfig
  const name = asked ?? currentContext ?? ""
  const found = contexts.get(name)
  if (found === undefined)
    throw new ContextNotFound({ context: name, existing: [...contexts.keys()], paths: [...paths] })
  const { value: context, path } = valid(found)
  const part = <Kind>(entries: Entries<Kind>, missing: "cluster" | "user", wanted: string): Entry<Kind> => {
    const entry = entries.get(wanted)
    if (entry !== undefined) return valid(entry)
    throw new ContextIncomplete({ context: name, missing, name: wanted, existing: [...entries.keys()], path })
  }
  return {
    name,
    cluster: readCluster(part(clusters, "cluster", context.cluster)),
    // Optional, although client-node's types say otherwise.
    user: (context.user as string | undefined) === undefined ? anonymous : readUser(part(users, "user", context.user)),
    namespace: context.namespace ?? "default",
  }
}

const valid = <Kind>(entry: Entry<Kind> | KubeconfigInvalid): Entry<Kind> => {
  if (entry instanceof KubeconfigInvalid) throw entry
  return entry
}

const anonymous: UserSettings = {
  name: "",
  identification: { tag: "none" },
  clientCertificate: undefined,
  impersonation: noImpersonation,
}

/** Reads the fields of one entry; every error names the entry. */
class Fields {
  readonly #entry: Entry<unknown>
  readonly #where: string

  constructor(entry: Entry<unknown>, where: string) {
    this.#entry = entry
    this.#where = where
  }

  /** Text, or `undefined` if absent or empty. */
  text(key: string, value: unknown): string | undefined {
    if (value === undefined || value === null || value === "") return undefined
    // An unquoted token of digits would be rounded to a number.
    if (typeof value !== "string") throw this.invalid(key, "is not text: put it in quotes")
    // Not allowed in paths, command lines or headers: Node would throw at the first use.
    if (value.includes("\0")) throw this.invalid(key, "contains a NUL character")
    return value
  }

  texts(key: string, value: unknown): ReadonlyArray<string> {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) throw this.invalid(key, "is not a list")
    return value.map((each: unknown, index) => this.text(`${key}[${index}]`, each) ?? "")
  }

  path(key: string, value: unknown): string | undefined {
    const path = this.text(key, value)
    return path === undefined || isAbsolute(path) ? path : join(this.#entry.directory, path)
  }

  /** Inline data takes precedence over a file, as in kubectl (in client-node it is the other way round). */
  material(key: string, data: unknown, file: unknown): Material | undefined {
    const base64 = this.text(`${key}-data`, data)
    if (base64 === undefined) {
      const path = this.path(key, file)
      return path === undefined ? undefined : { tag: "file", path }
    }
    const pem = Buffer.from(base64, "base64").toString("utf8")
    if (!pem.includes("-----BEGIN ")) throw this.invalid(`${key}-data`, "is not base64-encoded PEM data")
    return { tag: "inline", pem }
  }

  invalid(key: string, reason: string): KubeconfigInvalid {
    return new KubeconfigInvalid({ path: this.#entry.path, reason: `${key} of ${this.#where} ${reason}` })
  }
}

const execExtension = "client.authentication.k8s.io/exec"

const readCluster = (entry: Entry<Cluster>): ClusterSettings => {
  const { value, raw } = entry
  const fields = new Fields(entry, `cluster "${value.name}"`)
  const extensions = Array.isArray(raw.extensions) ? raw.extensions : []
  return {
    name: value.name,
    server: value.server,
    certificateAuthority: fields.material("certificate-authority", value.caData, value.caFile),
    skipTlsVerify: value.skipTLSVerify,
    tlsServerName: fields.text("tls-server-name", value.tlsServerName),
    disableCompression: raw["disable-compression"] === true,
    proxyUrl: fields.text("proxy-url", value.proxyUrl),
    execConfig: extensions.find((each: Record<string, unknown> | null) => each?.name === execExtension)?.extension,
  }
}

const readUser = (entry: Entry<User>): UserSettings => {
  const { value } = entry
  const fields = new Fields(entry, `user "${value.name}"`)
  const certificate = fields.material("client-certificate", value.certData, value.certFile)
  const key = fields.material("client-key", value.keyData, value.keyFile)
  if ((certificate === undefined) !== (key === undefined)) {
    const [there, missing] =
      key === undefined ? ["client-certificate", "client-key"] : ["client-key", "client-certificate"]
    throw fields.invalid(there ?? "", `is set, but ${missing} is not`)
  }
  return {
    name: value.name,
    identification: readIdentification(entry, fields),
    clientCertificate: certificate === undefined || key === undefined ? undefined : { certificate, key },
    impersonation: readImpersonation(entry, fields),
  }
}

const readIdentification = (entry: Entry<User>, fields: Fields): Identification => {
  const { value, raw } = entry
  if (value.exec) return { tag: "exec", exec: readExec(value.exec, entry, fields) }
  const path = fields.path("tokenFile", raw.tokenFile ?? raw["token-file"])
  if (path !== undefined) return { tag: "token-file", path }
  const token = fields.text("token", value.token)
  if (token !== undefined) return { tag: "token", token }
  const username = fields.text("username", value.username)
  if (username !== undefined) {
    return { tag: "basic", username, password: fields.text("password", value.password) ?? "" }
  }
  return value.authProvider ? readAuthProvider(value.authProvider, entry, fields) : { tag: "none" }
}

/** Providers that only wrap a file or a plugin are handled as such, because client-node would read and run them synchronously. */
const readAuthProvider = (provider: Record<string, unknown>, entry: Entry<User>, fields: Fields): Identification => {
  const name = fields.text("auth-provider.name", provider.name) ?? ""
  const config = isRecord(provider.config) ? provider.config : {}
  if (isRecord(config.exec)) return { tag: "exec", exec: readExec(config.exec, entry, fields) }
  const path = fields.path("auth-provider.config.tokenFile", config.tokenFile)
  return path === undefined ? { tag: "auth-provider", provider: { name, config } } : { tag: "token-file", path }
}

const readExec = (exec: Record<string, unknown>, entry: Entry<User>, fields: Fields): ExecSettings => {
  const command = fields.text("exec.command", exec.command)
  const apiVersion = fields.text("exec.apiVersion", exec.apiVersion)
  if (command === undefined) throw fields.invalid("exec.command", "is missing")
  if (apiVersion === undefined) throw fields.invalid("exec.apiVersion", "is missing")
  if (exec.interactiveMode === "Always") {
    const reason = "is Always, but plugins run without a terminal here; use a plugin that does not need one"
    throw new UnsupportedSetting({ setting: `exec.interactiveMode of user "${entry.value.name}"`, reason })
  }
  const variables: unknown = exec.env ?? []
  if (!Array.isArray(variables)) throw fields.invalid("exec.env", "is not a list")
  return {
    // As in kubectl, a path is relative to the file, and a name without a slash is looked up in PATH.
    command: /[/\\]/.test(command) && !isAbsolute(command) ? join(entry.directory, command) : command,
    parameters: fields.texts("exec.args", exec.args),
    environment: variables.map((variable) => [
      fields.text("exec.env[].name", variable.name) ?? "",
      fields.text("exec.env[].value", variable.value) ?? "",
    ]),
    apiVersion,
    providesClusterInfo: exec.provideClusterInfo === true,
    installHint: fields.text("exec.installHint", exec.installHint)?.trim() ?? "",
  }
}

const readImpersonation = ({ value, raw }: Entry<User>, fields: Fields): Impersonation => {
  const extra = isRecord(raw["as-user-extra"]) ? raw["as-user-extra"] : {}
  const impersonation: Impersonation = {
    user: fields.text("as", value.impersonateUser),
    uid: fields.text("as-uid", raw["as-uid"]),
    groups: fields.texts("as-groups", raw["as-groups"]),
    extra: Object.entries(extra).flatMap(([key, values]) =>
      fields.texts(`as-user-extra.${key}`, values).map((each) => [key, each] as const),
    ),
  }
  const { user, uid, groups } = impersonation
  if (user === undefined && (uid !== undefined || groups.length > 0 || impersonation.extra.length > 0)) {
    // The server would reject such requests with an error that does not give the reason.
    throw fields.invalid("as", "is missing, but other impersonation settings are set")
  }
  return impersonation
}
