/** Unknown and duplicate fields under each `fieldValidation`. */

import { inNamespace, jsonPatch, mergePatch, post, put, type Script } from "../script.ts"
import { configMap, pausedDeployment, unmanagedJob, unscheduledPod } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const pods = inNamespace("v1", "pods")
const deployments = inNamespace("apps/v1", "deployments")
const jobs = inNamespace("batch/v1", "jobs")
const job = `${jobs}/j`
const services = inNamespace("v1", "services")
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

const strictly = { query: { fieldValidation: "Strict" } }
const container = {
  image: "x",
  name: "c",
  env: [{ valueFrom: { fieldRef: { fieldPath: "metadata.name" } }, name: "N" }],
}
const template = { spec: { restartPolicy: "Never", containers: [container] }, metadata: { labels: { z: "1", a: "1" } } }

/** The response to a refused patch has the whole document, in Go's order. */
const quoting: Script = {
  name: "quoted-documents",
  area: "schema",
  steps: [
    post("a Job", jobs, unmanagedJob("j", { template })),
    mergePatch("unknown at the top of a merge patch", job, { nope: 1 }, strictly),
    mergePatch("unknown in the spec", job, { spec: { nope: { z: 1, a: [{ z: 1, a: 2 }] } } }, strictly),
    mergePatch(
      "unknown in a new container",
      job,
      { spec: { template: { spec: { containers: [{ nope: 1, name: "c", image: "y" }] } } } },
      strictly,
    ),
    jsonPatch(
      "unknown in the old container of a JSON patch",
      job,
      [{ op: "add", path: "/spec/template/spec/containers/0/nope", value: { z: 1, a: 2 } }],
      strictly,
    ),
    jsonPatch(
      "unknown in a new one",
      job,
      [{ op: "add", path: "/spec/template/spec/containers/0", value: { nope: 1, name: "new", image: "y" } }],
      strictly,
    ),
    post("a Service", services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec: { ports: [{ targetPort: 8080, port: 80 }], selector: { b: "1", a: "1" } },
    }),
    mergePatch("unknown in a Service", `${services}/s`, { spec: { nope: 1 } }, strictly),
  ],
}

export const fieldValidation: readonly Script[] = [validation, quoting]
