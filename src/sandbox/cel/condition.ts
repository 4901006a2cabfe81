/** Conditions of webhooks: their variables and their types. The `authorizer` is missing, so a condition that asks it is refused. */

import type { Environment } from "@marcbachmann/cel-js"
import { CompileError } from "./evaluation.ts"
import { compile, describeProblem, newEnvironment, type Program } from "./program.ts"

// Types with names, because values of different types cannot be compared.
const kind = "kubernetes.GroupVersionKind"
const resource = "kubernetes.GroupVersionResource"
const userInfo = { username: "string", uid: "string", groups: "list<string>", extra: "map<string, list<string>>" }

const request = {
  ...{ kind, resource, subResource: "string" },
  ...{ requestKind: kind, requestResource: resource, requestSubResource: "string" },
  ...{ name: "string", namespace: "string", operation: "string", userInfo, dryRun: "bool", options: "dyn" },
}

let environment: Environment | undefined

const makeEnvironment = (): Environment =>
  newEnvironment()
    .registerType(kind, { fields: { group: "string", version: "string", kind: "string" } })
    .registerType(resource, { fields: { group: "string", version: "string", resource: "string" } })
    .registerVariable("object", "dyn")
    .registerVariable("oldObject", "dyn")
    .registerVariable("namespaceObject", "dyn")
    .registerVariable("request", { schema: request })

/** The compiled condition, or what is wrong with it. `request` is given to it as JSON. */
export const compileCondition = (text: string): Program | string => {
  environment ??= makeEnvironment()
  try {
    const program = compile(environment, text)
    return program.type === "bool" ? program : `must evaluate to bool but got ${program.type}`
  } catch (error) {
    if (error instanceof CompileError) return `compilation failed: ${describeProblem(text, error)}`
    throw error
  }
}
