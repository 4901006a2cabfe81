/** All exit codes of `reel`. Scripts may rely on them; a test compares docs/reference/exit-codes.md with this table. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  incomplete: 3,
  notPermitted: 4,
  leaseLost: 5,
  fenced: 6,
  /** 128 + SIGINT, the shell's own convention. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The meaning of each code, as one line of help. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: "everything requested was done",
  failed: "failed; the message says why and what to do",
  usage: "the command line or the configuration is invalid; nothing was done",
  incomplete: "done, but the recording or the export is incomplete",
  notPermitted: "the server refused these credentials; the message says why, or names the missing permission",
  leaseLost: "the recorder could not renew its Lease in time, so that another one may record now",
  fenced: "another recorder has taken over the stream of this recording",
  interrupted: "stopped by Ctrl-C or SIGTERM before it was finished",
}

/** A mistake in the command line that shows only when it is carried out. */
export class Misasked extends Error {}

/** An error of a command. Its message says what to do. */
export interface CommandError extends Error {
  readonly exitCode: ExitCode
}

/** What has no error of its own: a sentence for people. */
export class CommandFailed extends Error implements CommandError {
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}
