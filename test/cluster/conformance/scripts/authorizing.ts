/** Who may do what, as whom, and what it says when they may not. Users are impersonated; their names begin with the namespace's. */

import type { Json, JsonObject } from "../../exact-json.ts"
import { apply, ask, get, inCluster, inNamespace, post, put, type RequestStep, remove, type Script } from "../script.ts"

const rbac = "rbac.authorization.k8s.io/v1"
const group = "rbac.authorization.k8s.io"
const bob = "<ns>-bob"
const as = (user: string, more: Readonly<Record<string, string>> = {}) => ({
  headers: { "impersonate-user": user, ...more },
})

type Rule = Readonly<Record<string, readonly string[]>>
const rule = (apiGroup: string, resources: string, verbs: string, ...resourceNames: readonly string[]): Rule => ({
  apiGroups: [apiGroup],
  resources: resources.split(","),
  verbs: verbs.split(","),
  ...(resourceNames.length > 0 && { resourceNames }),
})

const role = (name: string, rules: readonly Rule[], more: Readonly<Record<string, Json>> = {}): JsonObject => ({
  apiVersion: rbac,
  kind: "ClusterRole",
  metadata: { name, ...more },
  rules: rules as unknown as Json,
})

const toRole = (kind: string, name: string, roleKind: string, roleName: string, subject: Json): JsonObject => ({
  apiVersion: rbac,
  kind,
  metadata: { name },
  roleRef: { apiGroup: group, kind: roleKind, name: roleName },
  subjects: [subject],
})

const user = (name: string): Json => ({ kind: "User", apiGroup: group, name })

/** A ClusterRole `<ns>-NAME`, bound to a user in the script's namespace or, as `cluster`, everywhere. */
const granted = (name: string, to: Json, place: "namespace" | "cluster", ...rules: readonly Rule[]): RequestStep[] => {
  const named = `<ns>-${name}`
  const binding =
    place === "cluster"
      ? post(
          `${name}: bound`,
          inCluster(rbac, "clusterrolebindings"),
          toRole("ClusterRoleBinding", named, "ClusterRole", named, to),
        )
      : post(
          `${name}: bound`,
          inNamespace(rbac, "rolebindings"),
          toRole("RoleBinding", named, "ClusterRole", named, to),
        )
  return [post(`${name}: role`, inCluster(rbac, "clusterroles"), role(named, rules)), binding]
}

const leftovers = (...names: readonly string[]): readonly string[] =>
  names.flatMap((name) =>
    ["clusterroles", "clusterrolebindings"].map((plural) => inCluster(rbac, plural, `<ns>-${name}`)),
  )

/** The real server learns of roles and bindings a moment after it has stored them. */
const soon = (wanted: number) => ({ until: (status: number) => status === wanted })

const refusals: Script = {
  name: "refusals",
  area: "access",
  steps: [
    get("wrong token", "/api/v1/pods", { headers: { authorization: "Bearer wrong" } }),
    get("anonymous", "/api/v1/pods", { headers: { authorization: "Basic YTpi" } }),
    get("anonymous in discovery", "/apis", { headers: { authorization: "Basic YTpi" } }),
    get("anonymous asks for health", "/readyz", { headers: { authorization: "Basic YTpi" } }),
    ...(
      [
        ["GET", inNamespace("v1", "pods")],
        ["GET", "/api/v1/pods"],
        ["GET", "/api/v1/pods?watch=1"],
        ["GET", "/api/v1/pods?watch=false"],
        ["GET", "/api/v1/watch/pods"],
        ["GET", "/api/v1/watch/namespaces/<ns>/pods/p"],
        ["GET", inNamespace("v1", "pods", "p")],
        ["GET", inNamespace("v1", "pods", "p", "log")],
        ["GET", "/api/v1/nodes/n/proxy/a/b"],
        ["GET", "/api/v1/namespaces/<ns>"],
        ["GET", "/api/v1/namespaces/<ns>/status"],
        ["GET", `${inNamespace("v1", "secrets")}?fieldSelector=metadata.name%3Da&watch=1`],
        ["GET", `${inNamespace("v1", "secrets")}?fieldSelector=metadata.name!%3Da`],
        ["GET", `${inNamespace("v1", "secrets")}?fieldSelector=type%3Dx,metadata.name%3D%3Da`],
        ["POST", inNamespace("apps/v1", "deployments")],
        ["PUT", inNamespace("apps/v1", "deployments", "d", "scale")],
        ["PATCH", inNamespace("apps/v1", "deployments", "d")],
        ["DELETE", inNamespace("apps/v1", "deployments", "d")],
        ["DELETE", inNamespace("apps/v1", "deployments")],
        ["OPTIONS", "/api/v1/pods"],
        ["GET", "/apis/nope.example.com/v1/things/t"],
        ["GET", "/metrics"],
        ["POST", "/api"],
        ["GET", "/a%3Cb%26c"],
      ] as const
    ).map(([method, path]) => ask(method, `${method} ${path}`, path, as(bob))),
    get("discovery is everybody's", "/api", as(bob)),
  ],
}

