/** Unknown and doubled fields under each `fieldValidation`. */

import { inNamespace, post, put, type Script } from "../script.ts"
import { configMap, pausedDeployment, unscheduledPod } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const pods = inNamespace("v1", "pods")
const deployments = inNamespace("apps/v1", "deployments")
const raw = (text: string): { raw: string } => ({ raw: text })
const validation: Script = {
  name: "field-validation",
  area: "schema",
  steps: ["", "Ignore", "Warn", "Strict"].flatMap((fieldValidation) => {
    const query: Record<string, string> = fieldValidation === "" ? {} : { fieldValidation }
    const name = (what: string): string => `${what}, ${fieldValidation || "default"}`
    const suffix = fieldValidation.toLowerCase() || "default"
    const yamlText = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml-${suffix}\nnope: 1\ndata:\n  a: b\n  a: c\n`
    return [
      post(name("unknown at the top"), maps, configMap(`top-${suffix}`, { nope: 1 }), { query }),
      post(
        name("unknown in metadata"),
        maps,
        {
          ...configMap(`meta-${suffix}`),
          metadata: { name: `meta-${suffix}`, nope: { a: 1 } },
        },
        { query },
      ),
      post(
        name("unknown in a container"),
        pods,
        unscheduledPod(`pod-${suffix}`, {
          containers: [{ name: "c", image: "x", nope: true, env: [{ name: "A", valeu: "x" }] }],
          nodeSelektor: {},
        }),
        { query },
      ),
      post(
        name("doubled"),
        maps,
        raw(
          `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice-${suffix}","name":"twice-${suffix}"},"data":{"a":"1","a":"2"},"data":{"b":"2"}}`,
        ),
        { query },
      ),
      post(name("unknown and doubled in yaml"), maps, raw(yamlText), {
        query,
        headers: { "content-type": "application/yaml" },
      }),
      post(
        name("another case"),
        maps,
        raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"case-${suffix}"},"DATA":{"a":"1"}}`),
        { query },
      ),
      put(
        name("replaced"),
        map("kube-root-ca.crt"),
        { ...configMap("kube-root-ca.crt"), spec: {} },
        {
          query: { ...query, dryRun: "All" },
        },
      ),
      post(
        name("deployment"),
        deployments,
        {
          ...pausedDeployment(`d-${suffix}`),
          spec: { ...(pausedDeployment("d").spec as { readonly [key: string]: string }), replicaz: 3 },
        },
        { query: { ...query, dryRun: "All" } },
      ),
    ]
  }),
}

export const fieldValidation: readonly Script[] = [validation]
