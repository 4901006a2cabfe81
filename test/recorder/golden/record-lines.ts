/**
 * Feeds recorded watch lines through the real watch session and recording sink into a real archive, one line at a time in the
 * order in which they were received, with the recorded receive times as the clock. No sockets, no threads, no waiting.
 */

import { objectRecorder, wholeKindSink } from "../../../src/actors/watcher/kind-watch.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import type { Clock } from "../../../src/clock.ts"
import { compileDetectRules, defaultWatchPolicy, type ResponseHandler, WatchSession } from "../../../src/kube/index.ts"
import { formatGvk } from "../../../src/kube/offline.ts"
import { podKind, podLivesKind } from "../../../src/trace/index.ts"
import { nothingRecorded as resume } from "../../actors/watcher/nothing-recorded.ts"
import { readRecording } from "../../harness/recorded-watches.ts"

/**
 * Records the given kinds, with `detect: spec`, into `directory`. Pod lifecycles are followed: with the events of `v1.Pod` if that is among
 * them, or alone if `lifecycle/v1.Pod` is.
 */
export const recordLines = async (recording: string, gvks: ReadonlySet<string>, directory: string): Promise<void> => {
  const found = (await readRecording(recording)).map((kind) => ({ ...kind, name: formatGvk(kind.resource.gvk) }))
  const pods = found.filter(({ name }) => name === podKind).map((kind) => ({ ...kind, name: podLivesKind }))
  const kinds = [...found, ...pods].filter(({ name }) => gvks.has(name))
  const archive = ArchiveWriter.open(directory)
  let now = 0
  const clock: Clock = {
    wallMicros: () => now,
    monotonicMs: () => now / 1000,
    after: () => ({ cancel: () => undefined }),
  }
  const recorders = await Promise.all(
    kinds.map(async ({ resource, lines, name: gvk }) => {
      const rules = compileDetectRules({ gvk: resource.gvk, detect: "spec", ignore: [] })
      const incarnation = archive.nextIncarnation(gvk)
      const memory = Buffer.alloc(1024 * 1024)
      let frames = 0
      const outlet = {
        isWritable: true,
        reserve: () => memory,
        commit: (length: number) => {
          archive.append(gvk, incarnation, ++frames, memory.subarray(0, length))
          return frames
        },
      }
      const listener = {
        stateChanged: () => undefined,
        alarm: unexpected,
        unauthorized: unexpected,
        clusterIdentified: () => undefined,
      }
      const followed =
        gvk === podLivesKind || gvk === podKind ? { nextPodNumber: 1, pods: [], interrupted: [] } : undefined
      const recorder = objectRecorder(
        { gvk, rules, keepManagedFields: true, skipOwned: false, recordsEvents: gvk !== podLivesKind },
        { outlet, clock, alarm: unexpected },
        { resume, objects: [] },
        followed,
      )
      const sink = wholeKindSink({ recorder, listener, loaded: { resume }, selection: "", followed })
      let handler: ResponseHandler | undefined
      const session = new WatchSession({
        transport: {
          get: (_path, _headers, given) => {
            handler = given
            return { pause: () => undefined, resume: () => undefined, abort: () => undefined, bytesReceived: 0 }
          },
        },
        enquiries: {
          discover: async (found) => {
            found("/recorded")
            return { type: "discovered" }
          },
          probe: async () => unexpected(),
        },
        sink,
        listener,
        clock,
        random: () => 0.5,
        policy: defaultWatchPolicy,
        gvk: resource.gvk,
        rules,
        labelSelector: undefined,
        fieldSelector: undefined,
        resumeVersion: undefined,
        clusterUid: undefined,
      })
      session.start()
      await new Promise((resolve) => setImmediate(resolve))
      handler?.head(200, new Map())
      return {
        lines,
        feed: (bytes: Buffer) => {
          handler?.data(bytes, 0, bytes.length)
          handler?.readDone?.()
        },
        flush: () => recorder.frames.flush(),
        session,
      }
    }),
  )
  const all = recorders.flatMap(({ lines, feed, flush }) =>
    lines.map(({ time, bytes }) => ({ time, bytes, feed, flush })),
  )
  all.sort((left, right) => left.time - right.time)
  for (const { time, bytes, feed, flush } of all) {
    now = time
    feed(bytes)
    flush()
  }
  for (const { session } of recorders) session.stop()
  archive.commit()
  archive.close()
}

const unexpected = (detail?: string): never => {
  throw new Error(`the recording asked for something that a good server never causes: ${detail ?? ""}`)
}
