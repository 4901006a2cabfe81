/** Variables of the environment that several commands read, as their help names them. */
import type { DescribedName } from "./arguments.ts"

/** Of commands that talk to a cluster. */
export const clusterVariables: readonly DescribedName[] = [
  ["KUBECONFIG", "kubeconfigs, as for kubectl, if --kubeconfig is not given"],
  [
    "HTTPS_PROXY",
    "proxy to the API server, also HTTP_PROXY and NO_PROXY; proxy-url in the kubeconfig takes precedence",
  ],
]

/** Of commands that ask a recorder. */
export const recorderVariables: readonly DescribedName[] = [
  ["KUBEREEL_TOKEN", "token to present to the recorder, if --token-file is not given"],
  ...clusterVariables,
]

/** Of commands that read or write objects in stores. */
export const storeVariables: readonly DescribedName[] = [
  ["AWS_*, AZURE_*, GOOGLE_*", "credentials of object stores; docs/reference/export-targets.md names them"],
]

/** Of commands that keep what they cannot hold in memory in files. */
export const temporaryVariables: readonly DescribedName[] = [["TMPDIR", "directory for temporary files"]]
