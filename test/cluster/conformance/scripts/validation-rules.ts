/** Rules in CEL of a custom kind's schema: which objects break them, in creations and in updates, and which rules are refused. */

import { at, type Json, type JsonObject } from "../../exact-json.ts"
import {
  apply,
  get,
  inCluster,
  inNamespace,
  jsonPatch,
  mergePatch,
  post,
  put,
  type Script,
  type Step,
} from "../script.ts"
import { definition } from "./objects.ts"

const definitions = inCluster("apiextensions.k8s.io/v1", "customresourcedefinitions")
const groupVersion = "<ns>.example.com/v1"

const isEstablished = (_status: number, body: Json): boolean => JSON.stringify(body).includes('"type":"Established"')
const isServed = (status: number): boolean => status === 200

const text: JsonObject = { type: "string", maxLength: 40 }
const integer: JsonObject = { type: "integer" }
const texts: JsonObject = { type: "array", maxItems: 10, items: text }

const rules = (...all: JsonObject[]): JsonObject => ({ "x-kubernetes-validations": all })
const rule = (expression: string, more: JsonObject = {}): JsonObject => ({ rule: expression, ...more })

const withSchema = (properties: JsonObject, spec: JsonObject = {}, root: JsonObject = {}): JsonObject => ({
  schema: {
    openAPIV3Schema: {
      type: "object",
      ...root,
      properties: {
        spec: { type: "object", properties, ...spec },
        status: { type: "object", properties: { phase: text } },
      },
    },
  },
})

/** A kind with one rule at its `spec`. */
const ruled = (plural: string, kind: string, properties: JsonObject, ...all: JsonObject[]): JsonObject =>
  definition(plural, kind, withSchema(properties, rules(...all)))

const speed: JsonObject = {
  speed: { type: "number", ...rules(rule("self > 0.0", { message: "speed must be positive" })) },
  size: { ...integer, ...rules(rule("self >= oldSelf", { message: "size never shrinks" })) },
  least: integer,
  most: integer,
  name: { ...text, ...rules(rule("self == oldSelf", { reason: "FieldValueForbidden", message: "name is immutable" })) },
  tags: { ...texts, "x-kubernetes-list-type": "set", ...rules(rule("self.all(x, x.startsWith('t'))")) },
  ports: {
    type: "array",
    maxItems: 10,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port"],
    items: {
      type: "object",
      required: ["port"],
      properties: { port: integer, protocol: { ...text, default: "TCP" } },
      ...rules(
        rule("self.port < 1000", { fieldPath: ".port", message: "port is too high" }),
        rule("!has(oldSelf.protocol) || self.protocol == oldSelf.protocol", { message: "protocol stays" }),
      ),
    },
  },
  either: { "x-kubernetes-int-or-string": true, ...rules(rule("type(self) == int ? self > 0 : self.endsWith('%')")) },
  when: { type: "string", format: "date-time", ...rules(rule("self > timestamp('2020-01-01T00:00:00Z')")) },
  wait: { type: "string", format: "duration", ...rules(rule("self <= duration('1h')", { message: "too long" })) },
  labels: {
    type: "object",
    maxProperties: 10,
    additionalProperties: { ...text, ...rules(rule("self.size() < 5", { message: "value is long" })) },
    ...rules(rule("self.all(k, k.matches('^[a-z]+$'))", { message: "keys are lower case" })),
  },
  "with-dash": text,
  namespace: text,
  embedded: {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
    ...rules(rule("self.kind == 'Pod' && self.metadata.name != 'bad'", { message: "must be a good Pod" })),
  },
  maybe: { ...text, nullable: true },
  once: { ...text, ...rules(rule("!oldSelf.hasValue()", { optionalOldSelf: true, message: "is set once" })) },
  memory: text,
  address: text,
}

const ofSpec = rules(
  rule("!has(self.least) || !has(self.most) || self.least <= self.most", {
    messageExpression: "'least %d is more than most %d'.format([self.least, self.most])",
    fieldPath: ".least",
    reason: "FieldValueInvalid",
  }),
  rule("!has(self.with__dash__dash) || self.with__dash__dash == self.?__namespace__.orValue('none')", {
    reason: "FieldValueRequired",
    message: "namespace must agree",
  }),
  rule("!has(self.memory) || quantity(self.memory).isLessThan(quantity('1Gi'))", {
    message: "memory is too large",
    reason: "FieldValueDuplicate",
  }),
  rule("!has(self.address) || cidr('10.0.0.0/8').containsIP(self.address)"),
  rule("!has(self.tags) || self.tags.exists_one(t, t == 't1') || size(self.tags) == 0", { messageExpression: "''" }),
)

const racers = inNamespace(groupVersion, "racers")
const racer = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: groupVersion,
  kind: "Racer",
  metadata: { name },
  spec,
})
const a = `${racers}/a`

