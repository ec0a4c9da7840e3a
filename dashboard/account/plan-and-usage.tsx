import type { Me } from '../../protocol/api/account.schema.ts'
import { formatBytes, formatCountLimit, formatLimit, formatNumber, pluralize } from '../../protocol/format.ts'
import { settings } from '../api/settings.ts'
import { formatClock } from '../app/format-time.ts'
import { Badge, Bar, Panel } from '../kit/panel.tsx'
import { useNow } from '../kit/time.tsx'

/** Limits and usage of the plan. */
export function PlanAndUsage({ me }: { me: Me }) {
  const { limits, usage } = me
  const resetsAt = Date.parse(usage.resetsAt)
  const isPast = useNow(60_000) >= resetsAt
  return (
    <Panel title="Plan & usage" actions={<Badge tone="plain">{me.planName}</Badge>}>
      <div class="uses">
        <UsageBar
          name="Requests this hour"
          used={isPast ? 0 : usage.requestsThisHour}
          limit={limits.requestsPerHour}
          note={`${isPast ? '' : `Resets at ${formatClock(resetsAt)}. `}Uploads and this dashboard don't count.`}
        />
        {(settings.customDomains || usage.domains > 0) && (
          <UsageBar
            name="Domains"
            used={usage.domains}
            limit={limits.domains}
            href={usage.domains > 0 ? '/domains' : undefined}
          />
        )}
        <UsageBar name="Sites" used={usage.heldSites} limit={limits.sites} note="The trash counts, too." />
        <UsageBar
          name="Stored"
          used={usage.heldBytes}
          limit={limits.bytes}
          text={`${formatBytes(usage.heldBytes)} of ${formatLimit(limits.bytes)}`}
          note="All versions, previews, unfinished uploads and the trash. Equal files count once."
        />
      </div>
      <p class="quiet small">
        {`Each site can have ${pluralize(limits.filesPerSite, 'file')} and ${formatLimit(limits.siteBytes)} in total, ${formatLimit(limits.fileBytes)} per file. `}
        {`Versions kept per site: ${limits.versionsKept}.`}
      </p>
    </Panel>
  )
}

interface UsageBarProps {
  name: string
  used: number
  limit: number
  note?: string
  /** In place of the numbers. */
  text?: string
  /** The page with what is counted. */
  href?: string | undefined
}

function UsageBar({ name, used, limit, note, href, ...rest }: UsageBarProps) {
  const { text = `${formatNumber(used)} of ${formatCountLimit(limit)}` } = rest
  return (
    <div class="stack tight">
      <p class="use">
        <span>{href ? <a href={href}>{name}</a> : name}</span>
        <span>{text}</span>
      </p>
      <Bar label={name} share={limit === 0 ? 0 : used / limit} text={text} />
      {note && <p class="quiet small">{note}</p>}
    </div>
  )
}
