/** A recorder's configuration in a file, for commands that do one thing and end. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { defaultDetect, defaultIgnore } from "../../kube/scanner/object/detect-rules.ts"
import { loadConfiguration } from "../../recorder/configuration/load-configuration.ts"
import type { ParsedConfiguration } from "../../recorder/configuration/parse-configuration.ts"
import { formatWarning } from "../../recorder/configuration/problem.ts"

/** The configuration of a file, or in a text; `undefined`: it cannot be used. `say`: takes why, or what is odd in it. */
export const loadedConfiguration = async (
  from: string | { readonly text: string },
  { secretsInPlainText }: { readonly secretsInPlainText: boolean },
  say: (line: string) => void,
): Promise<ParsedConfiguration | undefined> => {
  const isFile = typeof from === "string"
  const file = isFile ? from : "the default configuration"
  const loaded = await Effect.runPromise(
    Effect.result(
      loadConfiguration(file, {
        ...{ secretsInPlainText, defaults: { defaultDetect, defaultIgnore } },
        ...(!isFile && { readBeginning: async () => Buffer.from(from.text) }),
      }),
    ),
  )
  if (Result.isFailure(loaded)) {
    say(loaded.failure.message)
    return undefined
  }
  for (const warning of loaded.success.warnings) say(formatWarning(file, warning))
  return loaded.success
}
