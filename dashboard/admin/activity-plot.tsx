import type { ActivityPoint } from '../../protocol/api/admin/overview.schema.ts'

/** Units of the drawing, which is as wide as its place. */
const BAR_WIDTH = 10
const HEIGHT = 100

interface ActivityPlotProps {
  name: string
  points: readonly ActivityPoint[]
  read: (point: ActivityPoint) => number
  format: (value: number) => string
  formatTime: (at: string) => string
}

/** A bar for each interval. The values are also in the table below the plots. */
export function ActivityPlot({ name, points, read, format, formatTime }: ActivityPlotProps) {
  const values = points.map(read)
  const most = Math.max(...values)
  const [first, last] = [points[0], points.at(-1)]
  return (
    <div class="activity-plot">
      <p class="quiet small">{most > 0 ? format(most) : ''}</p>
      <svg
        viewBox={`0 0 ${points.length * BAR_WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} over time, at most ${format(most)}`}
      >
        {points.map((point, index) => {
          const height = most > 0 ? (values[index]! / most) * HEIGHT : 0
          return (
            <g key={point.at}>
              <title>{`${formatTime(point.at)}: ${format(values[index]!)}`}</title>
              <rect class="activity-space" x={index * BAR_WIDTH} y={0} width={BAR_WIDTH} height={HEIGHT} />
              <rect x={index * BAR_WIDTH + 1} y={HEIGHT - height} width={BAR_WIDTH - 2} height={height} />
            </g>
          )
        })}
      </svg>
      <p class="activity-times quiet small">
        <span>{first && formatTime(first.at)}</span>
        <span>{last && formatTime(last.at)}</span>
      </p>
    </div>
  )
}
