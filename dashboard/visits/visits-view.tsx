import { useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { FilteredVisits, VisitFilter, Visits } from '../../protocol/api/visits.schema.ts'
import type { VisitNameKind, VisitRange } from '../../protocol/api/visits.ts'
import { stripControlChars } from '../../protocol/format.ts'
import { toDisplayError } from '../api/display-error.ts'
import { useResource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Empty, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { dayLabel } from './interval-labels.ts'
import { readVisitFilter, toShownVisits, visitsHref } from './shown-visits.ts'
import { Numbers } from './visits-numbers.tsx'
import { Ranked } from './visits-ranked.tsx'
import { Series } from './visits-series.tsx'

const RANGES: { range: VisitRange; name: string; words: string }[] = [
  { range: '24h', name: '24 hours', words: 'the last 24 hours' },
  { range: '7d', name: '7 days', words: 'the last 7 days' },
  { range: '30d', name: '30 days', words: 'the last 30 days' },
  { range: '90d', name: '90 days', words: 'the last 90 days' },
]

const { timeZone } = Intl.DateTimeFormat().resolvedOptions()

/** The visits by days of the browser; by days of UTC where the server does not know its time zone. */
async function loadVisits(slug: string, range: VisitRange, filter: VisitFilter): Promise<Visits> {
  try {
    return await slipway.visits(slug, range, { timeZone, ...filter })
  } catch (error) {
    if (toDisplayError(error).fields.timeZone === undefined) throw error
    return slipway.visits(slug, range, filter)
  }
}

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
  const filter = readVisitFilter(query)
  const resource = useResource(`site/${slug}/visits/${visitsHref('', range, filter)}`, () =>
    loadVisits(slug, range, filter),
  )
  // What was shown before stays visible while something else loads.
  const last = useRef<Visits | undefined>(undefined)
  last.current = resource.value ?? last.current
  const visits = resource.error ? resource.value : last.current
  return (
    <div class="stack">
      <div class="panel-head">
        <nav class="ranges" aria-label="Time range">
          {RANGES.map((it) => (
            <a
              key={it.range}
              href={visitsHref(path, it.range, filter)}
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
          <Counted visits={visits} hrefOf={(filter) => visitsHref(path, range, filter)} />
        </div>
      )}
      <HowItIsCounted />
    </div>
  )
}

interface CountedProps {
  visits: Visits
  hrefOf: (filter: VisitFilter) => string
}

function Counted({ visits, hrefOf }: CountedProps) {
  const { counted, totals, topPages, topFiles, referrers, missingPaths, from, range, filtered } = visits
  if (!counted) return <NotCounted />
  const words = RANGES.find((it) => it.range === range)!.words
  if (totals.requests === 0) return <NoVisits words={words} />
  const since = range === '24h' ? `Counted per UTC day, since ${dayLabel(from, 'UTC')}.` : undefined
  const shown = toShownVisits(visits, words, visits.timeZone === timeZone ? undefined : 'UTC')
  const list = (kind: VisitNameKind) => ({
    kind,
    since,
    selected: filtered?.kind === kind ? filtered.name : undefined,
    hrefOf,
  })
  return (
    <>
      {filtered && <Selected {...filtered} allHref={hrefOf({})} />}
      <Series visits={shown} words={words} />
      <div class="pair">
        <Ranked title="Pages" of="Path" counts={topPages} none="No page views." {...list('path')} />
        <Ranked title="Files" of="Path" counts={topFiles} none="No other files." {...list('path')} />
      </div>
      <div class="pair">
        <Ranked title="Referrers" of="Site" counts={referrers} none="No referrers." {...list('referrer')} />
        <Ranked
          title="Not found"
          of="Path"
          counts={missingPaths}
          none="No missing pages."
          {...list('missing')}
        />
      </div>
      <Numbers visits={shown} />
    </>
  )
}

/** Names the row that is shown, and what the lists show. */
function Selected({ kind, name, allHref }: FilteredVisits & { allHref: string }) {
  const words = { path: 'Requests of', missing: 'Requests of', referrer: 'Requests referred by' }[kind]
  return (
    <div class="panel selected" role="status">
      <p>
        {words} <bdi>{stripControlChars(name)}</bdi>. Pages and referrers are counted separately, so the lists
        show all visits.
      </p>
      <ButtonLink href={allHref}>Show all visits</ButtonLink>
    </div>
  )
}

function NoVisits({ words }: { words: string }) {
  return (
    <Empty title={`No visits in ${words}.`}>
      <p class="quiet">New visits appear within seconds.</p>
    </Empty>
  )
}

function NotCounted() {
  return (
    <Notice title="Visits aren't counted on this server">
      <p>
        The administrator turned counting off with <code>SLIPWAY_VISITS=off</code>.
      </p>
    </Notice>
  )
}

/** Explains how visits are counted. */
function HowItIsCounted() {
  return (
    <Panel title="How visits are counted">
      <p class="quiet">
        A visitor is one browser per day. Bots count as requests, not as visitors. We use no cookies and store
        no IP addresses; visitors can't be tracked across days.
      </p>
    </Panel>
  )
}
