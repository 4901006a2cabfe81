/** What a hostile API server sends in lists and watches. */

/**
 * - `endless-lines`: after the initial events, each watch has one line without an end.
 * - `error-lines`: after the initial events, each watch has one ERROR of 60 MB and ends.
 * - `repeated-continue`: each page of a list names itself as the next one.
 */
export type Hostility = "endless-lines" | "error-lines" | "repeated-continue"

const errorBytes = 60e6
const piece = Buffer.alloc(64 * 1024, "x")

/** Sends until the reader is gone, or everything was sent. `send` resolves to false if the reader is gone. */
export const sendHostileLine = async (
  hostility: "endless-lines" | "error-lines",
  send: (piece: Buffer | string) => Promise<boolean>,
): Promise<void> => {
  const isEndless = hostility === "endless-lines"
  const type = isEndless ? "ADDED" : "ERROR"
  if (!(await send(`{"type":"${type}","object":{"kind":"Status","apiVersion":"v1","message":"`))) return
  for (let sent = 0; isEndless || sent < errorBytes; sent += piece.length) if (!(await send(piece))) return
  await send('"}}\n')
}

/** The token of a page that names itself. */
export const repeatedContinue = "again"