const bindings: Script = {
  name: "bindings",
  area: "access",
  leftovers: leftovers("reader", "namer", "leaser", "waster"),
  steps: [
    post("a secret", inNamespace("v1", "secrets"), { metadata: { name: "a" } }),
    ...granted("reader", user(bob), "namespace", rule("", "configmaps", "get,list")),
    get("may list", inNamespace("v1", "configmaps"), { ...as(bob), ...soon(200) }),
    get("may not list elsewhere", "/api/v1/namespaces/kube-system/configmaps", as(bob)),
    get("may not list everywhere", "/api/v1/configmaps", as(bob)),
    get("may not watch", inNamespace("v1", "configmaps"), { ...as(bob), query: { watch: "1" } }),
    ...granted(
      "namer",
      { kind: "Group", apiGroup: group, name: "<ns>-g" },
      "cluster",
      rule("", "secrets", "get,list", "a"),
    ),
    get("may get the one", inNamespace("v1", "secrets", "a"), {
      ...as(bob, { "impersonate-group": "<ns>-g" }),
      ...soon(200),
    }),
    get("may not get another", inNamespace("v1", "secrets", "b"), as(bob, { "impersonate-group": "<ns>-g" })),
    get("may list the one", inNamespace("v1", "secrets"), {
      ...as(bob, { "impersonate-group": "<ns>-g" }),
      query: { fieldSelector: "metadata.name=a" },
    }),
    get("may not list all", inNamespace("v1", "secrets"), as(bob, { "impersonate-group": "<ns>-g" })),
    ...granted("leaser", user("<ns>-eve"), "cluster", rule("coordination.k8s.io", "leases", "update,patch")),
    put(
      "creation by an update",
      inNamespace("coordination.k8s.io/v1", "leases", "l"),
      { metadata: { name: "l" }, spec: {} },
      {
        ...as("<ns>-eve"),
        headers: { "impersonate-user": "<ns>-eve" },
        until: (_status, body) => JSON.stringify(body).includes("cannot create"),
      },
    ),
    apply(
      "creation by an apply",
      inNamespace("coordination.k8s.io/v1", "leases", "l"),
      "m",
      { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: {} },
      as("<ns>-eve"),
    ),
    post(
      "a role that is missing",
      inCluster(rbac, "clusterrolebindings"),
      toRole("ClusterRoleBinding", "<ns>-waster", "ClusterRole", "<ns>-gone", user("<ns>-carl")),
    ),
    get("is told of", "/api/v1/nodes", {
      ...as("<ns>-carl"),
      until: (_status, body) => JSON.stringify(body).includes("RBAC"),
    }),
  ],
}

const writing = rule(group, "roles,rolebindings,clusterroles,clusterrolebindings", "create,update,patch,get")
const roles = inNamespace(rbac, "roles")
const roleBindings = inNamespace(rbac, "rolebindings")
const own = (name: string, ...rules: readonly Rule[]): JsonObject => ({
  metadata: { name },
  rules: rules as unknown as Json,
})
const secrets = rule("", "secrets", "get,list")
const pods = rule("", "pods", "get")

