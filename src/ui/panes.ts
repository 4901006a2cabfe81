/** What is beside the time line, by name: of a recording that is served, pins as well. */
import type { ComponentType } from "preact"
import { DifferencesPane } from "./object/differences-pane.tsx"
import { FindingsPane } from "./object/findings-pane.tsx"
import { ObjectPane } from "./object/object-pane.tsx"
import type { PaneProps } from "./shell/pane.ts"

export const panes: Readonly<Record<"object" | "findings" | "differences", ComponentType<PaneProps>>> = {
  object: ObjectPane,
  findings: FindingsPane,
  differences: DifferencesPane,
}
