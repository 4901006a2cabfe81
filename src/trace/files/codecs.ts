/**
 * The formats' decoders and encoders by name. Each is loaded at its first use: an export as NDJSON does not load YAML.
 */

import type { EncoderOptions, TraceDecoder, TraceEncoder } from "../formats/format.ts"
import type { TraceFormatName } from "../formats/names.ts"

/** A decoder of that format. */
export const openDecoder = async (format: TraceFormatName): Promise<TraceDecoder> => {
  switch (format) {
    case "ndjson":
      return (await import("../formats/ndjson/ndjson-writer.ts")).ndjsonDecoder()
    case "simkube":
      return (await import("../formats/simkube/simkube-format.ts")).simkubeDecoder()
    case "kwok":
      return (await import("../formats/kwok/kwok-decoder.ts")).kwokDecoder()
  }
}

/** An encoder of that format. */
export const openEncoder = async (format: TraceFormatName, options: EncoderOptions): Promise<TraceEncoder> => {
  switch (format) {
    case "ndjson":
      return (await import("../formats/ndjson/ndjson-writer.ts")).ndjsonEncoder()
    case "simkube":
      return (await import("../formats/simkube/simkube-format.ts")).simkubeEncoder(options)
    case "kwok":
      return (await import("../formats/kwok/kwok-encoder.ts")).kwokEncoder(options.facts)
  }
}
