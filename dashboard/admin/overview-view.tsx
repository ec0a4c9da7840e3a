import type { Overview } from '../../protocol/api/admin/overview.schema.ts'
import { formatBytes, formatNumber, pluralize } from '../../protocol/format.ts'
import { useResource } from '../api/resource.ts'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Bar, Fact, Facts, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { ActivityPanel } from './activity-panel.tsx'
import { readAdmin } from './admin-client.ts'

/** What an administrator sees first: problems, totals, disk, and activity. */
export function OverviewView() {
  const { value, error, reload } = useResource('admin/overview', () => readAdmin('getOverview'))
  return (
    <div class="stack">
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the overview" />}
      {value && (
        <>
          <Problems problems={value.problems} />
          <TotalsPanel overview={value} />
          <SpacePanel overview={value} />
        </>
      )}
      <ActivityPanel />
    </div>
  )
}

function Problems({ problems }: Pick<Overview, 'problems'>) {
  const { sweeps, backups, certificates, domains, silentNodes } = problems
  const found = [
    { href: '/admin/sweeps', count: sweeps, text: `${pluralize(sweeps, 'sweep')} failed at the last run` },
    {
      href: '/docs/incidents',
      count: backups,
      text: `${backups === 1 ? 'The last backup' : `The last ${formatNumber(backups)} backups`} failed`,
    },
    {
      href: '/admin/certificates',
      count: certificates,
      text: `${pluralize(certificates, 'certificate')} could not be issued or renewed`,
    },
    {
      href: '/admin/domains',
      count: domains,
      text: `${pluralize(domains, 'domain')} no longer ${domains === 1 ? 'leads' : 'lead'} to this server`,
    },
    { href: '/admin/nodes', count: silentNodes, text: `${pluralize(silentNodes, 'node')} without a report` },
  ].filter(({ count }) => count > 0)
  if (found.length === 0) return null
  return (
    <Notice tone="warn" title="Needs attention">
      <ul class="plain-list">
        {found.map(({ href, text }) => (
          <li key={href}>
            <a href={href}>{text}</a>
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function TotalsPanel({ overview: { totals, countedAt, release } }: { overview: Overview }) {
  const lead = countedAt ? (
    <>
      Counted <RelativeTime at={countedAt} />. Slipway {release}.
    </>
  ) : (
    'Counted for the first time within ten minutes of the start.'
  )
  return (
    <Panel title="Totals" lead={lead}>
      <Facts>
        <Fact name="Sites">
          {formatNumber(totals.sites)} ({formatBytes(totals.siteBytes)})
        </Fact>
        <Fact name="Accounts">{formatNumber(totals.accounts)}</Fact>
        <Fact name="Domains">{formatNumber(totals.domains)}</Fact>
        <Fact name="Versions">{formatNumber(totals.versions)}</Fact>
        <Fact name="Being uploaded">
          {formatNumber(totals.pendingVersions)} ({formatBytes(totals.pendingBytes)})
        </Fact>
        <Fact name="Stored files">
          {formatNumber(totals.blobs)} ({formatBytes(totals.blobBytes)})
        </Fact>
      </Facts>
    </Panel>
  )
}

function SpacePanel({ overview: { disk, cache } }: { overview: Overview }) {
  const usedBytes = disk.totalBytes - disk.freeBytes
  const left = disk.freeBytes - disk.reserveBytes
  const uses = [
    {
      name: 'Disk',
      text: `${formatBytes(usedBytes)} of ${formatBytes(disk.totalBytes)}`,
      share: usedBytes / disk.totalBytes,
      hint:
        left > 0
          ? `${formatBytes(left)} left for publishing; ${formatBytes(disk.reserveBytes)} are reserved`
          : 'The reserve is reached: publishing is refused',
    },
    {
      name: 'Cache in memory',
      text: `${formatBytes(cache.usedBytes)} of ${formatBytes(cache.limitBytes)}`,
      share: cache.usedBytes / Math.max(1, cache.limitBytes),
      hint: 'Sites, files and responses of this process',
    },
  ]
  return (
    <Panel title="Disk and cache">
      <div class="uses">
        {uses.map(({ name, text, share, hint }) => (
          <div key={name} class="stack tight">
            <p class="use">
              <span>{name}</span>
              <span>{text}</span>
            </p>
            <Bar label={name} share={share} text={text} />
            <p class="quiet small">{hint}</p>
          </div>
        ))}
      </div>
    </Panel>
  )
}
