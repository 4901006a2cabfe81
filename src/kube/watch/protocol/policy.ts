/**
 * The numbers of the watch protocol, each with its derivation. Tests shorten them; production leaves them alone except for
 * the watch life, which the configuration may change.
 */
export interface WatchPolicy {
  /**
   * `timeoutSeconds` of a watch is uniform in this range, in s. client-go's 5–10 min: long enough to be cheap, short enough
   * that a watch the server has forgotten (kubernetes/kubernetes#102464) is replaced, random so that clients do not
   * reconnect together.
   */
  readonly watchLifeSeconds: readonly [minimum: number, maximum: number]
  /**
   * s before the end of a watch's life at which its successor is opened, so that there is never a moment without a watch (fabric8#8111).
   */
  readonly overlapSeconds: number
  /**
   * Items per page of a fallback list; client-go's and kube-rs's 500. A continue token lives about 5 min (etcd's compaction): when one has
   * expired, everything is requested at once, without limit, as in client-go's pager; pages started anew would expire anew, for ever if a
   * kind is large enough. Once per list: if that request fails too, the next attempt starts with pages. The token that the server offers
   * for the rest "inconsistently" is not used: changes made meanwhile on the earlier pages would be neither in the list nor in the watch
   * after it.
   */
  readonly pageSize: number
  /**
   * ms without a byte after which a streaming list that has brought nothing is closed. A server that is overloaded may need that long to begin, and pages
   * would cost it more; of a kind without objects, one that does not know the parameter sends nothing at all.
   */
  readonly streamingListSilenceMs: number
  /**
   * ms without a byte after which a streaming list that has brought something is closed, and ms that its end may take from the first change on. Real servers
   * send 100,000 objects in seconds without a break, and the end bookmark within a second. Silence is noticed up to a quarter later, so within 5 s.
   */
  readonly streamingListPauseMs: number
  /**
   * ms for which a kind is listed in pages after its streaming list was refused or had no end. What prevented it may pass (a server that is
   * upgraded, a proxy), and another attempt costs half a minute at most.
   */
  readonly pagesOnlyMs: number
  /** Bookmarks come about once a minute; this many intervals without a byte is a dead stream (rule 7). */
  readonly bookmarkIntervals: number
  /** ms beyond the watch's life after which a stream without bookmarks is dead (rule 7). */
  readonly lifeMarginMs: number
  /**
   * ms that a request may take until its response head. Proxies may hold the head back until the first event, so it applies only to lists
   * and probes.
   */
  readonly responseMs: number
  /** Back-off between failed attempts: client-go's 800 ms → 30 s, doubling, jitter 1, reset after 2 min of quiet. */
  readonly backOff: {
    readonly initialMs: number
    readonly maximumMs: number
    readonly factor: number
    readonly jitter: number
    readonly resetAfterMs: number
  }
  /**
   * ms of `Retry-After` that are honoured. A longer wait is cut to between once and twice this time: a server's history is about 5 minutes long, so a watch
   * that waits longer comes back to a gap, and some proxies ask for hours.
   */
  readonly retryAfterMaximumMs: number
  /** A watch that ended sooner than this, in ms, without an event is an error (client-go's VeryShortWatchError). */
  readonly veryShortWatchMs: number
  /** This many relists of one kind within `relistWindowMs` raise an alarm and delay the next by `relistPauseMs` (rule 9). */
  readonly relistLimit: number
  readonly relistWindowMs: number
  readonly relistPauseMs: number
  /**
   * While a resumed stream catches up: ms between two looks at it; how many of them without a change make a brief watch worth its request, and after how many
   * more another one; how many there must have been when a brief watch ends (two thirds of its life), and how many are enough, a minute, if the server
   * does not even end watches. s that a brief watch lasts: its bookmark comes 2 s before its end.
   */
  readonly catchUp: {
    readonly lookMs: number
    readonly quietLooks: number
    readonly briefEveryLooks: number
    readonly provenLooks: number
    readonly enoughLooks: number
    readonly briefSeconds: number
  }
  /** ms between checks for a kind that is not installed: as soon as `kubectl` users expect a new CRD to be noticed. */
  readonly absentPollMs: number
  /** ms between the first looks for a kind that has just been defined, and how many they are: discovery may have it later than the server serves it. */
  readonly expectedPollMs: number
  readonly expectedLooks: number
}

export const defaultWatchPolicy: WatchPolicy = {
  watchLifeSeconds: [300, 600],
  overlapSeconds: 5,
  pageSize: 500,
  streamingListSilenceMs: 30_000,
  streamingListPauseMs: 4_000,
  pagesOnlyMs: 3_600_000,
  bookmarkIntervals: 2.5,
  lifeMarginMs: 15_000,
  responseMs: 60_000,
  backOff: { initialMs: 800, maximumMs: 30_000, factor: 2, jitter: 1, resetAfterMs: 120_000 },
  retryAfterMaximumMs: 30_000,
  veryShortWatchMs: 1000,
  relistLimit: 3,
  relistWindowMs: 60_000,
  relistPauseMs: 30_000,
  catchUp: { lookMs: 250, quietLooks: 2, briefEveryLooks: 16, provenLooks: 8, enoughLooks: 240, briefSeconds: 3 },
  absentPollMs: 10_000,
  expectedPollMs: 200,
  expectedLooks: 50,
}
