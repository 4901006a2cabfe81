/** Names of actors and mailboxes, shared by both ends of each link. */

export const storeName = "store"
export const exporterName = "exporter"
export const readerName = "reader"

/** The watcher of a kind; also the sender name under which the store remembers its frames. */
export const watcherName = (gvk: string): string => `watcher ${gvk}`

/** Watcher → store: frames of `proto/observations.proto`. */
export const observationsMailbox = "observations"

/** Store → the named watcher: frames of `proto/stored-state.proto`. One mailbox each, since an outbox has one receiver. */
export const storedStateMailbox = (watcher: string): string => `stored-state of ${watcher}`

export const ownerResolverName = "owner-resolver"

export const archivistName = "archivist"

/** Store → owner-resolver: questions of `proto/owners.proto`. */
export const ownerQuestionsMailbox = "owner-questions"

/** Owner-resolver → store: answers of `proto/owners.proto`. */
export const ownerAnswersMailbox = "owner-answers"
