/** The only exit codes of `reel`. A script may rely on them: docs/reference/exit-codes.md is checked against this table. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  incomplete: 3,
  notPermitted: 4,
  /** 128 + SIGINT, the shell's own convention. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** What each code tells the caller, in one line of help. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: "everything that was asked for was done",
  failed: "it failed; the message says why and what to do",
  usage: "the command line or the configuration is wrong; nothing was done",
  incomplete: "done, but something is missing from the recording or the export",
  notPermitted: "the server refuses these credentials; the message names the missing permission",
  interrupted: "stopped by Ctrl-C or SIGTERM before it was done",
}
