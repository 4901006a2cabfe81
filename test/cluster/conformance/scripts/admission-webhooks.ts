/**
 * Admission webhooks. Those of a script concern its own namespace only; `<webhooks>` and `<authority>` are the address and the
 * authority of a server that answers both API servers alike (test/cluster/conformance/webhook-answers.ts).
 */

import { isObject, type Json, type JsonObject } from "../../exact-json.ts"
import {
  apply,
  get,
  inCluster,
  inNamespace,
  jsonPatch,
  mergePatch,
  post,
  put,
  type RequestStep,
  remove,
  type Script,
} from "../script.ts"
import { unscheduledPod } from "./objects.ts"

const group = "admissionregistration.k8s.io/v1"
const mutating = inCluster(group, "mutatingwebhookconfigurations")
const validating = inCluster(group, "validatingwebhookconfigurations")
const configMaps = inNamespace("v1", "configmaps")
const pods = inNamespace("v1", "pods")
const replicationControllers = inNamespace("v1", "replicationcontrollers")
const ownNamespace = { matchLabels: { "kubernetes.io/metadata.name": "<ns>" } }

/** Of all writes of ConfigMaps in the namespace, unless `rest` says something else. */
const webhook = (path: string, rest: JsonObject = {}): JsonObject => ({
  name: `${path}.example.com`,
  clientConfig: { url: `<webhooks>/${path}`, caBundle: "<authority>" },
  rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }],
  namespaceSelector: ownNamespace,
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...rest,
})

const configuration = (name: string, ...webhooks: readonly JsonObject[]): JsonObject => ({
  metadata: { name: `<ns>-${name}` },
  webhooks: [...webhooks],
})

const configMap = (name: string, data: JsonObject = { k: "v" }, labels: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data,
})

const replicationController = (name: string): JsonObject => ({
  metadata: { name },
  spec: {
    replicas: 0,
    selector: { app: name },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "x" }] } },
  },
})

/** The real server takes a moment to notice a configuration. */
const whenNoticed = (body: JsonObject, until: NonNullable<RequestStep["until"]>): RequestStep =>
  post("the configuration is noticed", configMaps, body, { query: { dryRun: "All" }, until })

const isLabelled = (_status: number, body: Json): boolean =>
  JSON.stringify(isObject(body) && body.metadata).includes("seen")
const isDenied = (status: number): boolean => status >= 400

const all = (resources: readonly string[], ...operations: readonly string[]): JsonObject => ({
  rules: [{ apiGroups: ["*"], apiVersions: ["*"], resources: [...resources], operations: [...operations] }],
})

const changing: Script = {
  name: "webhooks-change",
  area: "admission",
  leftovers: [`${mutating}/<ns>-b`, `${mutating}/<ns>-a`],
  steps: [
    post("before there is any", configMaps, configMap("before")),
    post("second configuration", mutating, configuration("b", webhook("order-last"))),
    post(
      "first configuration",
      mutating,
      configuration(
        "a",
        webhook("order-again", { reinvocationPolicy: "IfNeeded" }),
        webhook("order-once"),
        webhook("label"),
        webhook("pod", all(["pods/*"], "CREATE", "UPDATE")),
        webhook("finder", {
          ...all(["configmaps"], "CREATE"),
          objectSelector: { matchLabels: { "select-me": "yes" } },
        }),
      ),
    ),
    whenNoticed(configMap("probe"), isLabelled),
    post("create", configMaps, configMap("a")),
    post("create with a generated name", configMaps, { metadata: { generateName: "made-" } }),
    post("create that an object selector finds", configMaps, configMap("s", {}, { "select-me": "yes" })),
    post("create as a dry run", configMaps, configMap("d"), { query: { dryRun: "All" } }),
    get("nothing came of the dry run", `${configMaps}/d`),
    put("replace", `${configMaps}/a`, configMap("a", { k: "w" })),
    mergePatch("merge patch", `${configMaps}/a`, { data: { m: "1" } }),
    jsonPatch("JSON patch", `${configMaps}/a`, [{ op: "add", path: "/data/j", value: "2" }]),
    mergePatch("patch that changes nothing", `${configMaps}/a`, {}),
    apply("apply", `${configMaps}/a`, "applier", configMap("a", { applied: "yes" })),
    apply("apply of a new object", `${configMaps}/new`, "applier", configMap("new", { applied: "yes" })),
    put("replace with a stale version", `${configMaps}/a`, {
      ...configMap("a"),
      metadata: { name: "a", resourceVersion: "1" },
    }),
    mergePatch("patch of nothing", `${configMaps}/absent`, { data: {} }),
    post("create again", configMaps, configMap("a")),
    post("pod gets a container", pods, unscheduledPod("p")),
    mergePatch("status of the pod", `${pods}/p/status`, { status: { message: "m" } }),
    post("pod that a webhook spoils", pods, unscheduledPod("spoiled")),
    remove("delete", `${configMaps}/new`),
    remove("delete all", configMaps, { query: { labelSelector: "seen" } }),
    get("what is left", configMaps, { query: { labelSelector: "seen" } }),
    remove("forget the first configuration", `${mutating}/<ns>-a`),
  ],
}

