/** Mutants of requests to an API server: other methods, paths, parameters, headers and bodies than a client would send, and requests that are cut off. */
import fc from "fast-check"
import { type ByteMutation, byteMutation, mutatedBytes } from "./byte-mutations.ts"
import { Fields, jsonOf, type Tree } from "./tree.ts"
import { jsonRaws, mutatedTree, type TreeMutation, treeMutation, yamlRaws } from "./tree-mutations.ts"
import { blockYamlOf } from "./yaml-block.ts"

/** A request as a client would send it. */
export interface PlainRequest {
  readonly method: string
  /** Path and query, encoded. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent for none. */
  readonly body?: Tree | Buffer
}

/** What is sent. */
export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  /** Bytes of the whole request after which the client hangs up; `undefined`: it waits for the response. */
  readonly cutAt: number | undefined
}

type Edit =
  | {
      readonly type: "method" | "path" | "query" | "header" | "form" | "donor"
      readonly how: number
      readonly what: number
    }
  | { readonly type: "tree"; readonly mutations: ReadonlyArray<TreeMutation> }
  | { readonly type: "bytes"; readonly mutations: ReadonlyArray<ByteMutation> }
  | { readonly type: "cut"; readonly what: number }

/** A recipe; {@link sentRequest} applies it. */
export interface RequestMutant {
  /** Which of the requests is changed. */
  readonly step: number
  readonly edits: ReadonlyArray<Edit>
}

const choice = fc.noBias(fc.nat())

const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("tree" as const),
      mutations: fc.array(treeMutation, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom("path" as const, "query" as const, "query" as const, "header" as const),
      how: choice,
      what: choice,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom("method" as const, "form" as const, "donor" as const),
      how: choice,
      what: choice,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("bytes" as const),
      mutations: fc.array(byteMutation, { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("cut" as const), what: choice }) },
)

export const requestMutant: fc.Arbitrary<RequestMutant> = fc.record({
  step: fc.nat(),
  edits: fc.array(edit, { minLength: 1, maxLength: 3 }),
})

const pick = <Item>(items: ReadonlyArray<Item>, what: number): Item => items[what % items.length] as Item

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "get", "LIST", "QUERY"]

const subresources = ["status", "scale", "eviction", "binding", "token", "log", "exec", "proxy", "finalize", "approval"]

const segments = [
  ...["", ".", "..", "%2e%2e", "%2F", "%00", "%zz", "%FF", "%", "a%20b", "A", "a.b", "~", "*", "-", "é", "<ns>", ";x"],
  ...["x".repeat(300), "x".repeat(9000), "pods", "configmaps", "default", "namespaces", "v1", "v9", "apps", "watch"],
  ...["customresourcedefinitions", "constructor", "__proto__", "toString", ...subresources],
]

const pathEdits: ReadonlyArray<(parts: string[], at: number, what: number) => unknown> = [
  (parts, at) => parts.splice(at, 1),
  (parts, at, what) => parts.splice(at, 1, pick(segments, what)),
  (parts, at, what) => parts.splice(at, 0, pick(segments, what)),
  (parts, at) => parts.splice(at, 0, parts[at] ?? ""),
  (parts) => parts.push(""),
  (parts, _, what) => parts.push(pick(subresources, what)),
  (parts, _, what) => parts.push(pick(subresources, what)),
  (parts) => parts.splice(1 + (parts[1] === "api" ? 2 : 3), 0, "watch"),
  (parts, at) => parts.splice(at),
]

