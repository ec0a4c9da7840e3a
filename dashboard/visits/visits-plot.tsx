import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { shortLabel } from './interval-labels.ts'
import type { ShownVisits } from './shown-visits.ts'

interface PlotProps extends Pick<ShownVisits, 'interval' | 'timeZone'> {
  /** Accessible name. */
  name: string
  values: number[]
  /** Start of each interval. */
  times: string[]
  /** A short label of a value. */
  brief: (value: number) => string
  /** Receives the hovered interval; undefined when there is none. */
  onPoint: (at: number | undefined) => void
}

/** CSS pixels. */
const HEIGHT = 128
const LEFT = 68
const BETWEEN_TIMES = 64

/** Axis steps: 1, 2, 5, 10, 20 … */
const STEPS = Array.from({ length: 48 }, (_, at) => [1, 2, 5][at % 3]! * 10 ** Math.floor(at / 3))

/** Steps of the vertical axis. */
const MAX_STEPS = 3

/** Intervals between two axis labels. */
const STRIDES = [1, 2, 3, 4, 6, 7, 12, 14, 28, 45]

/**
 * A bar chart over time, as wide as possible, in the colors of the page; all charts share the hovered
 * position.
 */
export function VisitsPlot({ name, ...shown }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(shown)
  latest.current = shown
  const plot = useRef<uPlot | undefined>(undefined)
  useEffect(() => {
    const drawn = draw(box.current!, () => latest.current)
    plot.current = drawn
    const room = new ResizeObserver(([entry]) =>
      drawn.setSize({ width: entry!.contentRect.width, height: HEIGHT }),
    )
    room.observe(box.current!)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const repaint = () => drawn.redraw()
    scheme.addEventListener('change', repaint)
    return () => {
      scheme.removeEventListener('change', repaint)
      room.disconnect()
      drawn.destroy()
    }
  }, [])
  const data = shown.values.join()
  useEffect(
    () => plot.current?.setData(toPlotData(latest.current.values)),
    [data, shown.times[0], shown.interval],
  )
  return <div class="plot" ref={box} role="img" aria-label={name} />
}

function draw(box: HTMLElement, shown: () => Omit<PlotProps, 'name'>): uPlot {
  const color = (name: string) => () => getComputedStyle(box).getPropertyValue(name)
  const axis = {
    stroke: color('--quiet'),
    font: `12px ${getComputedStyle(box).fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { show: false },
        sync: { key: 'visits' },
      },
      scales: {
        x: { time: false, range: () => [-0.5, shown().values.length - 0.5] },
        y: { range: (_, __, most) => [0, scaleEnd(most)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 28,
          space: BETWEEN_TIMES,
          incrs: STRIDES,
          values: (_, places) =>
            places.map((at) => {
              const time = shown().times[at]
              return time === undefined ? '' : shortLabel(time, shown().interval, shown().timeZone)
            }),
        },
        {
          ...axis,
          size: LEFT,
          space: 36,
          incrs: STEPS,
          splits: (_, __, ___, end) => axisValues(end),
          values: (_, values) => values.map((value) => shown().brief(value)),
        },
      ],
      series: [
        {},
        {
          fill: color('--accent'),
          paths: uPlot.paths.bars!({ size: [0.75, 40], radius: 0.1 }),
          points: { show: false },
        },
      ],
      hooks: { setCursor: [({ cursor }) => shown().onPoint(cursor.idx ?? undefined)] },
    },
    toPlotData(shown().values),
    box,
  )
}

/** The end of the vertical axis: the first label that is not below the tallest bar. */
function scaleEnd(most: number): number {
  const step = axisStep(most)
  return Math.max(1, Math.ceil(most / step) * step)
}

function axisValues(end: number): number[] {
  const step = axisStep(end)
  return Array.from({ length: Math.round(end / step) + 1 }, (_, index) => index * step)
}

function axisStep(end: number): number {
  return STEPS.find((step) => step * MAX_STEPS >= end) ?? end
}

function toPlotData(values: number[]): uPlot.AlignedData {
  return [values.map((_, at) => at), values]
}
