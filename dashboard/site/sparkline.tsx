interface SparklineProps {
  /** Accessible name. */
  name: string
  values: number[]
}

/** The size of the drawing, which is stretched to the width of its place. */
const WIDTH = 100
const HEIGHT = 24

/** A small line chart without axes. */
export function Sparkline({ name, values }: SparklineProps) {
  const most = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map((value, at) => `${round(at * step)},${round(HEIGHT - (value / most) * HEIGHT)}`)
  return (
    <svg
      class="sparkline"
      viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={name}
    >
      <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
      <polyline points={points.join(' ')} vector-effect="non-scaling-stroke" />
    </svg>
  )
}

function round(number: number): number {
  return Math.round(number * 100) / 100
}
