/** Bodies that are refused, and their responses. */

import { get, inNamespace, post, type Script } from "../script.ts"
import { configMap, pausedDeployment, unscheduledPod } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const pods = inNamespace("v1", "pods")
const deployments = inNamespace("apps/v1", "deployments")
const yaml = { headers: { "content-type": "application/yaml" } }
const raw = (text: string): { raw: string } => ({ raw: text })
const bodies: Script = {
  name: "bad-bodies",
  area: "bad input",
  leftovers: ["/api/v1/namespaces/<ns>-x"],
  steps: [
    post("cut off", maps, raw(`{"apiVersion":`)),
    post("empty", maps, raw("")),
    post("null", maps, raw("null")),
    post("an array", maps, raw("[]")),
    post("a string", maps, raw(`"text"`)),
    post("a number", maps, raw("7")),
    post("empty object", maps, raw("{}")),
    post("text after the end", maps, raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t"}} x`)),
    post("no name", maps, raw(`{"apiVersion":"v1","kind":"ConfigMap"}`)),
    post("wrong kind", maps, { ...configMap("a"), kind: "Secret" }),
    post("unknown kind", maps, { ...configMap("a"), kind: "Nope" }),
    post("wrong group", maps, { ...configMap("a"), apiVersion: "apps/v1" }),
    post("unknown version", maps, { ...configMap("a"), apiVersion: "v9" }),
    post("malformed apiVersion", maps, { ...configMap("a"), apiVersion: "a/b/c" }),
    post("apiVersion that is no text", maps, { ...configMap("a"), apiVersion: 1 }),
    post("kind that is no text", maps, { ...configMap("a"), kind: {} }),
    post("metadata that is no object", maps, { ...configMap("a"), metadata: "text" }),
    post("labels that are no object", maps, { ...configMap("a"), metadata: { name: "a", labels: ["x"] } }),
    post("a label that is a number", maps, { ...configMap("a"), metadata: { name: "a", labels: { x: 1 } } }),
    post("data that is a number", maps, configMap("a", { data: { x: 1 } })),
    post("data that is an object", maps, configMap("a", { data: { x: { y: "z" } } })),
    post("binary data that is no base64", maps, configMap("a", { binaryData: { x: "%%" } })),
    post("replicas that are text", deployments, pausedDeployment("a", { replicas: "3" })),
    post("replicas that are a fraction", deployments, pausedDeployment("a", { replicas: 1.5 })),
    post(
      "replicas that are too many",
      deployments,
      raw(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":99999999999}}`),
    ),
    post("a time that is none", maps, { ...configMap("a"), metadata: { name: "a", creationTimestamp: "yesterday" } }),
    post(
      "a quantity that is none",
      pods,
      unscheduledPod("a", {
        containers: [{ name: "c", image: "x", resources: { requests: { cpu: "lots" } } }],
      }),
    ),
    post("containers that are no list", pods, unscheduledPod("a", { containers: { name: "c" } })),
    post("yaml that is none", maps, raw("a: b: c"), yaml),
    post("yaml with tabs", maps, raw("a:\n\tb: c"), yaml),
    post("yaml list", maps, raw("- a\n- b"), yaml),
    post(
      "yaml of two documents",
      maps,
      raw("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n---\nkind: x\n"),
      yaml,
    ),
    post(
      "yaml with an anchor",
      maps,
      raw("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: anchored}\ndata:\n  a: &x y\n  b: *x\n"),
      yaml,
    ),
    post(
      "yaml with odd scalars",
      maps,
      raw("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndata: {a: yes}\n"),
      yaml,
    ),
    post(
      "prototype keys",
      maps,
      raw(
        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto","labels":{"__proto__":"x"}},"data":{"__proto__":"p","constructor":"c","toString":"t"}}`,
      ),
    ),
    get("prototype keys come back", map("proto")),
    post(
      "prototype object",
      maps,
      raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto2"},"__proto__":{"data":{"x":"y"}}}`),
    ),
    post("wrong namespace", maps, { ...configMap("a"), metadata: { name: "a", namespace: "default" } }),
    post("the right namespace", maps, { ...configMap("right"), metadata: { name: "right", namespace: "<ns>" } }),
    post(
      "members in other case",
      maps,
      raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"Name":"a"},"Data":{"x":"y"}}`),
    ),
    post("a namespace with a namespace", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "<ns>-x", namespace: "<ns>" },
    }),
    post("too deep", maps, raw(`${`{"a":`.repeat(11_000)}1${"}".repeat(11_000)}`)),
  ],
}
const characters: Script = {
  name: "characters",
  area: "bad input",
  steps: [
    post("not UTF-8", maps, { raw: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]) }),
    post("unknown fields beyond ASCII", maps, configMap("a", { ü: 1, 名前: 2, "🙂": 3 })),
    post("unknown fields beyond ASCII, strictly", maps, configMap("b", { 名前: 2 }), {
      query: { fieldValidation: "Strict" },
    }),
    post("control characters in a field's name", maps, configMap("c", { "a\nb": 1 })),
    post("quotes in a field's name", maps, configMap("d", { 'a"b\\c': 1 })),
    get("the server is well", "/readyz"),
  ],
}

export const badBodies: readonly Script[] = [bodies, characters]
