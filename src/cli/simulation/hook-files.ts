/** Files with hooks: YAML with the four lists of `spec.hooks`; several files are concatenated, list by list. */
import { readFile } from "node:fs/promises"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parse, YAMLError } from "yaml"
import { SimulationHooks } from "../../simulation/api/hooks.ts"
import { codeOf } from "../../trace/files/output-errors.ts"
import { SimulationProblem } from "./simulation-cluster.ts"

const phases = ["preStartHooks", "preRunHooks", "postRunHooks", "postStopHooks"] as const

/** SimKube's files, in its checkout. Elsewhere there are none, which is no mistake (unlike in SimKube). */
const usualFiles = ["config/hooks/default.yml", "config/hooks/autoscaler.yml"]

/**
 * `given`: paths with colons between them; an empty text means no hooks, `undefined` those of SimKube's usual files that exist. Returns `undefined` if there are no
 * hooks. Rejects with {@link SimulationProblem}.
 */
export const readHookFiles = async (given: string | undefined): Promise<SimulationHooks | undefined> => {
  const files = given === undefined ? usualFiles : given.split(":").filter((file) => file !== "")
  const hooks: { -readonly [Phase in keyof SimulationHooks]: SimulationHooks[Phase] } = {}
  for (const file of files) {
    const read = await hooksOf(file, given === undefined)
    for (const phase of phases) if (read[phase]) hooks[phase] = [...(hooks[phase] ?? []), ...read[phase]]
  }
  return Object.keys(hooks).length === 0 ? undefined : hooks
}

const hooksOf = async (file: string, isOptional: boolean): Promise<SimulationHooks> => {
  const wrong = (problem: string): never => {
    throw new SimulationProblem(`--hooks ${file}: ${problem}`)
  }
  let text = ""
  try {
    text = await readFile(file, "utf8")
  } catch (error) {
    const code = codeOf(error)
    if (code === "ENOENT" && isOptional) return {}
    wrong(code === "ENOENT" ? "it does not exist; for no hooks, write --hooks ''" : `it cannot be read (${code})`)
  }
  let value: unknown
  try {
    // An empty file has no hooks.
    value = parse(text) ?? {}
  } catch (error) {
    if (!(error instanceof YAMLError)) throw error
    wrong(`it is not YAML: ${error.message.split("\n", 1)[0]}`)
  }
  const decoded = Schema.decodeUnknownResult(SimulationHooks)(value, { onExcessProperty: "error" })
  if (Result.isSuccess(decoded)) return decoded.success
  return wrong(decoded.failure.message.replaceAll(/\n\s+at /g, " at ").replaceAll(/\s*\n\s*/g, "; "))
}