const refusedAtOnce: ReadonlyArray<readonly [string, JsonObject]> = [
  ["speed", { speed: 0 }],
  ["speed that is whole", { speed: -1 }],
  ["several", { speed: -1.5, tags: ["x"], either: 0, labels: { A: "abcdef" } }],
  ["message by an expression", { least: 5, most: 4 }],
  ["escaped names", { "with-dash": "x", namespace: "y" }],
  ["a missing field", { "with-dash": "x" }],
  ["a quantity", { memory: "2Gi" }],
  ["not a quantity", { memory: "lots" }],
  ["an address", { address: "11.0.0.1" }],
  ["not an address", { address: "here" }],
  ["none of those", { tags: ["t2"] }],
  ["a port", { ports: [{ port: 1 }, { port: 5000 }] }],
  ["text of either", { either: "5" }],
  ["a time", { when: "2019-01-01T00:00:00Z" }],
  ["a duration", { wait: "2h" }],
  ["an embedded kind", { embedded: { apiVersion: "v1", kind: "Node" } }],
  ["an embedded name", { embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "bad" } } }],
  ["schema and rule", { speed: -1, most: "x" }],
  ["schema that does not block", { speed: -1, wait: "x" }],
]

const objects: Script = {
  name: "rules",
  area: "schema",
  leftovers: [`${definitions}/racers.<ns>.example.com`],
  steps: [
    post(
      "define",
      definitions,
      definition("racers", "Racer", {
        ...withSchema(
          speed,
          ofSpec,
          rules(
            rule("self.metadata.name != 'forbidden' && self.kind == 'Racer'", { message: "not that name" }),
            rule("!has(self.status) || self.status.?phase.orValue('') != 'Broken'", { message: "not broken" }),
          ),
        ),
        subresources: { status: {} },
      }),
    ),
    get("is established", `${definitions}/racers.<ns>.example.com`, { until: isEstablished }),
    get("is served", racers, { until: isServed }),
    post("create", racers, racer("a", { speed: 1.5, size: 3, name: "one", tags: ["t1"], ports: [{ port: 1 }] })),
    post("create with everything", racers, {
      ...racer("full", {
        speed: 2,
        least: 1,
        most: 2,
        either: "50%",
        when: "2021-01-01T00:00:00Z",
        wait: "30m",
        labels: { a: "b" },
        "with-dash": "x",
        namespace: "x",
        embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "good" }, spec: { any: 1 } },
        maybe: null,
        memory: "512Mi",
        address: "10.2.3.4",
        once: "now",
      }),
    }),
    post("a name that the root forbids", racers, racer("forbidden", {})),
    ...refusedAtOnce.map(([name, spec]): Step => post(`refuses ${name}`, racers, racer("b", spec))),
    mergePatch("shrinks", a, { spec: { size: 2 } }),
    mergePatch("grows", a, { spec: { size: 4 } }),
    mergePatch("renames", a, { spec: { name: "two" } }),
    mergePatch("removes the name", a, { spec: { name: null } }),
    jsonPatch("changes a port's protocol", a, [{ op: "replace", path: "/spec/ports/0/protocol", value: "UDP" }]),
    mergePatch("another port with another protocol", a, { spec: { ports: [{ port: 2, protocol: "UDP" }] } }),
    mergePatch("sets it once", a, { spec: { once: "x" } }),
    mergePatch("sets it again", a, { spec: { once: "y" } }),
    mergePatch("a status", `${a}/status`, { status: { phase: "Fine" } }),
    apply("applies", `${racers}/applied`, "one", racer("applied", { speed: 1 })),
    apply("applies what is refused", `${racers}/applied`, "one", racer("applied", { speed: -1 })),
    get("read", a, { capture: { version: "/metadata/resourceVersion" } }),
    put("replaces", a, { ...racer("a", { size: 9 }), metadata: { name: "a", resourceVersion: "<version>" } }),
    get("read again", a, { capture: { now: "/metadata/resourceVersion" } }),
    put("replaces with what is refused", a, {
      ...racer("a", { size: 1, speed: -1 }),
      metadata: { name: "a", resourceVersion: "<now>" },
    }),
    put("dry run of what is refused", a, racer("a", { speed: -1 }), { query: { dryRun: "All" } }),
  ],
}

const looseSpec = withSchema({ size: integer, colour: text, items: texts }, {})
const tightSpec = withSchema(
  {
    size: { ...integer, maximum: 5, ...rules(rule("self < 3", { message: "size is too large" })) },
    colour: { ...text, enum: ["red"] },
    items: { ...texts, maxItems: 2, ...rules(rule("self.size() != 3", { message: "three are too many" })) },
    more: integer,
  },
  rules(rule("!has(self.more) || self.more > self.size", { message: "more is more than size" })),
)
const old = inNamespace(groupVersion, "olds")
const oldObject = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: groupVersion,
  kind: "Old",
  metadata: { name },
  spec,
})

