/**
 * What is replaced in the objects of a kind before they are recorded: the values of Secrets, environment variables and annotations by their
 * names, and places that JSON pointers name.
 *
 * The default rules cover what is most often leaked. They go by names, so they are no guarantee: a password in a command line or in an
 * environment variable called `COLOUR` is not found. What else is secret, the configuration must name.
 */
import { formatGvk, type GroupVersionKind } from "../gvk.ts"

/** The rules for one kind; plain data. Names are patterns in which `*` is any text; upper and lower case are the same. */
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
}

/** By the name with which a configuration switches one off. */
export const defaultRules: ReadonlyMap<string, DefaultRule> = new Map<string, DefaultRule>([
  ["env-passwords", { env: ["*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*PASSCODE*", "PASS", "*_PASS", "*_PWD"] }],
  ["env-tokens", { env: ["*TOKEN*", "*_JWT", "*_PAT", "*BEARER*"] }],
  [
    "env-keys",
    { env: ["*SECRET*", "*CREDENTIAL*", "*API_KEY*", "*APIKEY*", "*ACCESS_KEY*", "*PRIVATE_KEY*", "*_KEY", "*_SALT"] },
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
      annotations: [
        "objectset.rio.cattle.io/applied",
        "banzaicloud.com/last-applied",
        "kapp.k14s.io/original",
        "kopf.zalando.org/last-handled-configuration",
      ],
    },
  ],
  // OpenShift writes the token of a ServiceAccount beside the docker configuration that is made from it.
  ["annotation-tokens", { annotations: ["openshift.io/token-secret.value"] }],
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

/**
 * The rules for a kind; `undefined` if nothing in it is replaced, and so nothing has to be looked for.
 *
 * The default annotations count only for kinds in which values are replaced anyway; those of the configuration for every kind.
 */
export const redactionOf = (
  gvk: GroupVersionKind,
  settings: RedactionSettings,
  { secretsInPlainText = false }: { readonly secretsInPlainText?: boolean } = {},
): RedactionRules | undefined => {
  const defaults = [...defaultRules].flatMap(([name, rule]) => (settings.without.includes(name) ? [] : [rule]))
  const secret = isSecretKind(gvk) && !secretsInPlainText
  const hasEnv = !isBuiltIn(gvk) || withPodTemplates.has(gvk.kind)
  const env = hasEnv ? [...defaults.flatMap((rule) => rule.env ?? []), ...settings.env] : []
  const pointers = [...(settings.pointers.get("*") ?? []), ...(settings.pointers.get(formatGvk(gvk)) ?? [])]
  const isReplaced = secret || env.length > 0 || pointers.length > 0
  const { annotations } = settings
  if (!isReplaced && annotations.length === 0) return undefined
  const toolAnnotations = isReplaced ? defaults.flatMap((rule) => rule.annotations ?? []) : []
  return { secret, env, annotations, toolAnnotations, pointers }
}
