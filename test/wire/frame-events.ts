import { FrameEvent } from "../../src/wire/frame-event.ts"

/** An event whose object is all of `bytes`, unless said otherwise. */
export const frameEvent = (members: Partial<FrameEvent>): FrameEvent =>
  Object.assign(new FrameEvent(), { end: members.bytes?.length ?? 0, ...members })
