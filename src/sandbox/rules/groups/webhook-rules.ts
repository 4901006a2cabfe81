/** Configurations of admission webhooks. */

import {
  duplicate,
  type Errors,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooMany,
} from "../../../apiserver/answers/field-error.ts"
import {
  hostLabelComplaints,
  portComplaints,
  qualifiedNameComplaints,
  subdomainComplaints,
} from "../../../kube/names.ts"
import { compileCondition } from "../../cel/condition.ts"
import type { DefaultTable } from "../default-table.ts"
import { child, isAbsent, items, list, number, text, texts } from "../fields.ts"
import type { Kind } from "../kind.ts"
import type { Fields } from "../kind-rules.ts"
import { checkSelector } from "../values/selector-validation.ts"

const defaults: DefaultTable = {
  set: {
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  },
  within: { clientConfig: { within: { service: { set: { port: 443 } } } } },
  each: { rules: { set: { scope: "*" } } },
}

const checkChoice = (
  parent: Fields,
  key: string,
  field: string,
  choices: ReadonlyArray<string>,
  errors: Errors,
): void => {
  const value = parent[key]
  if (!isAbsent(value) && !choices.includes(String(value))) errors.push(notSupported(`${field}.${key}`, value, choices))
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]

const checkRule = (rule: Fields, field: string, errors: Errors): void => {
  for (const [key, what] of [
    ["operations", "operations"],
    ["apiGroups", "API groups"],
    ["apiVersions", "API versions"],
  ] as const) {
    const values = list(rule, key)
    if (values.length === 0) errors.push(required(`${field}.${key}`))
    if (values.length > 1 && values.includes("*"))
      errors.push(invalid(`${field}.${key}`, values, `if '*' is present, must not specify other ${what}`))
    for (const [index, value] of values.entries()) {
      if (key === "operations" && !operations.includes(String(value)))
        errors.push(notSupported(`${field}.operations[${index}]`, value, operations))
      if (key === "apiVersions" && value === "") errors.push(required(`${field}.apiVersions[${index}]`))
    }
  }
  checkResources(texts(rule, "resources"), `${field}.resources`, errors)
  checkChoice(rule, "scope", field, ["*", "Cluster", "Namespaced"], errors)
}

/** What one wildcard covers must not be listed beside it. */
const checkResources = (resources: ReadonlyArray<string>, field: string, errors: Errors): void => {
  if (resources.length === 0) errors.push(required(field))
  const whole = new Set<string>()
  const below = new Set<string>()
  for (const [index, resource] of resources.entries()) {
    const [plural = "", subresource] = resource.split("/")
    if (resource === "") errors.push(required(`${field}[${index}]`))
    else if (subresource === "*") whole.add(plural)
    else if (subresource !== undefined) {
      if (whole.has(plural))
        errors.push(
          invalid(`${field}[${index}]`, resource, `if '${plural}/*' is present, must not specify ${resource}`),
        )
      if (plural === "*") below.add(subresource)
      else if (below.has(subresource))
        errors.push(
          invalid(`${field}[${index}]`, resource, `if '*/${subresource}' is present, must not specify ${resource}`),
        )
    }
  }
  const plain = resources.filter((resource) => !resource.includes("/"))
  if (resources.length > 1 && whole.has("*"))
    errors.push(invalid(field, resources, "if '*/*' is present, must not specify other resources"))
  if (plain.length > 1 && plain.includes("*"))
    errors.push(invalid(field, resources, "if '*' is present, must not specify other resources without subresources"))
}

const checkUrl = (url: string, field: string, errors: Errors): void => {
  const form = "desired format: https://host[/path]"
  const parts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(url)
  const [, scheme = "", authority = "", query, fragment] = parts ?? []
  const user = authority.includes("@") ? authority.slice(0, authority.lastIndexOf("@")) : undefined
  const host = authority.slice((user?.length ?? -1) + 1)
  if (scheme !== "https") errors.push(invalid(field, scheme, `'https' is the only allowed URL scheme; ${form}`))
  if (host === "") errors.push(invalid(field, host, `host must be specified; ${form}`))
  else if (!URL.canParse(url)) errors.push(invalid(field, url, `url must be a valid URL; ${form}`))
  if (user !== undefined) errors.push(invalid(field, user, "user information is not permitted in the URL"))
  if (fragment !== undefined) errors.push(invalid(field, fragment, "fragments are not permitted in the URL"))
  if (query !== undefined) errors.push(invalid(field, query, "query parameters are not permitted in the URL"))
}

