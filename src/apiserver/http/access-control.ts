/** Who sends a request, and whether they may: decided by the program around the server. */

import type { Failure } from "../answers/failure.ts"
import type { Exchange } from "./exchange.ts"

/** The user on whose behalf a request is made, as reviews and admission webhooks show it. */
export interface RequestUser {
  readonly username: string
  /** Absent if the credentials say none. */
  readonly uid?: string
  readonly groups: ReadonlyArray<string>
  /** Absent if there are none. */
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
}

export interface AccessControl {
  /**
   * Called for every request before anything else is done, reads and discovery included. Returns the 401 or 403 to
   * send; `undefined` if the request may proceed, in which case {@link Exchange.user} is set.
   */
  admit(exchange: Exchange): Failure | undefined
}
