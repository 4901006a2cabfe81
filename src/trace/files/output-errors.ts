/** Why a trace could not be written to its destination. Each message says what to do; none of them leaves a file behind. */
import * as Schema from "effect/Schema"

/** The output file already exists. */
export class OutputExists extends Schema.TaggedError<OutputExists>()("OutputExists", { path: Schema.String }) {
  override get message(): string {
    return `${this.path} exists; use --force to overwrite it`
  }
}

/** The output could not be written. */
export class OutputFailed extends Schema.TaggedError<OutputFailed>()("OutputFailed", {
  path: Schema.String,
  /** Code of the operating system: `ENOSPC`, `EACCES`, … */
  code: Schema.String,
}) {
  override get message(): string {
    return `cannot write ${this.path}: ${outputAdvice(this.code, this.path)}`
  }
}

/** The `path` of {@link OutputFailed} for standard output. */
export const standardOutputPath = "standard output"

const outputAdvice = (code: string, path: string): string => {
  switch (code) {
    case "ENOSPC":
      return "the disk is full. Free some space, or write elsewhere"
    case "EDQUOT":
      return "your disk quota is exceeded. Free some space, or write elsewhere"
    case "EACCES":
    case "EPERM":
      return "permission denied. Write elsewhere"
    case "EROFS":
      return "the file system is read-only. Write elsewhere"
    case "ENOENT":
    case "ENOTDIR":
      return "its directory does not exist. Create it first"
    case "EISDIR":
      return "it is a directory. Name a file inside it"
    case "EPIPE":
      return path === standardOutputPath ? "stdout was closed" : "its reader closed it"
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

/** The code of a system error, or its text if it has no code. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)
