/** Identifiers of traces and spans: hashes of what they are, so that the same trace has the same ones whenever it is converted. */
import { hash } from "node:crypto"

/** 16 bytes in hex. */
export const traceIdOf = (text: string): string => hash("sha256", `trace ${text}`, "hex").slice(0, 32)

/** 8 bytes in hex. */
export const spanIdOf = (text: string): string => hash("sha256", `span ${text}`, "hex").slice(0, 16)