/** Rules that name the new version only, for requests of the old one. */
const newAutoscalers: JsonObject = {
  rules: [
    {
      apiGroups: ["autoscaling"],
      apiVersions: ["v2"],
      resources: ["horizontalpodautoscalers"],
      operations: ["CREATE"],
    },
  ],
}

const scaling: Script = {
  name: "webhooks-scale",
  area: "admission",
  controlled: true,
  leftovers: [`${mutating}/<ns>-s`],
  steps: [
    post("replication controller", replicationControllers, replicationController("d")),
    post(
      "configuration",
      mutating,
      configuration(
        "s",
        webhook("scale", all(["*/scale"], "UPDATE")),
        webhook("autoscaler", newAutoscalers),
        webhook("label", all(["configmaps"], "CREATE")),
      ),
    ),
    whenNoticed(configMap("probe"), isLabelled),
    mergePatch("patch", `${replicationControllers}/d/scale`, { spec: { replicas: 0 } }),
    get("scaled", `${replicationControllers}/d/scale`),
    put("replace", `${replicationControllers}/d/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "d" },
      spec: { replicas: 1 },
    }),
    mergePatch("dry run", `${replicationControllers}/d/scale`, { spec: { replicas: 7 } }, { query: { dryRun: "All" } }),
    post("autoscaler of the old version", inNamespace("autoscaling/v1", "horizontalpodautoscalers"), {
      metadata: { name: "h" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "none" },
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 50,
      },
    }),
    get("object afterwards", `${replicationControllers}/d`),
  ],
}

const deny = (how: string): JsonObject => configMap("denied", { deny: how })

const denying: Script = {
  name: "webhooks-deny",
  area: "admission",
  leftovers: [`${validating}/<ns>-v`],
  steps: [
    post("kept object", configMaps, configMap("kept", {}, { keep: "yes" })),
    post("other object", configMaps, configMap("other", {}, { one: "of" })),
    post("one more object", configMaps, configMap("some", { deny: "no" }, { one: "of" })),
    post(
      "configuration",
      validating,
      configuration(
        "v",
        webhook("deny"),
        webhook("warn"),
        webhook("deny-scale", all(["*/scale", "pods/eviction"], "*")),
      ),
    ),
    whenNoticed(deny("plain"), isDenied),
    ...["plain", "message", "reason", "403", "409", "422", "500", "200", "details"].map((how) =>
      post(`denied: ${how}`, configMaps, deny(how)),
    ),
    get("nothing was created", `${configMaps}/denied`),
    post("allowed, with a warning", configMaps, configMap("fine", { warn: "careful" })),
    post("allowed as a dry run", configMaps, configMap("dry", { warn: "dry" }), { query: { dryRun: "All" } }),
    mergePatch("denied patch", `${configMaps}/fine`, { data: { deny: "message" } }),
    get("the patch left nothing", `${configMaps}/fine`),
    apply("denied apply", `${configMaps}/fine`, "applier", configMap("fine", { deny: "403" })),
    post("invalid before it is asked about", configMaps, configMap("fine!", { deny: "message" })),
    post("existing, but denied first", configMaps, { ...deny("message"), metadata: { name: "fine" } }),
    remove("denied deletion", `${configMaps}/kept`),
    remove("denied dry run of a deletion", `${configMaps}/kept`, { query: { dryRun: "All" } }),
    remove("allowed deletion", `${configMaps}/other`),
    remove("deletion of nothing", `${configMaps}/absent`),
    remove("collection with one that is kept", configMaps, { query: { labelSelector: "keep" } }),
    get("it is kept", `${configMaps}/kept`),
    post("replication controller", replicationControllers, replicationController("d")),
    mergePatch("denied scale", `${replicationControllers}/d/scale`, { spec: { replicas: 0 } }),
    post("pod", pods, unscheduledPod("p")),
    post("denied eviction", `${pods}/p/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "p" },
    }),
    get("the pod is there", `${pods}/p`),
    mergePatch("the configuration itself is never asked about", `${validating}/<ns>-v`, {
      metadata: { labels: { a: "b" } },
    }),
  ],
}

