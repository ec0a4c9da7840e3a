import { useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { VisitRange, Visits } from '../../protocol/api/visits.ts'
import { useResource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Empty, Loading, Panel } from '../kit/panel.tsx'
import { dayLabel } from './interval-labels.ts'
import { Numbers } from './visits-numbers.tsx'
import { Ranked } from './visits-ranked.tsx'
import { Series } from './visits-series.tsx'

const RANGES: { range: VisitRange; name: string; words: string }[] = [
  { range: '24h', name: '24 hours', words: 'the last 24 hours' },
  { range: '7d', name: '7 days', words: 'the last 7 days' },
  { range: '30d', name: '30 days', words: 'the last 30 days' },
  { range: '90d', name: '90 days', words: 'the last 90 days' },
]

/** The API's default, used for a URL without a range. */
const DEFAULT_RANGE = RANGES[1]!

/** Visits of a site with its most requested paths. */
export function VisitsView({ slug }: { slug: string }) {
  if (!settings.visits) return <NotCounted />
  return <CountedVisits slug={slug} />
}

function CountedVisits({ slug }: { slug: string }) {
  const { path, query } = useLocation()
  const chosen = RANGES.find(({ range }) => range === query.range) ?? DEFAULT_RANGE
  const { range } = chosen
  const resource = useResource(`site/${slug}/visits/${range}`, () => slipway.visits(slug, range))
  // The previous range stays visible while another one loads.
  const last = useRef<Visits | undefined>(undefined)
  last.current = resource.value ?? last.current
  const visits = resource.error ? resource.value : last.current
  return (
    <div class="stack">
      <div class="panel-head">
        <nav class="ranges" aria-label="How far back">
          {RANGES.map((it) => (
            <a
              key={it.range}
              href={`${path}?range=${it.range}`}
              aria-current={it === chosen ? 'page' : undefined}
            >
              {it.name}
            </a>
          ))}
        </nav>
        <Button variant="link" busy={resource.loading} onClick={resource.reload}>
          Refresh
        </Button>
      </div>
      <ErrorNotice error={resource.error} onRetry={resource.reload} />
      {!visits && resource.loading && <Loading what="the visits" />}
      {visits && (
        <div class="stack" aria-busy={resource.value === undefined}>
          <Counted visits={visits} />
        </div>
      )}
      <HowItIsCounted />
    </div>
  )
}

function Counted({ visits }: { visits: Visits }) {
  const { counted, totals, topPaths, referrers, missingPaths, from, range } = visits
  if (!counted) return <NotCounted />
  const words = RANGES.find((it) => it.range === range)!.words
  if (totals.requests === 0) return <NoVisits words={words} />
  const since = range === '24h' ? `Counted by day: since ${dayLabel(from)}, 00:00 UTC.` : undefined
  return (
    <>
      <Series visits={visits} words={words} />
      <Ranked title="Pages and files" of="Path" counts={topPaths} since={since} none="Nothing was found." />
      <div class="pair">
        <Ranked
          title="Came from"
          of="Site"
          counts={referrers}
          since={since}
          none="No page elsewhere led here."
        />
        <Ranked
          title="Not found"
          of="Path"
          counts={missingPaths}
          since={since}
          none="Everything that was asked for was there."
        />
      </div>
      <Numbers visits={visits} />
    </>
  )
}

function NoVisits({ words }: { words: string }) {
  return (
    <Empty title={`Nobody came in ${words}.`}>
      <p class="quiet">A visit shows here within seconds.</p>
    </Empty>
  )
}

function NotCounted() {
  return (
    <Notice title="Visits are not counted here.">
      <p>
        Whoever runs this service turned it off, with <code>SLIPWAY_VISITS=off</code>.
      </p>
    </Notice>
  )
}

/** Explains how visits are counted. */
function HowItIsCounted() {
  return (
    <Panel title="How it is counted">
      <p class="quiet">
        Each answer to a visitor is a request, with the bytes that were sent. A visitor is a browser at an
        address that read a page, counted once a day, in the hour in which it came first; days are those of
        UTC. No cookie is set, and no address is kept: visitors are told apart by a hash with a secret of the
        day, and both are deleted after it. So nobody is known from one day to the next.
      </p>
    </Panel>
  )
}
