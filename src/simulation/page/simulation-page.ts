/** The frame of the pages of replays, with the style and the script of their charts. */
import type { Html } from "../../page/html.ts"
import { page } from "../../page/page.ts"
import { pageScript } from "./page-script.ts"
import { pageStyle } from "./page-style.ts"

/** `body` must not have inline styles or handlers: the policy ignores them. */
export const simulationPage = (title: string, body: Html): string =>
  page({ title, style: pageStyle, script: pageScript }, body)
