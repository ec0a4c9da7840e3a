import { Fragment } from 'preact'
import type { Policies, SignUpPolicy } from '../../protocol/api/admin/policies.schema.ts'
import { formatCountLimit, formatDuration, formatLimit, pluralize } from '../../protocol/format.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { BannerPanel } from './banner-panel.tsx'
import { InvitationsPanel } from './invitations-panel.tsx'
import { LIMIT_NAMES, showLimit } from './limits.ts'
import { usePolicies } from './plan-dialog.tsx'
import { type Column, RecordTable } from './record-table.tsx'

/** Who can do how much: sign-up, invitations, anonymous sites, plans and the banner. */
export function PoliciesView() {
  const { value, error, reload } = usePolicies()
  return (
    <div class="stack">
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the policies" />}
      {value && (
        <>
          <SignUpPanel policy={value.signUp} />
          {value.signUp.kind !== 'closed' && <InvitationsPanel />}
          <AnonymousPanel anonymous={value.anonymous} />
          <PlansPanel plans={value.plans} />
        </>
      )}
      <BannerPanel />
    </div>
  )
}

const SIGN_UP_NAMES: Record<SignUpPolicy['kind'], string> = {
  open: 'Open',
  invitation: 'Invitation',
  domains: 'Domains',
  closed: 'Closed',
}

function SignUpPanel({ policy }: { policy: SignUpPolicy }) {
  return (
    <Panel title="Sign-up" actions={<Badge tone="plain">{SIGN_UP_NAMES[policy.kind]}</Badge>}>
      <p>{describeSignUp(policy)} Accounts that exist can always sign in.</p>
      <SetBy setting="SLIPWAY_SIGN_UP" />
    </Panel>
  )
}

function describeSignUp(policy: SignUpPolicy): string {
  if (policy.kind === 'domains')
    return `Addresses of ${policy.domains.join(', ')} and invited ones can create an account.`
  if (policy.kind === 'closed') return 'No one can create an account.'
  if (policy.kind === 'invitation') return 'Invited addresses can create an account.'
  return 'Everyone with an email address can create an account.'
}

interface SettingRow {
  name: string
  value: string
  setting: string
}

const SETTING_COLUMNS: readonly Column<SettingRow>[] = [
  { name: 'Limit', show: ({ name }) => name },
  { name: 'Value', isNumber: true, show: ({ value }) => value },
  { name: 'Setting', show: ({ setting }) => <SettingName name={setting} /> },
]

function AnonymousPanel({ anonymous }: Pick<Policies, 'anonymous'>) {
  const { isPermitted } = anonymous
  return (
    <Panel
      title="Sites without an account"
      actions={<Badge tone="plain">{isPermitted ? 'On' : 'Off'}</Badge>}
      lead={
        isPermitted
          ? 'Anyone can publish a site without an account.'
          : 'Publishing needs an account. Sites from before stay until they expire.'
      }
    >
      {isPermitted && (
        <RecordTable
          label="limits of sites without an account"
          columns={SETTING_COLUMNS}
          rows={toSettingRows(anonymous)}
          keyOf={({ setting }) => setting}
        />
      )}
      <SetBy setting="SLIPWAY_ANONYMOUS" />
    </Panel>
  )
}

function toSettingRows({ lifetimeSeconds, limits, total, network }: Policies['anonymous']): SettingRow[] {
  const rows: [string, string, string][] = [
    ['Lifetime', formatDuration(lifetimeSeconds), 'LIFETIME'],
    ['Files of a site', formatCountLimit(limits.files), 'FILES'],
    ['Largest file', formatLimit(limits.fileBytes), 'FILE_BYTES'],
    ['Largest site', formatLimit(limits.siteBytes), 'SITE_BYTES'],
    ['Stored, in total', formatLimit(total.bytes), 'TOTAL_BYTES'],
    ['Sites, in total', formatCountLimit(total.sites), 'TOTAL_SITES'],
    ['Stored, by one network', formatLimit(network.bytes), 'NETWORK_BYTES'],
    ['Sites, by one network', formatCountLimit(network.sites), 'NETWORK_SITES'],
  ]
  return rows.map(([name, value, setting]) => ({ name, value, setting: `SLIPWAY_ANONYMOUS_${setting}` }))
}

type PlanRow = Policies['plans'][number]

const PLAN_COLUMNS: readonly Column<PlanRow>[] = [
  {
    name: 'Plan',
    show: ({ id, name }) => (
      <>
        {name}
        <div class="quiet small">{id}</div>
      </>
    ),
  },
  ...(['requestsPerHour', 'sites', 'bytes', 'domains'] as const).map(
    (name): Column<PlanRow> => ({
      name: LIMIT_NAMES[name],
      isNumber: true,
      show: ({ limits }) => showLimit(name, limits[name]),
    }),
  ),
  {
    name: 'Each site',
    show: ({ limits: { filesPerSite, fileBytes, siteBytes } }) =>
      `${pluralize(filesPerSite, 'file')}, ${formatLimit(siteBytes)}, ${formatLimit(fileBytes)} a file`,
  },
  {
    name: 'Kept of each site',
    show: ({ limits: { versionsKept, draftsKept, previews } }) =>
      [
        pluralize(versionsKept, 'version'),
        pluralize(draftsKept, 'draft'),
        pluralize(previews, 'preview'),
      ].join(', '),
  },
]

function PlansPanel({ plans }: Pick<Policies, 'plans'>) {
  return (
    <Panel
      title="Plans"
      lead={
        <>
          New accounts have the first one. <a href="/admin/accounts">Accounts</a> sets the plan of an account,
          and limits that differ from it.
        </>
      }
    >
      <RecordTable label="plans" columns={PLAN_COLUMNS} rows={plans} keyOf={({ id }) => id} />
      <SetBy setting="SLIPWAY_PLANS" />
    </Panel>
  )
}

function SetBy({ setting }: { setting: string }) {
  return (
    <p class="quiet small">
      Set by <code>{setting}</code> when the server starts.
    </p>
  )
}

/** The name of a setting, which breaks after underscores only. */
function SettingName({ name }: { name: string }) {
  return (
    <code class="small">
      {name.split('_').map((part, index) => (
        <Fragment key={part}>
          {index > 0 && (
            <>
              _<wbr />
            </>
          )}
          {part}
        </Fragment>
      ))}
    </code>
  )
}
