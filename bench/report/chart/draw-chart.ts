/**
 * Draws a Vega-Lite specification as SVG. Vega is loaded only here and only when something is drawn: it is a development
 * dependency, and a run without it measures as well.
 */
import type { Specification } from "./chart-rows.ts"

/** The packages are not installed. */
export class NoChartsError extends Error {
  constructor(cause: unknown) {
    super("no charts: the packages vega and vega-lite are not installed (npm ci brings them)", { cause })
  }
}

/** @throws NoChartsError */
export const drawChart = async (specification: Specification): Promise<string> => {
  const [vega, vegaLite] = await Promise.all([import("vega"), import("vega-lite")]).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") throw new NoChartsError(cause)
    throw cause
  })
  const { spec } = vegaLite.compile(specification as unknown as Parameters<typeof vegaLite.compile>[0], {
    logger: vega.logger(vega.Error),
  })
  const view = new vega.View(vega.parse(spec), { renderer: "none", logLevel: vega.Error })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}
