/** Opens the copy of a pinned window as a recording without a recorder. On demand: most recorders never do, and their main thread reads no recording. */
import type { openOfflineRecording } from "./offline-recording.ts"

/** As {@link openOfflineRecording}. */
export const openPinned = async (
  ...given: Parameters<typeof openOfflineRecording>
): ReturnType<typeof openOfflineRecording> => (await import("./offline-recording.ts")).openOfflineRecording(...given)
