/** What is beside the time line, by name. */
import type { ComponentType } from "preact"
import type { PaneProps } from "./shell/pane.ts"

export const panes: Readonly<Partial<Record<"object" | "findings" | "differences", ComponentType<PaneProps>>>> = {}
