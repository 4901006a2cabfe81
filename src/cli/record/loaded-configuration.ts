/** A recorder's configuration in a file and the key of redacted values, for commands that do one thing and end. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { defaultDetect, defaultIgnore } from "../../kube/scanner/object/detect-rules.ts"
import { loadConfiguration } from "../../recorder/configuration/load-configuration.ts"
import type { ParsedConfiguration } from "../../recorder/configuration/parse-configuration.ts"
import { formatWarning } from "../../recorder/configuration/problem.ts"
import { newRedactionKey, RedactionKeyError, readRedactionKey } from "../../recorder/redaction/redaction-key.ts"

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

/** The key in a file, or why there is none; without a file a random one, which is not kept. */
export const redactionKeyFrom = async (file: string | undefined): Promise<Uint8Array | RedactionKeyError> => {
  if (file === undefined) return newRedactionKey()
  return readRedactionKey(file).catch((cause: unknown) => {
    if (cause instanceof RedactionKeyError) return cause
    throw cause
  })
}
