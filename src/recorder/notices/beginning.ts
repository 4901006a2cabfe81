/** Why a recorder that has not begun to record is not ready: for `/readyz`, in one line. */
import type { RecorderNotice } from "./recorder-notice.ts"

export class Beginning {
  #progress = "the recorder is starting; try again"
  #trouble: string | undefined

  hear(notice: RecorderNotice): void {
    if (notice.type === "archive") this.#trouble = notice.trouble
    if (notice.type !== "restoring") return
    const { address, segments, allSegments } = notice
    const reached = segments === 0 ? "" : `: ${segments} of ${allSegments} segments`
    this.#progress = `restoring the stream at ${address}${reached}; nothing is recorded yet`
    if (segments > 0) this.#trouble = undefined
  }

  get reason(): string {
    return this.#trouble === undefined ? this.#progress : `${this.#progress}. It cannot go on now: ${this.#trouble}`
  }
}