const escalation: Script = {
  name: "escalation",
  area: "access",
  leftovers: [...leftovers("writer", "binder"), inCluster(rbac, "clusterroles", "<ns>-c")],
  steps: [
    ...granted("writer", user(bob), "cluster", writing, pods),
    post("own rights", roles, own("r", pods), { ...as(bob), ...soon(201) }),
    post(
      "more rights",
      roles,
      own("s", pods, secrets, rule("apps", "pods,deployments", "get,list", "a", "b")),
      as(bob),
    ),
    put("more rights by an update", `${roles}/r`, own("r", secrets), as(bob)),
    post(
      "more paths",
      inCluster(rbac, "clusterroles"),
      { metadata: { name: "<ns>-c" }, rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] },
      as(bob),
    ),
    post(
      "aggregation",
      inCluster(rbac, "clusterroles"),
      { metadata: { name: "<ns>-c" }, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } },
      as(bob),
    ),
    post("binding of a missing role", roleBindings, toRole("RoleBinding", "b", "Role", "nope", user(bob)), as(bob)),
    post(
      "binding of own rights",
      roleBindings,
      toRole("RoleBinding", "b", "ClusterRole", "system:basic-user", user(bob)),
      as(bob),
    ),
    post(
      "binding of more rights",
      roleBindings,
      toRole("RoleBinding", "v", "ClusterRole", "system:aggregate-to-admin", user(bob)),
      as(bob),
    ),
    ...granted(
      "binder",
      user(bob),
      "namespace",
      rule(group, "clusterroles", "bind", "view"),
      rule(group, "roles", "escalate"),
    ),
    post("binding that is allowed", roleBindings, toRole("RoleBinding", "v", "ClusterRole", "view", user(bob)), {
      ...as(bob),
      ...soon(201),
    }),
    post("escalation that is allowed", roles, own("e", secrets), as(bob)),
    put(
      "finalizers",
      `${roles}/e`,
      { metadata: { name: "e", labels: { a: "b" } }, rules: secrets as unknown as Json },
      as("<ns>-nobody"),
    ),
  ],
}

const who = inCluster("authentication.k8s.io/v1", "selfsubjectreviews")
const impersonation: Script = {
  name: "impersonation",
  area: "access",
  leftovers: leftovers("actor"),
  steps: [
    post("a user", who, {}, as(bob)),
    post(
      "with everything",
      who,
      {},
      as(bob, { "impersonate-group": "g", "impersonate-uid": "u", "impersonate-extra-a%2fb": "v" }),
    ),
    post("an account", who, {}, as("system:serviceaccount:<ns>:default")),
    post("an account with a group", who, {}, as("system:serviceaccount:<ns>:default", { "impersonate-group": "g" })),
    post("no account", who, {}, as("system:serviceaccount:<ns>")),
    post("anonymous", who, {}, as("system:anonymous")),
    get("a group alone", "/api/v1/pods", { headers: { "impersonate-group": "g" } }),
    post("an account of the namespace", inNamespace("v1", "serviceaccounts"), { metadata: { name: "actor" } }),
    post(
      "its token",
      inNamespace("v1", "serviceaccounts", "actor", "token"),
      {},
      { capture: { token: "/status/token" } },
    ),
    ...granted(
      "actor",
      { kind: "ServiceAccount", name: "actor", namespace: "<ns>" },
      "cluster",
      rule("", "users", "impersonate", bob),
      rule("authentication.k8s.io", "userextras/scopes", "impersonate", "x"),
    ),
    ...(
      [
        ["allowed", { "impersonate-user": bob }],
        ["allowed extra", { "impersonate-user": bob, "impersonate-extra-scopes": "x" }],
        ["another user", { "impersonate-user": "eve" }],
        ["another group", { "impersonate-user": bob, "impersonate-group": "g" }],
        ["another extra", { "impersonate-user": bob, "impersonate-extra-scopes": "y" }],
        ["a UID", { "impersonate-user": bob, "impersonate-uid": "u" }],
        ["another account", { "impersonate-user": "system:serviceaccount:<ns>:default" }],
      ] as const
    ).map(([name, headers], index) =>
      post(name, who, {}, { headers: { ...headers, authorization: "Bearer <token>" }, ...(index === 0 && soon(201)) }),
    ),
  ],
}

const token = inNamespace("v1", "serviceaccounts", "sa", "token")
const reviewed = (name: string, audiences: readonly string[] = []) =>
  post(name, inCluster("authentication.k8s.io/v1", "tokenreviews"), { spec: { token: "<token>", audiences } })
const bound = (kind: string, name: string, more: Readonly<Record<string, Json>> = {}) => ({
  spec: { boundObjectRef: { apiVersion: "v1", kind, name, ...more } },
})

