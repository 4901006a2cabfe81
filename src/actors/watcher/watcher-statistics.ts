/** The counters of a watcher's life, over all its sessions. */
import type { WatcherStatistics } from "./definition.ts"
import type { KindWatch } from "./kind-watch.ts"

type Statistics = typeof WatcherStatistics.Type

/** All are 0 until the stored state is known. */
export const watcherStatistics = (watch: Pick<KindWatch, "sessions" | "recorder"> | undefined): Statistics => {
  const sessions = (watch?.sessions ?? []).map(({ statistics }) => statistics)
  const sum = (pick: (statistics: (typeof sessions)[number]) => number): number =>
    sessions.reduce((total, each) => total + pick(each), 0)
  const recorded = watch?.recorder.statistics
  const pods = watch?.recorder.podStatistics
  return {
    received: sum(({ objects }) => objects),
    recorded: (recorded?.recorded ?? 0) + (recorded?.vanished ?? 0),
    unchanged: recorded?.unchanged ?? 0,
    repeated: sum(({ repeated }) => repeated),
    late: watch?.recorder.frames.lateChanges ?? 0,
    leftOut: recorded?.leftOut ?? 0,
    gaps: recorded?.gaps ?? 0,
    relists: sum(({ relists }) => relists),
    watches: sum(({ watches }) => watches),
    cuts: sum(({ cuts }) => cuts),
    bookmarks: sum(({ bookmarks }) => bookmarks),
    malformedLines: sum(({ malformedLines }) => malformedLines),
    slowLines: sum(({ slowLines }) => slowLines),
    bytes: sum(({ bytes }) => bytes),
    // One server, one clock: any session that has received its time will do.
    clockSkewMs: sessions.find(({ clockSkewMs }) => clockSkewMs !== 0)?.clockSkewMs ?? 0,
    liveObjects: watch?.recorder.index.size ?? 0,
    followedPods: pods?.size ?? 0,
    podLives: pods?.records ?? 0,
    undecodablePods: pods?.undecodable ?? 0,
    lastEventTime: watch?.recorder.frames.lastTime ?? 0,
  }
}
