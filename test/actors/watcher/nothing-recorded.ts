/** The initial state of a watcher whose kind was never recorded. */
import type { KindResumePoint } from "../../../src/wire/index.ts"

export const nothingRecorded: KindResumePoint = {
  resumeVersion: "",
  namespaces: [],
  epoch: 0,
  nextObjectNumber: 1,
  lastTime: 0,
  completeTime: 0,
  clusterUid: "",
  listReason: "",
  selection: "",
}
