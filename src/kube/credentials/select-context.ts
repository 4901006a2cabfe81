/**
 * Selects one context from the merged kubeconfig files and resolves it to {@link ContextSettings}.
 *
 * Pure. Throws `ContextNotFound`, `ContextIncomplete`, `KubeconfigInvalid` and `UnsupportedSetting`; no message contains a value
 * that may be secret.
 */
import { isAbsolute, join } from "node:path"
import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js"
import { ContextIncomplete, ContextNotFound, KubeconfigInvalid, UnsupportedSetting } from "./errors.ts"
import type { Entries, Entry, Kubeconfig } from "./kubeconfig-file.ts"
import {
  type ClusterSettings,
  type ContextSettings,
  type ExecSettings,
  type Identification,
  type Impersonation,
  type Material,
  noImpersonation,
  type UserSettings,
} from "./settings.ts"

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
  const config = (provider.config ?? {}) as Record<string, unknown>
  if (config.exec) return { tag: "exec", exec: readExec(config.exec as Record<string, unknown>, entry, fields) }
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
  const variables = (exec.env ?? []) as ReadonlyArray<Record<string, unknown>>
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
  const extra = (raw["as-user-extra"] ?? {}) as Record<string, unknown>
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
