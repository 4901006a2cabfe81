/** Requests of real-answers.json whose responses here differ from those of Kubernetes 1.34.4, and why. */

export const differences: Readonly<Record<string, string>> = {
  badyaml: "the words of another YAML parser",
  apbad: "the words of another YAML parser",
  mpkind: "the real message is about a ConfigMap's data read as a Secret's",
  putscale: "the real Deployment controller had made a pod by then",
  putscalenokind: "the real Deployment controller had made a pod by then",
  "finalize-last": "the real namespace controller waits 5 s before it says in the conditions what is left",
  token: "no managedFields on a TokenRequest, which is stored nowhere",
}
