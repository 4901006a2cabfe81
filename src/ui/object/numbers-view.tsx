/** Plots of the object's numbers. uPlot is loaded when the first is drawn; in a file, which loads nothing, they are simple drawings. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { StepChart } from "../report/step-chart.tsx"
import type { ObjectChange, Span } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"
import { momentText, type Zone } from "../timeline/axis.ts"
import { type NumberSeries, numbersOf } from "./numbers.ts"
import type { PlotModule, Plotted } from "./plot.ts"

interface NumbersViewProps {
  readonly changes: ReadonlyArray<ObjectChange>
  readonly span: Span
  readonly zone: Zone
  readonly cursor: number | undefined
  readonly onChoose: (time: number) => void
}

/** Plots that are shown until others are chosen. */
const first = 3

let loading: Promise<PlotModule | undefined> | undefined

const usePlots = (isWanted: boolean): PlotModule | "none" | undefined => {
  const [module, setModule] = useState<PlotModule | "none">()
  useEffect(() => {
    if (!isWanted) return
    // A file has one script, and its policy forbids others.
    loading ??=
      document.getElementById("source") === null
        ? import("./plot.ts").catch(() => undefined)
        : Promise.resolve(undefined)
    void loading.then((loaded) => setModule(loaded ?? "none"))
  }, [isWanted])
  return module
}

export const NumbersView = ({ changes, span, zone, cursor, onChoose }: NumbersViewProps) => {
  const all = useMemo(() => numbersOf(changes, span), [changes, span.from, span.to])
  const [chosen, setChosen] = useState<ReadonlySet<string>>()
  const module = usePlots(all.length > 0)
  const isShown = (path: string, index: number): boolean => (chosen === undefined ? index < first : chosen.has(path))
  if (all.length === 0) return <p class="note">No number of it changed in this window.</p>
  const toggle = (path: string): void => {
    const next = new Set(all.filter((each, index) => isShown(each.path, index)).map((each) => each.path))
    if (!next.delete(path)) next.add(path)
    setChosen(next)
  }
  return (
    <div class="numbers">
      <fieldset class="choices">
        <legend class="hidden">numbers</legend>
        {all.map(({ path, times }, index) => (
          <button key={path} type="button" aria-pressed={isShown(path, index)} onClick={() => toggle(path)}>
            {visible(path)} <span class="quiet">{times.length - 2}</span>
          </button>
        ))}
      </fieldset>
      {module !== undefined &&
        all
          .filter(({ path }, index) => isShown(path, index))
          .map((series) => <Plot key={series.path} {...{ series, span, zone, cursor, onChoose, module }} />)}
    </div>
  )
}

interface PlotProps extends Omit<NumbersViewProps, "changes"> {
  readonly series: NumberSeries
  readonly module: PlotModule | "none"
}

const Plot = ({ series, span, zone, cursor, onChoose, module }: PlotProps) => {
  const place = useRef<HTMLDivElement>(null)
  const plotted = useRef<Plotted | undefined>(undefined)
  const numbers = series.values.filter((value) => value !== null)
  const note = `${Math.min(...numbers)} to ${Math.max(...numbers)}`
  const length = Math.max(1, span.to - span.from)
  useEffect(() => {
    if (module === "none" || place.current === null) return
    const made = module.plot(place.current, {
      series,
      span,
      label: (time) => momentText(zone, time).slice(11, 19),
      onChoose,
    })
    plotted.current = made
    return () => made.end()
  }, [module, series, span.from, span.to, zone])
  useEffect(() => plotted.current?.mark(cursor), [cursor, module, series])
  if (module !== "none")
    return (
      <figure class="plot">
        <figcaption>
          {visible(series.path)} <span class="quiet">{note}</span>
        </figcaption>
        <div ref={place} role="img" aria-label={`${visible(series.path)}: ${note}`} />
      </figure>
    )
  const points = series.times.map((time, index) => [(time - span.from) / length, series.values[index] ?? null] as const)
  return (
    <StepChart
      title={visible(series.path)}
      note={note}
      lines={[{ name: series.path, points }]}
      onPress={(at) => onChoose(Math.round(span.from + at * length))}
      {...(cursor !== undefined && { cursor: (cursor - span.from) / length })}
    />
  )
}
