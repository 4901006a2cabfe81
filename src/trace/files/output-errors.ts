/** Why a trace could not be written to where it should go. Each message says what to do; none leaves a file behind. */
import * as Schema from "effect/Schema"

/** The output file is there already. */
export class OutputExists extends Schema.TaggedError<OutputExists>()("OutputExists", { path: Schema.String }) {
  override get message(): string {
    return `${this.path} exists; it is not overwritten without --force`
  }
}

/** The output could not be written. */
export class OutputFailed extends Schema.TaggedError<OutputFailed>()("OutputFailed", {
  path: Schema.String,
  /** Code of the operating system: `ENOSPC`, `EACCES`, … */
  code: Schema.String,
}) {
  override get message(): string {
    return `cannot write ${this.path}: ${outputAdvice(this.code)}`
  }
}

const outputAdvice = (code: string): string => {
  switch (code) {
    case "ENOSPC":
      return "the disk is full. Make room, or write elsewhere"
    case "EDQUOT":
      return "your disk quota is used up. Make room, or write elsewhere"
    case "EACCES":
    case "EPERM":
      return "you may not write there. Write elsewhere"
    case "EROFS":
      return "the file system is read-only. Write elsewhere"
    case "ENOENT":
    case "ENOTDIR":
      return "its directory does not exist. Create it first"
    case "EISDIR":
      return "it is a directory. Name a file inside it"
    case "EPIPE":
      return "whatever read it has gone away"
    default:
      return `writing failed (${code})`
  }
}

/** The user stopped it. Exit code 130. */
export class ExportInterrupted extends Schema.TaggedError<ExportInterrupted>()("ExportInterrupted", {}) {
  override get message(): string {
    return "interrupted; no file was kept"
  }
}

/** The code of a system error, or what it says if it has none. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)