const selectors = [
  ...[
    "",
    "a",
    "!a",
    "a=b",
    "a==b",
    "a!=b",
    "a in (b,c)",
    "a notin ()",
    "a in (",
    ",",
    "a=b,",
    "a>1",
    "a<b",
    "=x",
    "a=b=c",
    "((",
  ],
  ...[
    "metadata.name=a",
    "metadata.namespace!=x",
    "spec.nodeName=",
    "status.phase=Running",
    "nope.x=1",
    "metadata.name=a\\,b",
  ],
  ...[
    "__proto__=1",
    "constructor in (a)",
    "a in (b,b,b)",
    "a=".repeat(500),
    `a in (${"x,".repeat(2000)}x)`,
    "é=ü",
    "a=\u0000",
  ],
]
const numbers = [
  ...["", "0", "1", "-1", "2", "500", "1e3", "0x10", "1.5", "x", " 1", "9007199254740993", "9223372036854775807"],
  ...["9223372036854775808", "-9223372036854775808", "18446744073709551616", "9".repeat(400), "٣", "+1", "00"],
]
const flags = ["", "true", "false", "1", "0", "TRUE", "t", "yes", "2", "All", "None"]
const tokens = [
  ...["", "x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "bnVsbA", "====", "\u0000"],
  ...[
    { v: "meta.k8s.io/v1", rv: -1, start: "a\u0000" },
    { v: "meta.k8s.io/v1", rv: 1e30, start: "/" },
    { v: 1 },
    [],
  ].map((token) => Buffer.from(JSON.stringify(token)).toString("base64url")),
]
const parameters: Readonly<Record<string, ReadonlyArray<string>>> = {
  limit: numbers,
  continue: tokens,
  resourceVersion: numbers,
  resourceVersionMatch: ["", "Exact", "NotOlderThan", "exact", "x"],
  fieldSelector: selectors,
  labelSelector: selectors,
  timeoutSeconds: numbers,
  watch: flags,
  allowWatchBookmarks: flags,
  sendInitialEvents: flags,
  fieldManager: ["", "m", "x".repeat(129), "\u0000", "é", "a b"],
  fieldValidation: ["", "Strict", "Warn", "Ignore", "strict", "x"],
  force: flags,
  dryRun: flags,
  propagationPolicy: ["", "Orphan", "Background", "Foreground", "x"],
  gracePeriodSeconds: numbers,
  orphanDependents: flags,
  pretty: flags,
  includeObject: ["", "None", "Metadata", "Object", "x"],
  timeout: ["", "1s", "-1s", "x", "1h"],
  preconditions: ["x"],
  exact: flags,
}
const parameterNames = Object.keys(parameters)

const contentTypes = [
  ...["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json-patch+json"],
  ...["application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"],
  ...[
    "application/apply-patch+cbor",
    "application/cbor",
    "text/plain",
    "",
    "application/json; charset=latin1",
    "x/y;;q",
  ],
  ...["application/JSON", "multipart/form-data; boundary=x", "application/json, application/yaml"],
]
const accepts = [
  ...["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "*/*", "", "text/html", "a/b;q=x"],
  ...["application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"],
  ...[
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v9;g=meta.k8s.io",
  ],
  ...[
    "application/json;as=Scale;v=v1;g=autoscaling",
    "application/json;stream=watch",
    ";;;",
    "application/cbor",
    "x".repeat(5000),
  ],
]
const headerValues: Readonly<Record<string, ReadonlyArray<string>>> = {
  accept: accepts,
  "content-type": contentTypes,
  "content-encoding": ["gzip", "br", "identity", "x"],
  "accept-encoding": ["gzip", "identity", "*;q=0", "x"],
  "content-length": ["0", "1", "99999999999999999999", "-1", "x"],
  "transfer-encoding": ["chunked", "gzip, chunked", "x"],
  "if-none-match": ["*", '""', "x"],
  "user-agent": ["", "x", "é", "kubectl/v1.34 (linux/amd64)", "x".repeat(5000), "/"],
  authorization: ["", "Bearer x", "Basic eDp5", "Bearer"],
  "impersonate-user": ["", "system:serviceaccount:default:x", "x", "system:anonymous"],
  "impersonate-group": ["system:masters", ""],
  upgrade: ["websocket", "SPDY/3.1", "h2c"],
  connection: ["upgrade", "keep-alive", "x"],
  "sec-websocket-key": ["", "dGhlIHNhbXBsZSBub25jZQ==", "x"],
  "sec-websocket-protocol": ["", "v4.channel.k8s.io", "base64.binary.k8s.io", "x"],
  expect: ["100-continue", "x"],
  "x-remote-user": ["admin"],
  cookie: ["a=b"],
}
const headerNames = Object.keys(headerValues)

interface Draft {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  body: Tree | Buffer | undefined
  cut: number | undefined
}

/** How a body is written, whatever the content type says. */
const writtenBody = (body: Tree | Buffer, isYaml: boolean): Buffer =>
  Buffer.isBuffer(body) ? body : isYaml ? blockYamlOf(body) : jsonOf(body)

const apply = (draft: Draft, given: Edit, donor: PlainRequest): void => {
  switch (given.type) {
    case "method":
      draft.method = given.how % 3 === 0 ? pick(methods, given.what) : pick(methods.slice(0, 5), given.what)
      return
    case "path": {
      const parts = draft.path.split("/")
      pick(pathEdits, given.how)(parts, 1 + (given.what % Math.max(1, parts.length - 1)), given.what >> 5)
      draft.path = parts.join("/") || "/"
      return
    }
    case "query": {
      const name = pick(parameterNames, given.how)
      const value = pick(parameters[name] ?? [""], given.what)
      const pair = given.how % 11 === 0 ? `${name}=%zz` : `${name}=${encodeURIComponent(value)}`
      draft.query += `${draft.query === "" ? "" : "&"}${pair}`
      return
    }
    case "header": {
      const name = pick(headerNames, given.how)
      draft.headers[name] = pick(headerValues[name] ?? [""], given.what)
      return
    }
    // The same content in another form: another patch, YAML, or a claim to be what it is not.
    case "form":
      draft.headers["content-type"] = pick(contentTypes, given.what)
      return
    case "donor":
      draft.body = donor.body
      return
    case "tree": {
      if (draft.body === undefined || Buffer.isBuffer(draft.body)) return
      const other = donor.body === undefined || Buffer.isBuffer(donor.body) ? new Fields([]) : donor.body
      const isYaml = draft.headers["content-type"]?.includes("yaml") === true
      draft.body = mutatedTree(draft.body, given.mutations, { donor: other, raws: isYaml ? yamlRaws : jsonRaws })
      return
    }
    case "bytes":
      if (draft.body === undefined) return
      draft.body = mutatedBytes(writtenBody(draft.body, false), given.mutations, writtenBody(donor.body ?? null, false))
      return
    case "cut":
      draft.cut = given.what
  }
}

/** The changed request. `donor`: another one, from whose body parts are taken. */
export const sentRequest = (plain: PlainRequest, edits: ReadonlyArray<Edit>, donor: PlainRequest): SentRequest => {
  const [path = "", query = ""] = plain.path.split("?")
  const draft: Draft = { ...plain, path, query, headers: { ...plain.headers }, body: plain.body, cut: undefined }
  for (const each of edits) apply(draft, each, donor)
  const isYaml = draft.headers["content-type"]?.includes("yaml") === true
  const body = draft.body === undefined ? undefined : writtenBody(draft.body, isYaml)
  return {
    method: draft.method,
    path: draft.query === "" ? draft.path : `${draft.path}?${draft.query}`,
    headers: draft.headers,
    body,
    // Half of those that are cut end within the body, if there is one.
    cutAt: draft.cut === undefined ? undefined : draft.cut % (200 + (body?.length ?? 0)),
  }
}

/** The bytes of HTTP/1.1. A header that the mutant sets replaces the usual one. */
export const wireBytes = ({ method, path, headers, body }: SentRequest): Buffer => {
  const usual = { host: "127.0.0.1", connection: "close", ...(body && { "content-length": String(body.length) }) }
  const lines = Object.entries({ ...usual, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body ?? Buffer.alloc(0)])
}