const accountTokens: Script = {
  name: "account-tokens",
  area: "access",
  steps: [
    post("account", inNamespace("v1", "serviceaccounts"), { metadata: { name: "sa" } }),
    post("other name", token, { metadata: { name: "x" } }),
    post("other namespace", token, { metadata: { namespace: "x" } }),
    post("other UID", token, { metadata: { uid: "x" } }),
    post("short", token, { spec: { expirationSeconds: 5 } }),
    post("long", token, { spec: { expirationSeconds: 4_294_967_297 } }),
    post("of nobody", inNamespace("v1", "serviceaccounts", "nobody", "token"), {}),
    post("bound to a missing pod", token, bound("Pod", "p")),
    post("bound to a kind that does not bind", token, bound("ConfigMap", "c")),
    post("secret", inNamespace("v1", "secrets"), { metadata: { name: "s" } }),
    post("bound to another secret", token, bound("Secret", "s", { uid: "x" })),
    post("bound", token, bound("Secret", "s"), { capture: { token: "/status/token" } }),
    post("whose", who, {}, { headers: { authorization: "Bearer <token>" } }),
    reviewed("reviewed"),
    reviewed("for others", ["x", "y"]),
    reviewed("for others and the server", ["x", "https://kubernetes.default.svc"]),
    get("no rights", "/api/v1/pods", { headers: { authorization: "Bearer <token>" } }),
    post("for others only", token, { spec: { audiences: ["x"] } }, { capture: { token: "/status/token" } }),
    get("not for the server", "/api", { headers: { authorization: "Bearer <token>" } }),
    post("unbound", token, {}, { capture: { token: "/status/token" } }),
    remove("account is deleted", inNamespace("v1", "serviceaccounts", "sa")),
    post(
      "reviewed afterwards",
      inCluster("authentication.k8s.io/v1", "tokenreviews"),
      { spec: { token: "<token>" } },
      {
        until: (_status, body) => JSON.stringify(body).includes('"error"'),
      },
    ),
  ],
}

const review = (name: string, spec: Json, given: Parameters<typeof post>[3] = {}) =>
  post(name, inCluster("authorization.k8s.io/v1", "subjectaccessreviews"), { spec }, given)
const getPods = { verb: "get", resource: "pods", namespace: "<ns>" }

const accessReviews: Script = {
  name: "access-reviews",
  area: "access",
  leftovers: leftovers("seer"),
  steps: [
    ...granted("seer", user(bob), "namespace", pods),
    review(
      "allowed",
      { user: bob, resourceAttributes: getPods },
      { until: (_status, body) => JSON.stringify(body).includes("RBAC") },
    ),
    review("another verb", { user: bob, resourceAttributes: { ...getPods, verb: "list" } }),
    review("everywhere", { user: bob, resourceAttributes: { verb: "get", resource: "pods" } }),
    review("subresource", { user: bob, resourceAttributes: { ...getPods, subresource: "log" } }),
    review("a master", { groups: ["system:masters"], resourceAttributes: getPods }),
    review("a path", {
      user: "x",
      groups: ["system:authenticated"],
      nonResourceAttributes: { verb: "get", path: "/api/v1" },
    }),
    review("another path", {
      user: "x",
      groups: ["system:authenticated"],
      nonResourceAttributes: { verb: "get", path: "/metrics" },
    }),
    review("an unreadable selector", {
      user: "x",
      resourceAttributes: { ...getPods, labelSelector: { rawSelector: "a in ((" } },
    }),
    post("local", inNamespace("authorization.k8s.io/v1", "localsubjectaccessreviews"), {
      spec: { user: bob, resourceAttributes: getPods },
    }),
    post(
      "self",
      inCluster("authorization.k8s.io/v1", "selfsubjectaccessreviews"),
      { spec: { resourceAttributes: getPods } },
      as(bob),
    ),
    post(
      "others' by a user",
      inCluster("authorization.k8s.io/v1", "subjectaccessreviews"),
      { spec: { user: "x", resourceAttributes: getPods } },
      as(bob),
    ),
  ],
}

const bootstrapped = { query: { labelSelector: "kubernetes.io/bootstrapping=rbac-defaults" } }
const defaults: Script = {
  name: "default-policy",
  area: "access",
  leftovers: [inCluster(rbac, "clusterroles", "<ns>-part"), inCluster(rbac, "clusterroles", "<ns>-whole")],
  steps: [
    get("cluster roles", inCluster(rbac, "clusterroles"), bootstrapped),
    get("cluster bindings", inCluster(rbac, "clusterrolebindings"), bootstrapped),
    get("roles", inCluster(rbac, "roles"), bootstrapped),
    get("bindings", inCluster(rbac, "rolebindings"), bootstrapped),
    post("part", inCluster(rbac, "clusterroles"), role("<ns>-part", [pods], { labels: { part: "<ns>" } })),
    post("whole", inCluster(rbac, "clusterroles"), {
      metadata: { name: "<ns>-whole" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "<ns>" } }] },
    }),
    get("has its part", inCluster(rbac, "clusterroles", "<ns>-whole"), {
      until: (_status, body) => JSON.stringify(body).includes('"pods"'),
    }),
  ],
}

export const authorizing: readonly Script[] = [
  refusals,
  bindings,
  escalation,
  impersonation,
  accountTokens,
  accessReviews,
  defaults,
]