/** Webhooks that do not answer as they should, each for the objects with its label. */
const brokenOnes = [
  "wrong-uid",
  "no-response",
  "no-json",
  "not-found",
  "patch-without-type",
  "unknown-patch-type",
  "other-version",
  "broken-patch",
  "misfit-patch",
  "hang",
]

const broken = (path: string, failurePolicy: string): JsonObject =>
  webhook(path, {
    name: `${path}.${failurePolicy.toLowerCase()}.example.com`,
    failurePolicy,
    timeoutSeconds: 1,
    objectSelector: { matchLabels: { [path]: failurePolicy } },
  })

const failing: Script = {
  name: "webhooks-fail",
  area: "admission",
  leftovers: [`${mutating}/<ns>-f`, `${validating}/<ns>-f`],
  steps: [
    post(
      "mutating",
      mutating,
      configuration(
        "f",
        ...brokenOnes.flatMap((path) => [broken(path, "Fail"), broken(path, "Ignore")]),
        webhook("unreachable", {
          clientConfig: { url: "https://127.0.0.1:1/" },
          objectSelector: { matchLabels: { unreachable: "yes" } },
        }),
        webhook("service", {
          clientConfig: { service: { namespace: "<ns>", name: "none" } },
          objectSelector: { matchLabels: { service: "yes" } },
        }),
        webhook("untrusted", {
          clientConfig: { url: "<webhooks>/label" },
          objectSelector: { matchLabels: { untrusted: "yes" } },
        }),
        webhook("label"),
      ),
    ),
    post(
      "validating",
      validating,
      configuration(
        "f",
        webhook("label", { name: "patching.example.com", objectSelector: { matchLabels: { patching: "yes" } } }),
        webhook("hang", {
          failurePolicy: "Ignore",
          timeoutSeconds: 1,
          objectSelector: { matchLabels: { slow: "yes" } },
        }),
      ),
    ),
    whenNoticed(configMap("probe"), isLabelled),
    whenNoticed(configMap("probe-2", {}, { patching: "yes" }), isDenied),
    ...brokenOnes.flatMap((path) =>
      ["Fail", "Ignore"].map((policy) =>
        post(`${path}, ${policy}`, configMaps, configMap(`${path}-${policy.toLowerCase()}`, {}, { [path]: policy })),
      ),
    ),
    ...["unreachable", "service", "untrusted", "patching"].map((label) =>
      post(label, configMaps, configMap(label, {}, { [label]: "yes" })),
    ),
    post("slow, but ignored", configMaps, configMap("slow", {}, { slow: "yes" })),
    get("all that was created", configMaps, { query: { labelSelector: "seen" } }),
  ].map((step, index) =>
    step.name === "the configuration is noticed" ? { ...step, name: `${step.name} ${index}` } : step,
  ),
}

const refusedWebhooks: Readonly<Record<string, JsonObject>> = {
  "nothing in it": { name: "" },
  "everything wrong": {
    name: "a",
    sideEffects: "Some",
    admissionReviewVersions: ["v2"],
    clientConfig: { url: "http://x/y?z=1#f" },
    timeoutSeconds: 31,
    failurePolicy: "X",
    matchPolicy: "X",
    rules: [{}],
  },
  "wrong rules": webhook("rules", {
    timeoutSeconds: 0,
    rules: [
      {
        operations: ["*", "CREATE"],
        apiGroups: ["*", "a"],
        apiVersions: ["*", "a"],
        resources: ["*", "pods", "pods/*", "pods/status", "*/*"],
        scope: "X",
      },
      { operations: ["FOO", ""], apiGroups: [""], apiVersions: [""], resources: ["", "*/status", "pods/status"] },
    ],
  }),
  "wrong selectors": webhook("selectors", {
    namespaceSelector: { matchLabels: { _: "-" } },
    objectSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
  }),
  "url and service": webhook("both", { clientConfig: { url: "https://x/", service: { namespace: "n", name: "m" } } }),
  "url without a host": webhook("host", { clientConfig: { url: "https://" } }),
  "url that is none": webhook("url", { clientConfig: { url: "x" } }),
  "service without a name": webhook("unnamed", { clientConfig: { service: { namespace: "", name: "", port: 0 } } }),
  "no version": webhook("versions", { admissionReviewVersions: [] }),
}

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }

