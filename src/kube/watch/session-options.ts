/** What a watch session is given: its ways to the server, its sink, time and chance, and where the recording ends. */
import type { Clock } from "../../clock.ts"
import type { ReadTransport } from "../http/transport.ts"
import type { DetectRules } from "../scanner/object/detect-rules.ts"
import type { WatchPolicy } from "./protocol/policy.ts"
import type { Input } from "./protocol/protocol.ts"
import type { SessionListener, WatchSink } from "./sink.ts"
import type { Selection } from "./streams/request.ts"

/** One-off questions around the watch; each answers with exactly one input for the machine. */
export interface Enquiries {
  /** Is the kind installed, and where? `selection` is called before the input is answered. */
  discover(found: (path: string) => void): Promise<Input>
  probe(selection: Selection): Promise<Input>
}

/** Everything a session needs; nothing of it is read from elsewhere. */
export interface SessionOptions {
  readonly transport: ReadTransport
  readonly enquiries: Enquiries
  readonly sink: WatchSink
  readonly listener: SessionListener
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  readonly policy: WatchPolicy
  readonly rules: DetectRules
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  /** Complete up to here, from the store; `undefined` lists. */
  readonly resumeVersion: string | undefined
  /** UID of namespace kube-system when last seen. */
  readonly clusterUid: string | undefined
}
