/** Namespaces from creation to deletion. Some are created beside the script's own; their names begin with its name. */

import { get, isGone, isThere, mergePatch, post, put, remove, type Script, watch } from "../script.ts"
import { configMap } from "./objects.ts"

const spaces = "/api/v1/namespaces"
const second = `${spaces}/<ns>-second`
const named = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })

const life: Script = {
  name: "namespaces",
  area: "lifecycle",
  leftovers: [second, `${spaces}/<ns>-third`, `${spaces}/<ns>-watched`],
  steps: [
    watch("changes", spaces, 3, { fieldSelector: "metadata.name=<ns>-watched" }),
    post("create", spaces, named("<ns>-second")),
    post("create again", spaces, named("<ns>-second")),
    get("default ServiceAccount", `${second}/serviceaccounts/default`, { until: isThere }),
    get("certificate", `${second}/configmaps/kube-root-ca.crt`, { until: isThere }),
    mergePatch("label", second, { metadata: { labels: { a: "b" } } }),
    mergePatch("the label of its name", second, { metadata: { labels: { "kubernetes.io/metadata.name": "x" } } }),
    mergePatch("finalizers through the object", second, { spec: { finalizers: [] } }),
    post("an object that holds it", `${second}/configmaps`, {
      ...configMap("held"),
      metadata: { name: "held", finalizers: ["example.com/hold"] },
    }),
    remove("delete", second),
    get("is terminating", second, {
      until: (_status, body) => JSON.stringify(body).includes("NamespaceFinalizersRemaining"),
    }),
    post("create into it", `${second}/configmaps`, configMap("late")),
    post("create a pod in it", `${second}/pods`, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }),
    put("update in it", `${second}/configmaps/held`, {
      ...configMap("held", { data: { k: "v" } }),
      metadata: { name: "held", finalizers: ["example.com/hold"] },
    }),
    remove("delete again", second),
    get("what is left", `${second}/configmaps`, {
      until: (_status, body) => !JSON.stringify(body).includes("kube-root-ca.crt"),
    }),
    mergePatch("let go", `${second}/configmaps/held`, { metadata: { finalizers: null } }),
    get("is gone", second, { until: isGone }),
    get("its objects are gone", `${second}/configmaps`),
    post("create into what is gone", `${second}/configmaps`, configMap("late")),
    put("update into what is gone", `${second}/configmaps/late`, configMap("late")),
    post("create once more", spaces, named("<ns>-second")),
    remove("delete in the foreground", second, { query: { propagationPolicy: "Foreground" } }),
    get("is gone once more", second, { until: isGone }),
    post("with a finalizer of the client's", spaces, {
      ...named("<ns>-third"),
      metadata: { name: "<ns>-third", finalizers: ["example.com/hold"] },
    }),
    remove("delete it", `${spaces}/<ns>-third`),
    get("is held", `${spaces}/<ns>-third`, {
      until: (_status, body) => JSON.stringify(body).includes(`"spec":{}`),
    }),
    mergePatch("let it go", `${spaces}/<ns>-third`, { metadata: { finalizers: null } }),
    get("it is gone", `${spaces}/<ns>-third`, { until: isGone }),
    post(
      "generated",
      spaces,
      { apiVersion: "v1", kind: "Namespace", metadata: { generateName: "<ns>-made-" } },
      {
        capture: { made: "/metadata/name" },
      },
    ),
    remove("delete the generated", `${spaces}/<made>`),
    remove("the one that must stay", `${spaces}/kube-system`),
    remove("the default one", `${spaces}/default`),
    remove("no collection", spaces),
    put("finalize", `${second}/finalize`, { ...named("<ns>-second"), spec: { finalizers: [] } }),
    get("read status", `${spaces}/<ns>/status`),
    post("watched", spaces, named("<ns>-watched")),
    mergePatch("watched, labelled", `${spaces}/<ns>-watched`, { metadata: { labels: { a: "b" } } }),
    remove("watched, deleted", `${spaces}/<ns>-watched`, { query: { dryRun: "All" } }),
    mergePatch("watched, annotated", `${spaces}/<ns>-watched`, { metadata: { annotations: { a: "b" } } }),
  ],
}

export const namespaces: readonly Script[] = [life]