const checkService = (service: Fields, field: string, errors: Errors): void => {
  for (const key of ["name", "namespace"])
    if (text(service, key) === "") errors.push(required(`${field}.${key}`, `service ${key} is required`))
  errors.push(...invalidEach(`${field}.port`, service.port, portComplaints(number(service, "port") ?? 0)))
  const path = text(service, "path")
  if (path === "" || path === "/") return
  if (!path.startsWith("/")) errors.push(invalid(`${field}.path`, path, "must start with a '/'"))
  for (const [index, segment] of path.replace(/^\//, "").replace(/\/$/, "").split("/").entries()) {
    if (segment === "") errors.push(invalid(`${field}.path`, path, `segment[${index}] may not be empty`))
    else
      for (const complaint of subdomainComplaints(segment))
        errors.push(invalid(`${field}.path`, path, `segment[${index}]: ${complaint}`))
  }
}

const checkClient = (config: Fields | undefined, field: string, errors: Errors): void => {
  const service = child(config, "service")
  const url = config?.url
  if (isAbsent(url) === (service === undefined)) {
    errors.push(required(field, "exactly one of url or service is required"))
    return
  }
  if (service === undefined) checkUrl(String(url), `${field}.url`, errors)
  else checkService(service, `${field}.service`, errors)
}

/** Of AdmissionReviews. */
export const reviewVersions = ["v1", "v1beta1"]

const checkVersions = (versions: ReadonlyArray<string>, field: string, errors: Errors): void => {
  if (versions.length === 0) errors.push(required(field, `must specify one of ${reviewVersions.join(", ")}`))
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) errors.push(invalid(`${field}[${index}]`, version, "duplicate version"))
    errors.push(...invalidEach(`${field}[${index}]`, version, hostLabelComplaints(version)))
  }
  if (versions.length > 0 && !versions.some((version) => reviewVersions.includes(version)))
    errors.push(invalid(field, versions, `must include at least one of ${reviewVersions.join(", ")}`))
}

const mostConditions = 64

const checkConditions = (conditions: ReadonlyArray<Fields>, field: string, errors: Errors): void => {
  if (conditions.length > mostConditions) errors.push(tooMany(field, conditions.length, mostConditions))
  const names = conditions.map((condition) => text(condition, "name"))
  for (const [index, condition] of conditions.entries()) {
    const place = `${field}[${index}]`
    const expression = text(condition, "expression").trim()
    const program = expression === "" ? undefined : compileCondition(expression)
    if (program === undefined) errors.push(required(`${place}.expression`))
    else if (typeof program === "string") errors.push(invalid(`${place}.expression`, expression, program))
    const name = names[index] ?? ""
    if (name === "") errors.push(required(`${place}.name`))
    else {
      errors.push(...invalidEach(`${place}.name`, name, qualifiedNameComplaints(name)))
      if (names.indexOf(name) < index) errors.push(duplicate(`${place}.name`, name))
    }
  }
}

const checkWebhook = (webhook: Fields, field: string, errors: Errors): void => {
  const name = text(webhook, "name")
  if (name === "") errors.push(required(`${field}.name`))
  else if (subdomainComplaints(name).length > 0)
    errors.push(...invalidEach(`${field}.name`, name, subdomainComplaints(name)))
  else if (name.split(".").length < 3)
    errors.push(invalid(`${field}.name`, name, "should be a domain with at least three segments separated by dots"))
  for (const [index, rule] of items(webhook, "rules").entries()) checkRule(rule, `${field}.rules[${index}]`, errors)
  checkChoice(webhook, "failurePolicy", field, ["Fail", "Ignore"], errors)
  checkChoice(webhook, "matchPolicy", field, ["Equivalent", "Exact"], errors)
  const sideEffects = ["None", "NoneOnDryRun"]
  if (isAbsent(webhook.sideEffects))
    errors.push(required(`${field}.sideEffects`, `must specify one of ${sideEffects.join(", ")}`))
  checkChoice(webhook, "sideEffects", field, sideEffects, errors)
  const seconds = number(webhook, "timeoutSeconds")
  if (seconds !== undefined && (seconds < 1 || seconds > 30))
    errors.push(invalid(`${field}.timeoutSeconds`, seconds, "the timeout value must be between 1 and 30 seconds"))
  for (const key of ["namespaceSelector", "objectSelector"])
    checkSelector(child(webhook, key), `${field}.${key}`, errors)
  checkChoice(webhook, "reinvocationPolicy", field, ["IfNeeded", "Never"], errors)
  checkConditions(items(webhook, "matchConditions"), `${field}.matchConditions`, errors)
  checkClient(child(webhook, "clientConfig"), `${field}.clientConfig`, errors)
  checkVersions(texts(webhook, "admissionReviewVersions"), `${field}.admissionReviewVersions`, errors)
}

const configuration = (webhook: DefaultTable): Kind => ({
  defaults: { each: { webhooks: webhook } },
  generation: ["webhooks"],
  unconditionalUpdate: false,
  check: (object, errors) => {
    const names: string[] = []
    for (const [index, one] of items(object, "webhooks").entries()) {
      const field = `webhooks[${index}]`
      checkWebhook(one, field, errors)
      const name = text(one, "name")
      if (name !== "" && names.includes(name)) errors.push(duplicate(`${field}.name`, name))
      names.push(name)
    }
  },
})

export const mutatingWebhookKind = configuration({
  ...defaults,
  set: { ...defaults.set, reinvocationPolicy: "Never" },
})
export const validatingWebhookKind = configuration(defaults)
