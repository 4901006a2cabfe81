/** Conditions of webhooks: their variables and their types. The `authorizer` is missing, so a condition that asks it is refused. */

import { CompileError } from "./problems.ts"
import { compile, describeProblem, type Program } from "./program.ts"
import { bool, type CelType, dyn, formatType, listOf, mapOf, string } from "./types.ts"

const record = (name: string, fields: Readonly<Record<string, CelType>>): CelType => ({
  kind: "object",
  name: `kubernetes.${name}`,
  fields: new Map(Object.entries(fields)),
})

const kind = record("GroupVersionKind", { group: string, version: string, kind: string })
const resource = record("GroupVersionResource", { group: string, version: string, resource: string })
const userInfo = record("UserInfo", {
  username: string,
  uid: string,
  groups: listOf(string),
  extra: mapOf(string, listOf(string)),
})

const request = record("AdmissionRequest", {
  kind,
  resource,
  subResource: string,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo,
  dryRun: bool,
  options: dyn,
})

const variables: ReadonlyMap<string, CelType> = new Map([
  ["object", dyn],
  ["oldObject", dyn],
  ["namespaceObject", dyn],
  ["request", request],
])

/** The compiled condition, or what is wrong with it. */
export const compileCondition = (text: string): Program | string => {
  try {
    const program = compile(text, variables)
    return program.type.kind === "bool" ? program : `must evaluate to bool but got ${formatType(program.type)}`
  } catch (error) {
    if (error instanceof CompileError) return `compilation failed: ${describeProblem(text, error)}`
    throw error
  }
}
