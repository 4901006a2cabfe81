/** Options and variables of the environment that several commands have, as their help describes them. */
import { TRACE_FORMAT_NAMES } from "../../trace/index.ts"
import { type DescribedName, flag, oneOf, optional, type Reading, refused, value, withDefault } from "./arguments.ts"

/** Whether it is a directory, and not the address of a store. */
export const isOwnDirectory = (given: string): boolean => !/^(?!file:)[a-z][a-z0-9+.-]+:\/\//i.test(given)

/** A directory that is written into, and not the address of a store. */
export const parseOwnDirectory = (given: string): Reading<string> =>
  isOwnDirectory(given)
    ? value(given)
    : refused(
        "is an object store, into which only reel record --archive-to writes; reel restore makes a directory of it",
      )

/** Of commands that run until they are ended. */
export const logFormatOption = withDefault(
  "text",
  "FORMAT",
  "text for people, json for programs: one object per line with time, level, message and facts",
  oneOf("text", "json"),
)

/** Which cluster. */
export const clusterOptions = {
  kubeconfig: optional(
    "FILE",
    "kubeconfig of the cluster; default: KUBECONFIG, ~/.kube/config or, in a pod, its service account",
  ),
  context: optional("NAME", "context of the kubeconfig; default: its current context"),
}

/** Of a trace that is read. `operand`: as help names it. */
export const formatOption = (operand: string, inferred = "inferred from its name, else from its first bytes") =>
  optional(
    "FORMAT",
    `format of ${operand}: ${TRACE_FORMAT_NAMES.join(", ")}; default: ${inferred}`,
    oneOf(...TRACE_FORMAT_NAMES),
  )

/** Of a trace that is written. */
export const outputFormatOption = (output: string) =>
  optional(
    "FORMAT",
    `${TRACE_FORMAT_NAMES.join(", ")}; default: by the extension of ${output}, else ndjson`,
    oneOf(...TRACE_FORMAT_NAMES),
  )

/** Of commands that write a trace and end. */
export const redactionOptions = {
  secretsInPlainText: flag({ help: "write v1.Secret as it is; default: its values are replaced by keyed hashes" }),
  redactKeyFile: optional(
    "FILE",
    "the key of the hashes that replace secret values, at least 16 bytes; default: a random one that is not kept",
  ),
}

/** For users of `--allow-secrets`, without which `v1.Secret` was refused, because its values were recorded in plain text. */
export const allowSecretsAdvice =
  "--allow-secrets is deprecated and ignored: v1.Secret is recorded with redacted values. To record them in plain text, use --secrets-in-plain-text"

/** Of commands that talk to a cluster. */
export const clusterVariables: readonly DescribedName[] = [
  ["KUBECONFIG", "kubeconfigs, as for kubectl, if --kubeconfig is not given"],
  [
    "HTTPS_PROXY",
    "proxy to the API server, also HTTP_PROXY and NO_PROXY; proxy-url in the kubeconfig takes precedence",
  ],
]

/** Of commands that read streams in object stores. */
export const mirrorVariables: readonly DescribedName[] = [
  ["KUBEREEL_CACHE", "directory for what was read of streams; default: kubereel in the user's cache directory"],
  ["KUBEREEL_CACHE_BYTES", "bytes that it may take for rows, and as many for blocks; default: 2147483648"],
]

/** Of commands that ask a recorder. */
export const recorderVariables: readonly DescribedName[] = [
  ...mirrorVariables,
  ["KUBEREEL_TOKEN", "token to present to the recorder, if --token-file is not given"],
  ...clusterVariables,
]

/** Of commands that read or write objects in stores. */
export const storeVariables: readonly DescribedName[] = [
  ["AWS_*, AZURE_*, GOOGLE_*", "credentials of object stores; docs/reference/export-targets.md names them"],
]

/** Of commands that keep what they cannot hold in memory in files. */
export const temporaryVariables: readonly DescribedName[] = [["TMPDIR", "directory for temporary files"]]
