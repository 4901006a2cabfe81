/**
 * A ledger as a recording with redacted values has to be. Written from docs/reference/configuration.md, without looking at the recorder's
 * code, which works on bytes; this one replaces members of parsed JSON.
 */
import { createHmac } from "node:crypto"
import { isObject, type Json, type JsonObject, parseExactly, textAt } from "./exact-json.ts"
import type { LedgerLine } from "./ledger.ts"

const manifest = "kubectl.kubernetes.io/last-applied-configuration"

/** Names of environment variables, by the default rules of the documentation; upper and lower case are the same. */
const secretName = new RegExp(
  [
    ...["PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "^PASS$", "_PASS$", "_PWD$"],
    ...["TOKEN", "_JWT$", "_PAT$", "BEARER"],
    ...["SECRET", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "_KEYS?$", "_SALT$"],
    ...["DSN$", "DATABASE_URL", "DB_URL$", "CONNECTION_STRING", "CONNECTIONSTRING", "CONN_STR"],
    "(MONGO|REDIS|AMQP|POSTGRES|MYSQL).*_UR[IL]$",
    ...["DOCKER.*CONFIG", "AUTH(?!OR(S|ITY|_NAME|_EMAIL|_DATE)?$)"],
  ].join("|"),
  "i",
)

/** Names of options in command lines, spelled as variables: as above but for AUTH, of which most options say how, and without those that only refer to a value. */
const secretOption = (option: string): boolean => {
  const name = option.replaceAll("-", "_").toUpperCase()
  const refers =
    /(FILES?|PATHS?|DIR|DIRECTORY|_NAMES?|NAMESPACE|_MODE|_TTL|_TYPE|_EXPIRATION|_DURATION|_ISSUER|_AUDIENCE|_STDIN|_REF)$/
  if (refers.test(name)) return false
  return name.includes("AUTH") ? /(^|_)AUTH$|AUTHORIZATION$|AUTH_HEADER/.test(name) : secretName.test(name)
}

/**
 * The ledger with hashes in place of secret environment variables, as far as the default rules name them: those of the scripted workload, and of whatever
 * other tests have left in the cluster. Kinds with other secrets (Secrets, annotations) are not for this comparison.
 * @param key the text of the recorder's `redaction.key`.
 */
export const redactedLedger = (ledger: readonly LedgerLine[], key: string): LedgerLine[] =>
  ledger.map((line) => (line.line === "list" ? line : { ...line, object: redacted(line.object, key) }))

const redacted = (object: JsonObject, key: string): JsonObject => {
  const { value, isFound } = hashed(object, key)
  if (!isObject(value)) throw new Error("an object is no longer one")
  return isFound || isInManifest(object, key) ? withoutCopies(value) : object
}

/** As after `kubectl set env deployment/web DB_PASSWORD-`: only the copy has the value. */
const isInManifest = (object: JsonObject, key: string): boolean => {
  const applied = textAt(object, "metadata", "annotations", manifest)
  return applied !== "" && hashed(parseExactly(applied), key).isFound
}

const hashed = (object: Json, key: string): { readonly value: Json; readonly isFound: boolean } => {
  let isFound = false
  const hash = (plain: string): string => {
    isFound = true
    return `redacted:${createHmac("sha256", key).update(plain).digest("hex").slice(0, 16)}`
  }
  /** Options of which name and value are one word, as in the manifests of recorders. */
  const word = (value: string): string => {
    const [, option = "", plain = ""] = /^--([\w-]+)=(.+)$/s.exec(value) ?? []
    const isPlain = plain === "" || plain === "true" || plain === "false" || plain.startsWith("$")
    return isPlain || !secretOption(option) ? value : `--${option}=${hash(plain)}`
  }
  const replaced = (value: Json | undefined, within: string): Json => {
    if (Array.isArray(value)) return value.map((each: Json) => replaced(each, within))
    if (typeof value === "string" && (within === "args" || within === "command")) return word(value)
    if (!isObject(value)) return value ?? null
    const plain = textAt(value, "value")
    if (within === "env" && plain !== "" && secretName.test(textAt(value, "name")))
      return { ...value, value: hash(plain) }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaced(each, name)]))
  }
  return { value: replaced(object, ""), isFound }
}

/** Names of fields are no secret, but items of sets are named by what they are, and of some lists by their values. */
const mayHoldValues = (entries: Json | undefined): boolean => {
  if (Array.isArray(entries)) return entries.some((entry: Json) => mayHoldValues(entry))
  if (!isObject(entries)) return false
  return Object.entries(entries).some(
    ([name, each]) =>
      name.startsWith("v:") || name.includes('"value"') || (name !== "f:finalizers" && mayHoldValues(each)),
  )
}

/** Without the places that have the values too. Annotations of which nothing is left are absent. */
const withoutCopies = (object: JsonObject): JsonObject => {
  const { metadata } = object
  if (!isObject(metadata)) return object
  const { managedFields, ...others } = metadata
  const rest = managedFields === undefined || mayHoldValues(managedFields) ? others : metadata
  if (!isObject(rest.annotations)) return { ...object, metadata: rest }
  const { [manifest]: _manifest, ...annotations } = rest.annotations
  const isEmptied = manifest in rest.annotations && Object.keys(annotations).length === 0
  return { ...object, metadata: { ...rest, annotations: isEmptied ? undefined : annotations } }
}