/** Objects that were valid when they were made: an update may leave their problems as they are. */
const ratcheting: Script = {
  name: "rules-ratchet",
  area: "schema",
  leftovers: [`${definitions}/olds.<ns>.example.com`],
  steps: [
    post("define", definitions, definition("olds", "Old", looseSpec)),
    get("is established", `${definitions}/olds.<ns>.example.com`, { until: isEstablished }),
    get("is served", old, { until: isServed }),
    post("create", old, oldObject("a", { size: 9, colour: "blue", items: ["a", "b", "c"] })),
    mergePatch("tighten", `${definitions}/olds.<ns>.example.com`, {
      spec: { versions: [{ name: "v1", served: true, storage: true, ...tightSpec }] },
    }),
    post("is tightened", old, oldObject("b", { size: 4 }), { until: (status) => status === 422 }),
    mergePatch("labels", `${old}/a`, { metadata: { labels: { a: "b" } } }),
    mergePatch("an unrelated field", `${old}/a`, { spec: { more: 10 } }),
    mergePatch("a rule that sees the change", `${old}/a`, { spec: { more: 8 } }),
    mergePatch("another bad size", `${old}/a`, { spec: { size: 8 } }),
    mergePatch("another bad colour", `${old}/a`, { spec: { colour: "green" } }),
    mergePatch("other items", `${old}/a`, { spec: { items: ["a", "b", "d"] } }),
    mergePatch("a good size", `${old}/a`, { spec: { size: 1 } }),
    // A patch begins with the state in the server's cache. With the one before, the bad size would be an old problem, about which it warns before it tries
    // again with the latest state.
    get("the good size is in the cache", `${old}/a`, {
      query: { resourceVersion: "0" },
      until: (_status, body) => String(at(body, "spec", "size")) === "1",
    }),
    mergePatch("the bad one again", `${old}/a`, { spec: { size: 9 } }),
  ],
}

const bad = (name: string, ...all: JsonObject[]): Step =>
  post(
    name,
    definitions,
    ruled(
      "bads",
      "Bad",
      { size: integer, name: text, items: texts, when: { type: "string", format: "date-time" } },
      ...all,
    ),
  )

const refusedRules: Script = {
  name: "rules-refused",
  area: "schema",
  leftovers: [`${definitions}/bads.<ns>.example.com`],
  steps: [
    bad("no rule", rule("")),
    bad("not CEL", rule("self.size >")),
    bad("an unknown field", rule("self.nope > 1")),
    bad("an unknown function", rule("nope(self.size)")),
    bad("wrong types", rule("self.size == self.name")),
    bad("whole and broken", rule("self.size == 1.0")),
    bad("not a bool", rule("self.size + 1")),
    bad("metadata beyond the names", rule("self.metadata.labels.size() == 0")),
    bad("empty message", rule("true", { message: " " })),
    bad("message with a line break", rule("true", { message: "a\nb" })),
    bad("rule with a line break", rule("true &&\ntrue")),
    bad("an unknown reason", rule("true", { reason: "Nope" })),
    bad("a path to nowhere", rule("true", { fieldPath: ".nope" })),
    bad("a path with an index", rule("true", { fieldPath: ".items[0]" })),
    bad("an empty path", rule("true", { fieldPath: " " })),
    bad("a message that is no text", rule("true", { messageExpression: "1" })),
    bad("a message that is not CEL", rule("true", { messageExpression: "self." })),
    bad("optional without the old value", rule("true", { optionalOldSelf: true })),
    bad("two problems", rule("self.nope"), rule("self.size")),
    bad("heterogeneous", rule("self.size in [1, 'a']")),
    bad("a list function of the next version", rule("self.items.distinct().size() == 1")),
    bad("a binding", rule("cel.bind(x, self.size, x > 1)")),
    post(
      "the old value in a list without keys",
      definitions,
      definition(
        "bads",
        "Bad",
        withSchema({ items: { type: "array", maxItems: 3, items: { ...text, ...rules(rule("self == oldSelf")) } } }),
      ),
    ),
    bad("a field without a schema", rule("has(self.free)")),
    bad(
      "all of these are fine",
      rule("self.size in [1, 2] || self.items.map(x, x + 'a').filter(x, x != '').size() > 0"),
      rule("self.items.all(i, x, i < 3 && x != '')"),
      rule("self.items.transformList(i, x, x.size() + i).sum() > 1"),
      rule("sets.contains(self.items, ['a']) && self.items.isSorted()"),
      rule("self.when.getFullYear('Europe/Berlin') > 2000 || string(self.when) == ''"),
      rule("'%s %d'.format([self.name, self.size]) != '' && self.name.lowerAscii().split(',').size() > 0"),
      rule("url(self.name).getHost() == 'a' || isURL(self.name)"),
      rule("isIP(self.name) ? ip(self.name).family() == 4 : true"),
      rule("semver(self.name).major() > 1 || isSemver(self.name)"),
      rule("!format.dns1123Label().validate(self.name).hasValue()"),
      rule("self.name.find('[0-9]+') == '' || self.name.findAll('a', 2).size() == 1"),
      rule("self.?name.optMap(x, x.size()).orValue(0) < 9 && type(self.size) == int"),
      rule("self.size == 1 ? true : has(self.name) && dyn(self.size) == 1.0"),
      rule("has(self.items) && has(self.items) ? self.items[0] == 'a' : oldSelf.size > 1"),
    ),
    bad("a definition that is already there", rule("true")),
  ],
}

export const validationRules: readonly Script[] = [objects, ratcheting, refusedRules]
