/**
 * What is replaced in the objects of a kind before they are recorded: the values of Secrets, environment variables, annotations, headers and
 * options of command lines by their names, passwords of addresses, and places that JSON pointers name.
 *
 * The default rules cover what is most often leaked. They go by names, so they are no guarantee: a password in a ConfigMap or in an environment
 * variable called `COLOUR` is not found. What else is secret, the configuration must name.
 */
import { formatGvk, type GroupVersionKind } from "../kinds/gvk.ts"
import { TokenMemory, textOf } from "./value-hash.ts"

// Decides by the bytes of a name whether patterns cover it, and remembers the decision: the same few names come with every event.

interface NamePattern {
  /** The texts between the stars. */
  readonly parts: ReadonlyArray<string>
  readonly isException: boolean
  readonly isOfTail: boolean
}

export class NamePatterns {
  /** Whether there is none. */
  readonly isEmpty: boolean
  readonly #patterns: ReadonlyArray<NamePattern>
  readonly #decisions = new TokenMemory<boolean>()

  constructor(patterns: ReadonlyArray<string>) {
    this.isEmpty = patterns.length === 0
    this.#patterns = patterns.map(patternOf)
  }

  /** Whether a pattern covers the JSON string `bytes[start, end)`, quotes included. */
  covers(bytes: Buffer, start: number, end: number): boolean {
    const known = this.#decisions.recall(bytes, start, end)
    if (known !== undefined) return known.value
    return this.#decisions.remember(bytes, start, end, this.coversText(textOf(bytes, start, end)))
  }

  /** The same for a text; remembers nothing. */
  coversText(name: string): boolean {
    const whole = name.toLowerCase()
    const tail = whole.slice(whole.lastIndexOf("/") + 1)
    const last = this.#patterns.findLast(({ parts, isOfTail }) => matches(parts, isOfTail ? tail : whole))
    return last !== undefined && !last.isException
  }
}

const patternOf = (written: string): NamePattern => {
  const isException = written.startsWith("!")
  const rest = isException ? written.slice(1) : written
  const isOfTail = rest.startsWith("/")
  return { parts: (isOfTail ? rest.slice(1) : rest).toLowerCase().split("*"), isException, isOfTail }
}

/** `parts`: the texts between the stars of a pattern. */
const matches = (parts: ReadonlyArray<string>, text: string): boolean => {
  const [first = ""] = parts
  if (parts.length === 1) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  const last = parts.at(-1) ?? ""
  return text.length - last.length >= at && text.endsWith(last)
}

/**
 * The rules for one kind; plain data. Names are patterns in which `*` is any text; upper and lower case are the same. After `!` a pattern excludes
 * names, after `/` it is compared with what follows the last slash; the last one that matches decides.
 */
export interface RedactionRules {
  /** Whether the kind is `v1.Secret`, and its values are to be replaced. */
  readonly secret: boolean
  /** Names of environment variables: elements with `name` and `value` of any array called `env`. */
  readonly env: ReadonlyArray<string>
  /** Names of annotations: members of any object called `annotations`. */
  readonly annotations: ReadonlyArray<string>
  /** The same for annotations that tools write, and so no applied manifest has. */
  readonly toolAnnotations: ReadonlyArray<string>
  /** JSON pointers in which `*` is every element of an array or every member of an object. */
  readonly pointers: ReadonlyArray<string>
  /** Names of HTTP headers: elements with `name` and `value` of any array called `httpHeaders`. Default: none. */
  readonly headers?: ReadonlyArray<string>
  /** Names of options and variables in command lines: any array or text called `command` or `args`. Default: none. */
  readonly arguments?: ReadonlyArray<string>
  /** Whether passwords of addresses are replaced, in every string. Default false. */
  readonly addresses?: boolean
}

/** The rules of a configuration, for all kinds. */
export interface RedactionSettings {
  readonly env: ReadonlyArray<string>
  readonly annotations: ReadonlyArray<string>
  /** By kind, as `formatGvk` writes it; under `*` those of every kind. */
  readonly pointers: ReadonlyMap<string, ReadonlyArray<string>>
  /** Default rules that do not apply. */
  readonly without: ReadonlyArray<string>
}

