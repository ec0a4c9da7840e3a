import { formatNumber, pluralize } from '../../protocol/format.ts'
import { useResource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { Sparkline } from './sparkline.tsx'

const RANGE = '30d'

/** The visitors of a month in a small chart; nothing on a server that does not count them. */
export function OverviewVisits({ slug }: { slug: string }) {
  const { value, error, loading, reload } = useResource(
    settings.visits ? `site/${slug}/visits/${RANGE}` : undefined,
    () => slipway.visits(slug, RANGE),
  )
  if (!settings.visits) return null
  const visitors = value?.totals.visitors ?? 0
  return (
    <Panel title="Visitors" actions={<a href={`/sites/${slug}/visits?range=${RANGE}`}>View visits</a>}>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && loading && <Loading what="the visits" />}
      {value && (
        <>
          <p>
            <span class="total">{formatNumber(visitors)}</span> <span class="quiet small">in 30 days</span>
          </p>
          <Sparkline
            name={`${pluralize(visitors, 'visitor')} in 30 days`}
            values={value.series.map((day) => day.visitors)}
          />
        </>
      )}
    </Panel>
  )
}
