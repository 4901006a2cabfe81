/** What is beside the time line, by name. */
import type { ComponentType } from "preact"
import { DifferencesPane } from "./object/differences-pane.tsx"
import { FindingsPane } from "./object/findings-pane.tsx"
import { ObjectPane } from "./object/object-pane.tsx"
import { PinsPane } from "./pins/pins-pane.tsx"
import type { PaneProps } from "./shell/pane.ts"

export const panes: Readonly<Record<"object" | "findings" | "differences" | "pins", ComponentType<PaneProps>>> = {
  object: ObjectPane,
  findings: FindingsPane,
  differences: DifferencesPane,
  pins: PinsPane,
}