/** The default rules alone. */
export const defaultRedaction: RedactionSettings = { env: [], annotations: [], pointers: new Map(), without: [] }

interface DefaultRule {
  readonly env?: ReadonlyArray<string>
  readonly annotations?: ReadonlyArray<string>
  readonly toolAnnotations?: ReadonlyArray<string>
  readonly headers?: ReadonlyArray<string>
  /** In addition to the names of environment variables. */
  readonly arguments?: ReadonlyArray<string>
  readonly addresses?: boolean
}

/** By the name with which a configuration switches one off. */
export const defaultRules: ReadonlyMap<string, DefaultRule> = new Map<string, DefaultRule>([
  // First, because a name that another rule covers is secret although it has an author.
  [
    "env-auth",
    { env: ["*AUTH*", "!*AUTHOR", "!*AUTHORS", "!*AUTHORITY", "!*AUTHOR_NAME", "!*AUTHOR_EMAIL", "!*AUTHOR_DATE"] },
  ],
  ["env-passwords", { env: ["*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*PASSCODE*", "PASS", "*_PASS", "*_PWD"] }],
  ["env-tokens", { env: ["*TOKEN*", "*_JWT", "*_PAT", "*BEARER*"] }],
  [
    "env-keys",
    {
      env: [
        "*SECRET*",
        "*CREDENTIAL*",
        "*API_KEY*",
        "*APIKEY*",
        "*ACCESS_KEY*",
        "*PRIVATE_KEY*",
        "*_KEY",
        "*_KEYS",
        "*_SALT",
      ],
    },
  ],
  // Addresses that usually contain a password.
  [
    "env-connections",
    {
      env: [
        "*DSN",
        "*DATABASE_URL*",
        "*DB_URL",
        "*CONNECTION_STRING*",
        "*CONNECTIONSTRING*",
        "*CONN_STR*",
        "*MONGO*_URI",
        "*MONGO*_URL",
        "*REDIS*_URI",
        "*REDIS*_URL",
        "*AMQP*_URI",
        "*AMQP*_URL",
        "*POSTGRES*_URI",
        "*POSTGRES*_URL",
        "*MYSQL*_URI",
        "*MYSQL*_URL",
      ],
    },
  ],
  ["env-docker", { env: ["*DOCKER*CONFIG*", "*DOCKER_AUTH*", "*REGISTRY_AUTH*"] }],
  // Tools that apply manifests keep a copy of the object, which has every value that the object has or had. kubectl's copy is readable, and
  // is left out only if it contains such a value; these are compressed or have a form of their own.
  [
    "annotation-copies",
    {
      toolAnnotations: [
        "objectset.rio.cattle.io/applied",
        "banzaicloud.com/last-applied",
        "kapp.k14s.io/original",
        "kopf.zalando.org/last-handled-configuration",
      ],
    },
  ],
  // OpenShift writes the token of a ServiceAccount beside the docker configuration that is made from it.
  ["annotation-tokens", { toolAnnotations: ["openshift.io/token-secret.value"] }],
  // Many annotations only say which Secret has the value, or are hashes by which charts notice a change.
  [
    "annotation-names",
    {
      annotations: [
        ...[
          "/*PASSWORD*",
          "/*PASSWD*",
          "/*PASSPHRASE*",
          "/*TOKEN*",
          "/*SECRET*",
          "/*CREDENTIAL*",
          "/*BEARER*",
          "/*JWT",
        ],
        ...[
          "/*API-KEY*",
          "/*API_KEY*",
          "/*APIKEY*",
          "/*ACCESS-KEY*",
          "/*ACCESS_KEY*",
          "/*PRIVATE-KEY*",
          "/*PRIVATE_KEY*",
        ],
        ...[
          "/*-KEY",
          "/*-KEYS",
          "/*_KEY",
          "/*_KEYS",
          "/*.KEY",
          "/KEY",
          "/*AUTHORIZATION*",
          "/*BASIC-AUTH*",
          "/*-AUTH",
          "/AUTH",
        ],
        ...[
          "!checksum/*",
          "!/*-NAME",
          "!/*-NAMES",
          "!/*-NAMESPACE",
          "!/*-REF",
          "!/*-TYPE",
          "!/*-MODE",
          "!/*-EXPIRATION",
        ],
        ...["!/*-PATH", "!/*-FILE", "!/*-AUDIENCE", "!/AUTH-SECRET", "!/AUTH-TLS-SECRET", "!/AGENT-INJECT-SECRET-*"],
      ],
    },
  ],
  [
    "headers",
    {
      headers: [
        ...["*AUTH*", "*COOKIE*", "*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*CREDENTIAL*", "*BEARER*", "*JWT*"],
        ...["*API-KEY*", "*APIKEY*", "*ACCESS-KEY*", "*-KEY", "*SIGNATURE*", "!:AUTHORITY"],
      ],
    },
  ],
  // Options are compared as variables are spelled, so `--db-password` as DB_PASSWORD. Many only name a file or a mode.
  [
    "arguments",
    {
      arguments: [
        ...["AUTH", "*_AUTH", "*AUTHORIZATION", "*AUTH_HEADER", "PASSWORD"],
        ...[
          "!*FILE",
          "!*FILES",
          "!*PATH",
          "!*PATHS",
          "!*DIR",
          "!*DIRECTORY",
          "!*_NAME",
          "!*_NAMES",
          "!*NAMESPACE",
          "!*_MODE",
        ],
        ...["!*_TTL", "!*_TYPE", "!*_EXPIRATION", "!*_DURATION", "!*_ISSUER", "!*_AUDIENCE", "!*_STDIN", "!*_REF"],
      ],
    },
  ],
  ["addresses", { addresses: true }],
])

