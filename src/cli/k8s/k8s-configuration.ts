/** The configuration that goes into a ConfigMap: parsed, and its original text. */
import { createReadStream } from "node:fs"
import * as Effect from "effect/Effect"
import { defaultDetect, defaultIgnore } from "../../kube/scanner/object/detect-rules.ts"
import { defaultConfiguration, defaultConfigurationName } from "../../recorder/configuration/default-configuration.ts"
import { loadConfiguration } from "../../recorder/configuration/load-configuration.ts"
import { formatWarning } from "../../recorder/configuration/problem.ts"

/**
 * Reads `file`, or uses the default configuration. Fails as `loadConfiguration` does.
 * `contents` is always UTF-8, because a ConfigMap holds nothing else.
 */
export const readK8sConfiguration = (
  file: string | undefined,
  { secretsInPlainText }: { readonly secretsInPlainText: boolean },
) =>
  Effect.gen(function* () {
    const source = file ?? defaultConfigurationName
    let bytes: Uint8Array = Buffer.from(defaultConfiguration)
    const { configuration, warnings } = yield* loadConfiguration(source, {
      secretsInPlainText,
      defaults: { defaultDetect, defaultIgnore },
      readBeginning: async (_, limit) => {
        if (file !== undefined) bytes = await beginningOf(file, limit)
        return bytes
      },
    })
    return {
      configuration,
      contents: decode(bytes),
      warnings: warnings.map((warning) => formatWarning(source, warning)),
    }
  })

const beginningOf = async (file: string, limit: number): Promise<Uint8Array> => {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { end: limit - 1 })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Decodes by byte order mark, as YAML does, and drops the mark. */
const decode = (bytes: Uint8Array): string => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  return new TextDecoder().decode(bytes)
}
