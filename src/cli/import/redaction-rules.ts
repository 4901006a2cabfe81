/** Rules of redaction out of a recorder's configuration: what is secret in a recording is secret in what is imported. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { RedactionSettings } from "../../kube/redaction/redaction-rules.ts"
import { defaultDetect, defaultIgnore } from "../../kube/scanner/object/detect-rules.ts"
import { loadConfiguration } from "../../recorder/configuration/load-configuration.ts"
import { formatWarning } from "../../recorder/configuration/problem.ts"

/** The rules, or why the file cannot be used. `say`: takes what is odd in it. */
export const redactionRulesIn = async (
  file: string,
  say: (line: string) => void,
): Promise<RedactionSettings | { readonly problem: string }> => {
  const loaded = await Effect.runPromise(
    Effect.result(loadConfiguration(file, { defaults: { defaultDetect, defaultIgnore } })),
  )
  if (Result.isFailure(loaded)) return { problem: loaded.failure.message }
  for (const warning of loaded.success.warnings) say(formatWarning(file, warning))
  return loaded.success.redaction
}