/** Kinds of Kubernetes' own groups that have pod templates. Of other groups, any kind may. */
const withPodTemplates: ReadonlySet<string> = new Set([
  "Pod",
  "PodTemplate",
  "ReplicationController",
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "ControllerRevision",
  "Job",
  "CronJob",
])

const isBuiltIn = ({ group }: GroupVersionKind): boolean => !group.includes(".") || group.endsWith(".k8s.io")

/** Whether the values of this kind are those of Secrets. */
export const isSecretKind = ({ group, kind }: GroupVersionKind): boolean =>
  group === "" && kind.toLowerCase() === "secret"

/** The rules for a kind; `undefined` if nothing in it is replaced, and so nothing has to be looked for. */
export const redactionOf = (
  gvk: GroupVersionKind,
  settings: RedactionSettings,
  { secretsInPlainText = false }: { readonly secretsInPlainText?: boolean } = {},
): RedactionRules | undefined => {
  const defaults = [...defaultRules].flatMap(([name, rule]) =>
    settings.without.includes(name) ? [] : [{ name, ...rule }],
  )
  const secret = isSecretKind(gvk) && !secretsInPlainText
  const hasPods = !isBuiltIn(gvk) || withPodTemplates.has(gvk.kind)
  const env = [...defaults.flatMap((rule) => rule.env ?? []), ...settings.env]
  const headers = defaults.flatMap((rule) => rule.headers ?? [])
  const options = defaults.flatMap((rule) => rule.arguments ?? [])
  // `--authorization-mode` is no secret, as little as most options with such names.
  const variables = [...defaults.flatMap((rule) => (rule.name === "env-auth" ? [] : (rule.env ?? []))), ...settings.env]
  const pointers = [...(settings.pointers.get("*") ?? []), ...(settings.pointers.get(formatGvk(gvk)) ?? [])]
  const annotations = [...defaults.flatMap((rule) => rule.annotations ?? []), ...settings.annotations]
  const toolAnnotations = defaults.flatMap((rule) => rule.toolAnnotations ?? [])
  // Definitions describe what addresses look like.
  const addresses = gvk.kind !== "CustomResourceDefinition" && defaults.some((rule) => rule.addresses)
  const names = annotations.length + toolAnnotations.length + pointers.length
  if (!secret && !addresses && names === 0 && !(hasPods && env.length + headers.length + options.length > 0))
    return undefined
  return {
    secret,
    env: hasPods ? env : [],
    annotations,
    toolAnnotations,
    pointers,
    headers: hasPods ? headers : [],
    arguments: hasPods && options.length > 0 ? [...variables, ...options] : [],
    addresses,
  }
}
