import { useState } from 'preact/hooks'
import type { ReportedSite, ReportState } from '../../protocol/api/admin/moderation.schema.ts'
import type { ReportReason } from '../../protocol/api/reports.ts'
import { pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { Choice } from '../kit/field.tsx'
import { Menu } from '../kit/menu.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Empty } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin } from './admin-client.ts'
import { RemoveDialog, SuspendDialog } from './moderation-dialogs.tsx'
import { accountTarget, type ModerationTarget, siteTarget, undo } from './moderation-target.ts'
import { MorePages, useAdminPages } from './pages.tsx'

const STATES: { value: ReportState; name: string }[] = [
  { value: 'open', name: 'Open' },
  { value: 'dismissed', name: 'Dismissed' },
  { value: 'acted', name: 'Led to an action' },
]

const REASONS: Record<ReportReason, string> = {
  phishing: 'Phishing',
  malware: 'Malware',
  illegal: 'Illegal content',
  copyright: 'Copyright',
  other: 'Other',
}

/** Reports of a site that are shown before the others. */
const FIRST_REPORTS = 3

/** What visitors have reported, a site at a time. */
export function ReportsView() {
  const [state, choose] = useState<ReportState>('open')
  const { value, error, reload, refresh, more } = useAdminPages(`admin/reports/${state}`, 'listReports', {
    state,
  })
  return (
    <div class="stack">
      <div class="report-states">
        <Choice
          label="Reports"
          value={state}
          choices={STATES}
          onChoose={(chosen) => choose(chosen as ReportState)}
        />
      </div>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the reports" />}
      {value?.rows.length === 0 && (
        <Empty title={state === 'open' ? 'No open reports' : 'No such reports'}>
          <p>Visitors report sites with the form at /report.</p>
        </Empty>
      )}
      {value?.rows.map((site) => (
        <SiteReports key={site.slug} site={site} onChanged={refresh} />
      ))}
      <MorePages value={value} more={more} />
    </div>
  )
}

interface SiteReportsProps {
  site: ReportedSite
  onChanged: () => Promise<void>
}

function SiteReports({ site, onChanged }: SiteReportsProps) {
  const { slug, siteUrl, title, ownerEmail, isSuspended, count, firstAt, lastAt, latest } = site
  const id = `reports-${slug}`
  const others = latest.slice(FIRST_REPORTS)
  return (
    <section class="panel stack" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>
          <a href={siteUrl} target="_blank" rel="noreferrer">
            <bdi>{title ?? slug}</bdi>
          </a>
        </h2>
        {isSuspended && <Badge tone="wrong">Suspended</Badge>}
      </div>
      <p class="quiet small">
        {slug} ·{' '}
        {ownerEmail ? (
          <a href={`/admin/accounts?q=${encodeURIComponent(ownerEmail)}`}>
            <bdi>{ownerEmail}</bdi>
          </a>
        ) : (
          'Anonymous'
        )}{' '}
        · {pluralize(count, 'report')}, the first <RelativeTime at={firstAt} />, the last{' '}
        <RelativeTime at={lastAt} />
      </p>
      <p class="record-marks">
        {countReasons(latest).map(([reason, number]) => (
          <Badge key={reason} tone="warn">
            {REASONS[reason]}
            {number > 1 && ` × ${number}`}
          </Badge>
        ))}
      </p>
      <ReportList reports={latest.slice(0, FIRST_REPORTS)} />
      {others.length > 0 && (
        <details>
          <summary class="small">{pluralize(others.length, 'earlier report')}</summary>
          <ReportList reports={others} />
        </details>
      )}
      <ReportActions site={site} onChanged={onChanged} />
    </section>
  )
}

/** Visitors choose the addresses of their reports, so that these are no links. */
function ReportList({ reports }: { reports: ReportedSite['latest'] }) {
  return (
    <ul class="plain-list report-list">
      {reports.map(({ at, reason, url, text, email }) => (
        <li key={`${at} ${url} ${text}`}>
          <p class="small">
            {REASONS[reason]} <span class="quiet">·</span> <RelativeTime at={at} />{' '}
            <span class="quiet">·</span> <bdi>{url}</bdi>
          </p>
          {text && (
            <p class="report-text">
              <bdi>{text}</bdi>
            </p>
          )}
          {email && (
            <p class="small">
              From <a href={`mailto:${encodeURIComponent(email)}`}>{email}</a>
            </p>
          )}
        </li>
      ))}
    </ul>
  )
}

interface OpenDialog {
  Dialog: typeof SuspendDialog
  target: ModerationTarget
}

function ReportActions({ site, onChanged }: SiteReportsProps) {
  const { slug, ownerEmail, isSuspended, state } = site
  const [opened, open] = useState<OpenDialog>()
  const decide = useAction(() => decideReports(site, state === 'open' ? 'dismissed' : 'open', onChanged))
  const verb = state === 'open' ? 'Dismiss' : 'Open again'
  const target = siteTarget({ slug, suspension: null })
  const suspendAccount = () =>
    open({
      Dialog: SuspendDialog,
      target: accountTarget({ id: ownerEmail!, email: ownerEmail!, suspension: null }),
    })
  const items = [
    ...(ownerEmail && !isSuspended
      ? [{ name: 'Suspend account', icon: 'warning' as const, danger: true, onClick: suspendAccount }]
      : []),
    {
      name: 'Delete site permanently',
      icon: 'trash' as const,
      danger: true,
      onClick: () => open({ Dialog: RemoveDialog, target }),
    },
    { name: 'Audit log', icon: 'clock' as const, href: `/admin/audit?q=${encodeURIComponent(slug)}` },
    { name: 'Block a network or a file', icon: 'lock' as const, href: '/admin/blocks' },
  ]
  return (
    <>
      <ErrorNotice error={decide.error} />
      <div class="choices">
        <Button busy={decide.busy} label={`${verb} the reports of ${slug}`} onClick={decide}>
          {verb}
        </Button>
        {isSuspended ? (
          <a href={`/admin/sites?q=${encodeURIComponent(slug)}`}>Its suspension</a>
        ) : (
          <Button
            variant="danger"
            label={`Suspend site ${slug}`}
            onClick={() => open({ Dialog: SuspendDialog, target })}
          >
            Suspend site
          </Button>
        )}
        <Menu label={`Actions for ${slug}`} items={items} />
      </div>
      {opened && (
        <opened.Dialog target={opened.target} onChanged={onChanged} onClose={() => open(undefined)} />
      )}
    </>
  )
}

async function decideReports(
  { slug, state: before }: ReportedSite,
  state: 'open' | 'dismissed',
  onChanged: () => Promise<void>,
): Promise<void> {
  await changeAdmin('decideReports', { params: { slug }, json: { state } })
  await onChanged()
  if (state === 'open') return showToast(`The reports of ${slug} are open again.`)
  const reopen = () => decideReports({ slug, state } as ReportedSite, 'open', onChanged)
  showToast(`The reports of ${slug} are dismissed.`, before === 'open' ? () => undo(reopen) : undefined)
}

/** The most frequent reason first. */
function countReasons(reports: ReportedSite['latest']): [ReportReason, number][] {
  const counts = new Map<ReportReason, number>()
  for (const { reason } of reports) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)
}
