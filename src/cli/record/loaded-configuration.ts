/** A recorder's configuration in a file and the key of redacted values, for commands that do one thing and end. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { defaultDetect, defaultIgnore } from "../../kube/index.ts"
import {
  formatWarning,
  loadConfiguration,
  newRedactionKey,
  type ParsedConfiguration,
  RedactionKeyError,
  readRedactionKey,
} from "../../recorder/index.ts"
import { CommandFailed, exitCodes } from "../command-line/exit-codes.ts"

/** The configuration of a file, or in a text. `say`: takes what is odd in it. Rejects with CommandFailed. */
export const loadedConfiguration = async (
  from: string | { readonly text: string },
  { secretsInPlainText }: { readonly secretsInPlainText: boolean },
  say: (line: string) => void,
): Promise<ParsedConfiguration> => {
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
  if (Result.isFailure(loaded)) throw new CommandFailed(loaded.failure.message, exitCodes.usage)
  for (const warning of loaded.success.warnings) say(formatWarning(file, warning))
  return loaded.success
}

/** The key in a file; without a file a random one, which is not kept. Rejects with CommandFailed. */
export const redactionKeyFrom = async (file: string | undefined): Promise<Uint8Array> => {
  if (file === undefined) return newRedactionKey()
  return readRedactionKey(file).catch((cause: unknown) => {
    throw cause instanceof RedactionKeyError ? new CommandFailed(cause.message, exitCodes.usage) : cause
  })
}