const configuring: Script = {
  name: "webhook-configurations",
  area: "rules",
  leftovers: [`${mutating}/<ns>-x`, `${validating}/<ns>-x`],
  steps: [
    ...[mutating, validating].flatMap((collection, index) => [
      ...Object.entries(refusedWebhooks).map(([name, one]) =>
        post(`${index} ${name}`, collection, configuration("bad", one as JsonObject)),
      ),
      post(`${index} two of one name`, collection, configuration("bad", webhook("same"), webhook("same"))),
      post(`${index} none`, collection, configuration("bad"), { query: { dryRun: "All" } }),
      post(`${index} with defaults`, collection, configuration("x", webhook("ok"))),
      put(
        `${index} replaced without its version`,
        `${collection}/<ns>-x`,
        configuration("x", webhook("ok", { failurePolicy: "Ignore" })),
      ),
      mergePatch(`${index} patched`, `${collection}/<ns>-x`, {
        webhooks: [webhook("ok", { failurePolicy: "Ignore" })],
      }),
      mergePatch(`${index} patched in vain`, `${collection}/<ns>-x`, {
        webhooks: [webhook("ok", { sideEffects: "Some" })],
      }),
      mergePatch(`${index} labelled`, `${collection}/<ns>-x`, { metadata: { labels: { a: "b" } } }),
      get(`${index} table`, `${collection}/<ns>-x`, table),
      remove(`${index} deleted`, `${collection}/<ns>-x`),
    ]),
    post(
      "a policy of reinvocation is for mutating ones",
      mutating,
      configuration("bad", webhook("r", { reinvocationPolicy: "X" })),
    ),
    post(
      "a Service",
      mutating,
      configuration("bad", webhook("s", { clientConfig: { service: { namespace: "n", name: "m" } } })),
      {
        query: { dryRun: "All" },
      },
    ),
  ],
}

const conditions = (...expressions: readonly string[]): JsonObject => ({
  matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
})

/** The webhook at `/label` is asked only about objects that its conditions are true for. */
const conditional: Script = {
  name: "webhooks-if",
  area: "admission",
  leftovers: [`${mutating}/<ns>-if`, `${validating}/<ns>-if`],
  steps: [
    post(
      "a condition that does not compile",
      mutating,
      configuration("if", webhook("label", conditions("object.", "1", "request.nope == 1", ""))),
    ),
    post("a doubled name", mutating, {
      ...configuration(
        "if",
        webhook("label", {
          matchConditions: [
            { name: "a", expression: "true" },
            { name: "a", expression: "true" },
            { name: "a b", expression: "true" },
            { expression: "true" },
          ],
        }),
      ),
    }),
    post(
      "the configuration",
      mutating,
      configuration(
        "if",
        webhook("label", {
          ...conditions(
            "object == null || object.data.k == 'v'",
            "request.operation in ['CREATE', 'UPDATE'] && request.resource.resource == 'configmaps'",
            "request.operation == 'CREATE' ? oldObject == null : oldObject.metadata.name == request.name",
          ),
        }),
      ),
    ),
    whenNoticed(configMap("probe"), isLabelled),
    post("met", configMaps, configMap("a")),
    post("not met", configMaps, configMap("b", { k: "w" })),
    post("fails", configMaps, configMap("c", { other: "w" })),
    mergePatch("met by an update", `${configMaps}/a`, { data: { m: "1" } }),
    mergePatch("not met by an update", `${configMaps}/a`, { data: { k: "w" } }),
    remove("deleted", `${configMaps}/a`),
  ],
}

export const admissionWebhooks: readonly Script[] = [changing, scaling, denying, failing, configuring, conditional]
