import { useState } from 'preact/hooks'
import { longLabel } from './interval-labels.ts'
import type { ShownVisits } from './shown-visits.ts'
import { VisitsPlot } from './visits-plot.tsx'

/** The counts over time: a plot of each, and all values at the pointer. */
export function Series({ visits, words }: { visits: ShownVisits; words: string }) {
  const { series, interval, totals, previous, measures, timeZone, when: since } = visits
  const [at, point] = useState<number | undefined>(undefined)
  const pointed = at === undefined ? undefined : series[at]
  const when = pointed
    ? longLabel(pointed.at, interval, timeZone, at === series.length - 1)
    : since[0]!.toUpperCase() + since.slice(1)
  return (
    <section class="panel stack" aria-label="Over time">
      <div class="panel-head">
        <h2>Over time</h2>
        <p class="quiet small">{when}</p>
      </div>
      {measures.map(({ of, name, words: format, brief }) => (
        <div key={of} class="measure">
          <div>
            <h3>{name}</h3>
            <p class="total">{format((pointed ?? totals)[of])}</p>
            {!pointed && (
              <Change now={totals[of]} before={previous?.[of]} than={words.replace('last', 'previous')} />
            )}
          </div>
          <VisitsPlot
            name={`${name} by ${interval}: ${format(totals[of])} ${since}. The numbers are in the table below.`}
            values={series.map((numbers) => numbers[of])}
            times={series.map((numbers) => numbers.at)}
            interval={interval}
            timeZone={timeZone}
            brief={brief}
            onPoint={point}
          />
        </div>
      ))}
      <p class="quiet small">
        {timeZone ? 'Days are those of UTC.' : 'Times are in your time zone.'}
        {previous?.requests ? ` Compared with ${words.replace('last', 'previous')}.` : ''}
      </p>
    </section>
  )
}

interface ChangeProps {
  now: number
  before: number | undefined
  /** The time before, such as "the previous 7 days". */
  than: string
}

/** How a number has changed since the time before; nothing without a number to compare with. */
function Change({ now, before, than }: ChangeProps) {
  if (!before) return null
  const ratio = now / before - 1
  const text = ratio.toLocaleString('en', {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: 0,
  })
  return (
    <p class="quiet small">
      {text} <span class="visually-hidden">compared with {than}</span>
    </p>
  )
}
