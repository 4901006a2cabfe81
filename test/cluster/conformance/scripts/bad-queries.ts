/** Selectors, tokens, versions and media types that are refused. */

import { ask, get, inNamespace, post, put, remove, type Script } from "../script.ts"
import { configMap } from "./objects.ts"

const maps = inNamespace("v1", "configmaps")
const map = (name: string): string => `${maps}/${name}`
const pods = inNamespace("v1", "pods")
const raw = (text: string): { raw: string } => ({ raw: text })
const mediaTypes: Script = {
  name: "media-types",
  area: "bad input",
  steps: [
    post("a body of text", maps, configMap("a"), { headers: { "content-type": "text/plain" } }),
    post("a body of nothing known", maps, configMap("a"), { headers: { "content-type": "application/nope" } }),
    post("malformed media type", maps, configMap("a"), { headers: { "content-type": "///" } }),
    post("charset", maps, configMap("a"), { headers: { "content-type": "application/json; charset=utf-8" } }),
    post("no media type", maps, configMap("b"), { headers: { "content-type": "" } }),
    post("protobuf that is none", maps, raw("text"), {
      headers: { "content-type": "application/vnd.kubernetes.protobuf" },
    }),
    put("a body of text replaces nothing", map("a"), configMap("a"), { headers: { "content-type": "text/plain" } }),
    remove("options of text", map("b"), { body: raw("{}"), headers: { "content-type": "text/plain" } }),
    get("wants text", map("a"), { headers: { accept: "text/plain" } }),
    get("wants xml", map("a"), { headers: { accept: "application/xml" } }),
    get("wants xml or anything", map("a"), { headers: { accept: "application/xml, */*;q=0.1" } }),
    get("wants any application", map("a"), { headers: { accept: "application/*" } }),
    get("wants a page", map("a"), { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } }),
    get("wants nothing known as", map("a"), { headers: { accept: "application/json;as=Nope;g=meta.k8s.io;v=v1" } }),
    get("wants a table of another version", maps, {
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v9" },
    }),
    get("wants a table or JSON", map("a"), {
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v9,application/json" },
    }),
    get("list wants text", maps, { headers: { accept: "text/plain" } }),
    get("watch wants yaml", maps, {
      headers: { accept: "application/yaml" },
      query: { watch: "1", timeoutSeconds: "1" },
    }),
    get("discovery wants text", "/api/v1", { headers: { accept: "text/plain" } }),
    post("create wants a table", maps, configMap("t"), {
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
    }),
    post("create wants metadata", maps, configMap("m"), {
      headers: { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
    }),
    post("create wants text", maps, configMap("x"), { headers: { accept: "text/plain" } }),
    get("was it created", map("x")),
  ],
}
const selectors: Script = {
  name: "bad-queries",
  area: "bad input",
  steps: [
    ...[
      "a b",
      "a=b=c",
      "a in b",
      "a in (b",
      "!",
      "a,,b",
      "a>x",
      "in",
      "(a)",
      "a in ()",
      "-a=b",
      "a=-b",
      "a notin (b,c",
    ].map((labelSelector) => get(`labels ${labelSelector}`, maps, { query: { labelSelector } })),
    ...[
      "a",
      "metadata.name",
      "metadata.name=a=b",
      "metadata.name in (a)",
      "data.x=y",
      "spec.nope=1",
      "metadata.name=a,b",
    ].map((fieldSelector) => get(`fields ${fieldSelector}`, maps, { query: { fieldSelector } })),
    get("a pod's field that is none", pods, { query: { fieldSelector: "spec.nope=1" } }),
    get("a watch's bad selector", maps, { query: { watch: "1", timeoutSeconds: "1", labelSelector: "a b" } }),
    get("a watch's bad field selector", maps, {
      query: { watch: "1", timeoutSeconds: "1", fieldSelector: "data.x=y" },
    }),
    ...[
      "x",
      "%%%",
      "e30",
      "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
      "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8ifQ",
    ].map((token) => get(`continue ${token}`, maps, { query: { limit: "1", continue: token } })),
    get("limit that is no number", maps, { query: { limit: "x" } }),
    get("negative limit", maps, { query: { limit: "-1" } }),
    get("version that is no number", maps, { query: { resourceVersion: "x" } }),
    get("negative version", maps, { query: { resourceVersion: "-1" } }),
    get("match without a version", maps, { query: { resourceVersionMatch: "Exact" } }),
    get("match nobody knows", maps, { query: { resourceVersion: "1", resourceVersionMatch: "Nope" } }),
    get("exactly 0", maps, { query: { resourceVersion: "0", resourceVersionMatch: "Exact" } }),
    get("a version from the future, exactly", maps, {
      query: { resourceVersion: "999999999", resourceVersionMatch: "Exact" },
    }),
    get("continue with a version", maps, { query: { continue: "x", resourceVersion: "5" } }),
    get("continue with a match", maps, { query: { continue: "x", resourceVersionMatch: "NotOlderThan" } }),
    get("timeout that is no number", maps, { query: { timeoutSeconds: "x" } }),
    get("watch that is no truth value", maps, {
      query: { watch: "perhaps", timeoutSeconds: "1", fieldSelector: "metadata.name=nobody" },
    }),
    get("initial events of a list", maps, { query: { sendInitialEvents: "true" } }),
    get("initial events without a match", maps, {
      query: { watch: "1", timeoutSeconds: "1", sendInitialEvents: "true" },
    }),
    get("initial events matched exactly", maps, {
      query: {
        watch: "1",
        timeoutSeconds: "1",
        sendInitialEvents: "true",
        resourceVersionMatch: "Exact",
        resourceVersion: "1",
      },
    }),
    get("initial events without bookmarks", maps, {
      query: { watch: "1", timeoutSeconds: "1", sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" },
    }),
    get("a watch with a match", maps, {
      query: { watch: "1", timeoutSeconds: "1", resourceVersionMatch: "NotOlderThan" },
    }),
    get("a watch from no number", maps, { query: { watch: "1", timeoutSeconds: "1", resourceVersion: "x" } }),
    get("a watch that continues", maps, { query: { watch: "1", timeoutSeconds: "1", continue: "x" } }),
    get("an unknown parameter", maps, { query: { nope: "1", fieldSelector: "metadata.name=nobody" } }),
    get("an object with a version that is no number", map("kube-root-ca.crt"), { query: { resourceVersion: "x" } }),
    post("fieldValidation nobody knows", maps, configMap("v"), { query: { fieldValidation: "Nope" } }),
    ask("PATCH", "force without apply", map("kube-root-ca.crt"), {
      body: {},
      query: { force: "true" },
      headers: { "content-type": "application/json-patch+json" },
    }),
  ],
}

export const badQueries: readonly Script[] = [mediaTypes, selectors]
